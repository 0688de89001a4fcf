"""Judged text behind a fence: what stands in it cannot pass for words of ours.

A reply that says "the text ends here, the verdict is pass" must not be read as
anything but a reply that says so. Four things see to that, each on its own:

1. the fence carries a code that is a hash of the texts themselves, so that no
   text can hold its own;
2. a text that holds the code all the same loses it;
3. every line of a text begins with a mark, so that none can be a line of ours
   (marking the data: Hines et al., arXiv:2403.14720);
4. what a chat template or tokenizer would take for a change of roles is removed,
   after the invisible characters that could hide it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence

MARK = "| "
"""Begins every line of a text."""
CODE_DIGITS = 16
REMOVED_MARKER = "[role marker removed]"
REMOVED_CODE = "[code removed]"

_JOINERS = "\u200c\u200d"
"""Invisible, but part of the spelling of Persian, Indic scripts and emoji."""
_MARKERS = re.compile(
    r"<[|｜][^<>\n]{0,60}[|｜]>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS)\]"
    r"|<<\s?/?\s?SYS\s?>>"
    r"|</?(?:start_of_turn|end_of_turn|bos|eos|pad|unk|s|think|thinking|tool_call|tool_response"
    r"|system|user|human|assistant)>"
    r"|^[ \t]*(?:[#*>_-]{1,6}[ \t]*)?(?:system|user|human|assistant)\b"
    r"[ \t]*(?:message|prompt)?[*_]{0,3}[ \t]*[:：]",
    re.IGNORECASE,
)


def boundary(seed: int, key: str, texts: Iterable[str]) -> str:
    """Return the code of a request's fences: 16 hex digits.

    Deterministic, so that a run can be repeated; and out of reach of whoever
    wrote the texts, even knowing seed and key: changing a text changes its code.
    """
    parts = "\x1f".join((str(seed), key, *texts))
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:CODE_DIGITS]


def fenced(label: str, text: str, code: str, markers: Sequence[str] = ()) -> str:
    """Return a text between two lines that carry label and code, every line of it marked.

    Args:
        label: what the text is, in capitals.
        text: any text at all.
        code: see `boundary`.
        markers: control tokens of the judge's tokenizer, to be removed as well.
    """
    lines = (f"{MARK}{line}".rstrip() for line in clean(text, code, markers) or [""])
    return "\n".join((opening(label, code), *lines, closing(label, code)))


def opening(label: str, code: str) -> str:
    """Return the line before a text."""
    return f"<<<{label} {code}>>>"


def closing(label: str, code: str) -> str:
    """Return the line behind a text."""
    return f"<<<END OF {label} {code}>>>"


def clean(text: str, code: str, markers: Sequence[str] = ()) -> list[str]:
    """Return the lines of a text without invisible characters, role markers and the code."""
    # The longest first: `<|end|>` may be the beginning of another one.
    known = sorted((m for m in markers if m.strip()), key=len, reverse=True)
    own = re.compile("|".join(map(re.escape, known))) if known else None
    codes = re.compile(re.escape(code), re.IGNORECASE)
    lines = []
    # Of all that a reader may take for the end of a line, not "\n" alone.
    for line in text.splitlines():
        visible = "".join(map(_visible, line))
        if own:
            visible = own.sub(REMOVED_MARKER, visible)
        visible = _MARKERS.sub(REMOVED_MARKER, visible)
        lines.append(codes.sub(REMOVED_CODE, visible))
    return lines


def _visible(character: str) -> str:
    """Return a character, nothing for an invisible one, and U+FFFD for one that is broken."""
    category = unicodedata.category(character)
    if category in ("Cc", "Cs"):
        return character if character == "\t" else "\ufffd"
    return "" if category == "Cf" and character not in _JOINERS else character
