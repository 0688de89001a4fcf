"""`markup`: how many code blocks, headings, tables, … stand in a reply."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from annotated_types import MinLen

from gatt.verifiers.base import Verdict
from gatt.verifiers.forms.counts import MarkRule

Mark = Literal[
    "bold", "bullet", "code", "code_block", "heading", "latex", "link", "numbered", "table", "url"
]
Marks = Annotated[tuple[Mark, ...], MinLen(1)]
_MARKS: Final[dict[str, re.Pattern[str]]] = {
    "bold": re.compile(r"\*\*[^\s*](?:[^*\n]*[^\s*])?\*\*|(?<!\w)__[^\s_][^_\n]*__(?!\w)"),
    "bullet": re.compile(r"^[ \t]*[-*+•][ \t]+\S", re.MULTILINE),
    "code": re.compile(r"(?<!`)`[^`\n]+`(?!`)"),
    "code_block": re.compile(r"^[ \t]*(```|~~~)[^\n]*\n.*?(?:^[ \t]*\1|\Z)", re.MULTILINE | re.DOTALL),
    "heading": re.compile(r"^#{1,6}[ \t]+\S", re.MULTILINE),
    "latex": re.compile(
        r"\\(?:frac|sqrt|cdot|times|sum|int|begin|left|text|mathrm|pi|leq?|geq?)\b|\\[(\[]"
        r"|\$\$?[^\s$][^$\n]*[\\^_=][^$\n]*\$"
    ),
    "link": re.compile(r"\[[^\[\]\n]+\]\([^()\s]+\)"),
    "numbered": re.compile(r"^[ \t]*\d{1,3}[.)][ \t]+\S", re.MULTILINE),
    "table": re.compile(r"^[ \t]*\|?[ \t]*:?-{3,}:?[ \t]*\|", re.MULTILINE),
    "url": re.compile(r"\b(?:https?://|www\.)\S+", re.IGNORECASE),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Markup(MarkRule):
    """Passes if the number of marks of some sorts is within the bounds.

    Args:
        any_of: the sorts that count: `bold`, `bullet` and `numbered` (items), `code` (inside a line),
            `code_block`, `heading`, `latex`, `link`, `table`, `url`.
    """

    kind = "markup"
    reads_markup = True

    any_of: Marks

    def decide(self, reply: str) -> Verdict:
        found = [hit for mark in self.any_of for hit in _MARKS[mark].finditer(reply)]
        is_within = (self.min or 0) <= len(found) <= (self.max or len(found))
        evidence = f"{', '.join(self.any_of)}: {len(found)}"
        return self.verdict(
            "pass" if is_within else "fail", evidence, found[0].span() if found else None
        )
