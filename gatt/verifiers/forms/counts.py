"""Kinds that count: `bullets`, `characters`, `emoji`, `lines`, `markup`, `number`, `words` and others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal

import regex
from annotated_types import Ge, MinLen

from gatt.verifiers.base import Verdict
from gatt.verifiers.phrases import Patterns
from gatt.verifiers.rule import Rule, Span
from gatt.verifiers.text.markup import LINK, URL, strip_markdown
from gatt.verifiers.text.matching import Terms
from gatt.verifiers.text.sentences import sentence_spans
from gatt.verifiers.text.task_talk import without_task_talk
from gatt.verifiers.text.words import words

Count = Annotated[int, Ge(0)]
Mark = Literal[
    "bold", "bullet", "code", "code_block", "heading", "latex", "link", "numbered", "table", "url"
]
Marks = Annotated[tuple[Mark, ...], MinLen(1)]
_RE = Patterns("forms")
# "™", "→" and "✔" are pictures only where a selector (U+FE0F) asks for it.
_ONE_EMOJI = (
    r"(?:\p{RI}{2}|[0-9#*]\ufe0f?\u20e3|(?:\p{Emoji_Presentation}|(?!\p{ASCII})\p{Emoji}\ufe0f"
    r"|[\p{Emoji}--\p{ASCII}--[©®‼⁉ℹ™Ⓜ\u2190-\u21ff\u2300-\u25ff✔✖✝✡✳✴❇➡⤴⤵⬅-⬇〰〽㊗㊙]])[\ufe0f\p{EMod}]*)"
)
_MARKS: Final[dict[str, re.Pattern[str]]] = {
    "bold": re.compile(r"\*\*[^\s*](?:[^*\n]*[^\s*])?\*\*|(?<!\w)__[^\s_][^_\n]*__(?!\w)"),
    "bullet": _RE.BULLET,
    "code": re.compile(r"(?<!`)`[^`\n]+`(?!`)"),
    "code_block": re.compile(r"^[ \t]*(```|~~~)[^\n]*\n.*?(?:^[ \t]*\1|\Z)", re.MULTILINE | re.DOTALL),
    "heading": re.compile(r"^#{1,6}[ \t]+\S", re.MULTILINE),
    "latex": re.compile(
        r"\\(?:frac|sqrt|cdot|times|sum|int|begin|left|text|mathrm|pi|leq?|geq?)\b|\\[(\[]"
        r"|\$\$?[^\s$][^$\n]*[\\^_=][^$\n]*\$"
    ),
    "link": LINK,
    "numbered": _RE.NUMBERED,
    "table": re.compile(r"^[ \t]*\|?[ \t]*:?-{3,}:?[ \t]*\|", re.MULTILINE),
    "url": URL,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class CountRule(Rule):
    """Passes if the number of units lies within the bounds, both included.

    Args:
        min: fewest allowed, a whole number.
        max: most allowed; unbounded if not given.
    """

    least: ClassVar[int] = 0
    """The smallest bound that makes sense."""
    pattern: ClassVar[re.Pattern[str]]
    min: Count | None = None
    max: Count | None = None

    def __post_init__(self) -> None:
        given = [bound for bound in (self.min, self.max) if bound is not None]
        if not given or given != sorted(given) or given[0] < self.least:
            raise ValueError(
                f"'min' {self.min} and 'max' {self.max}: expected at least one, from {self.least} up, and "
                "min <= max"
            )

    def count(self, reply: str) -> int:
        """Return how many units a reply has: matches of the pattern, unless a kind counts otherwise."""
        return sum(1 for _ in self.pattern.finditer(reply))

    def decide(self, reply: str) -> Verdict:
        return self.judged(self.count(reply))

    def judged(self, number: int, span: Span | None = None) -> Verdict:
        """Return the verdict on a number of units, the first of which stands at `span`."""
        if number < (self.min or 0):
            return self.failed(f"{self.kind}: {number}, expected at least {self.min}", span)
        if self.max is not None and number > self.max:
            return self.failed(f"{self.kind}: {number}, expected at most {self.max}", span)
        return self.passed(f"{self.kind}: {number}", span)


class Sentences(CountRule):
    """Passes if the number of sentences is within the bounds."""

    kind = "sentences"
    version = 3

    def count(self, reply: str) -> int:
        """Return the number of sentences."""
        return len(sentence_spans(reply))


class Words(CountRule):
    """Passes if the number of words is within the bounds.

    "don't", "well-known" and an address are one word each, and so is a Han or kana character.
    """

    kind = "words"
    version = 2

    def count(self, reply: str) -> int:
        """Return the number of words, markdown marks aside."""
        return len(words(strip_markdown(URL.sub("x", reply))))


class Characters(CountRule):
    """Passes if the number of characters, white space at the edges aside, is within the bounds."""

    kind = "characters"

    def count(self, reply: str) -> int:
        """Return the number of characters."""
        return len(reply.strip())


class Lines(CountRule):
    """Passes if the number of lines that hold a letter or digit is within the bounds."""

    kind = "lines"
    pattern = _RE.LINE


class Paragraphs(CountRule):
    """Passes if the number of blocks that blank lines part is within the bounds."""

    kind = "paragraphs"
    pattern = _RE.PARAGRAPH


@dataclass(frozen=True, kw_only=True)
class MarkRule(CountRule):
    """Counts marks, at least one by default, and shows the first."""

    least = 1
    min: Count | None = 1

    def spans(self, reply: str) -> Iterator[Span]:
        """Yield where the marks stand."""
        return (match.span() for match in self.pattern.finditer(reply))

    def decide(self, reply: str) -> Verdict:
        spans = list(self.spans(reply))
        return self.judged(len(spans), min(spans, default=None))


@dataclass(frozen=True, kw_only=True)
class Bullets(MarkRule):
    """Passes if the number of list items ("- ", "* ", "• ", "→ ", "1. ") is within the bounds.

    A dash may stand right before its word ("-tea"); other signs that are letters of
    markdown or arithmetic need a blank behind them.

    Args:
        min: fewest allowed, a whole number from 1 up.
    """

    kind = "bullets"
    version = 2
    pattern = _RE.ITEM
    min: Count | None = 2


class Emoji(MarkRule):
    """Passes if the number of emoji is within the bounds; a joined family counts once."""

    kind = "emoji"
    version = 3
    pattern = regex.compile(rf"(?V1){_ONE_EMOJI}(?:\u200d{_ONE_EMOJI})*")


class Number(MarkRule):
    """Passes if the number of numbers in digits is within the bounds ("3.14" is one)."""

    kind = "number"
    pattern = _RE.NUMBER


@dataclass(frozen=True, kw_only=True)
class Occurrences(MarkRule):
    """Passes if the number of times that one of some terms is said is within the bounds.

    Args:
        any_of: the terms, at least one; see `TermMatcher` for what an occurrence is.
    """

    kind = "occurrences"
    any_of: Terms
    min: Count | None = 2

    def spans(self, reply: str) -> Iterator[Span]:
        return (hit.span for hit in self.any_of.hits(without_task_talk(reply)))


@dataclass(frozen=True, kw_only=True)
class Markup(MarkRule):
    """Passes if the number of marks of some sorts is within the bounds.

    Args:
        any_of: the sorts that count: `bold`, `bullet` and `numbered` (items), `code` (inside a line),
            `code_block`, `heading`, `latex`, `link`, `table`, `url`.
    """

    kind = "markup"
    version = 2
    reads_markup = True

    any_of: Marks

    def spans(self, reply: str) -> Iterator[Span]:
        return (match.span() for mark in self.any_of for match in _MARKS[mark].finditer(reply))
