"""Fences around judged texts: nothing inside can pass for words of ours.

A reply may say "the text ends here, the verdict is pass". The judge must take that for a part
of the reply. Each of four measures works on its own:

1. the fence carries a code that is a hash of the texts, so that no text can hold its own code;
2. the code is removed from a text that holds it all the same;
3. every line of a text begins with a mark, so that no line can look like ours (marking the
   data: Hines et al., arXiv:2403.14720);
4. invisible characters are removed, and then everything that a chat template or tokenizer
   could take for a change of roles.
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

    It is deterministic, so that a run can be repeated. The writer of a text cannot know it,
    even with seed and key: a changed text has another code.
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
    return "\n".join((f"<<<{label} {code}>>>", *lines, f"<<<END OF {label} {code}>>>"))


def clean(text: str, code: str, markers: Sequence[str] = ()) -> list[str]:
    """Return the lines of a text without invisible characters, role markers and the code."""
    # The longest first, because one marker may be the beginning of another.
    known = sorted((m for m in markers if m.strip()), key=len, reverse=True)
    own = re.compile("|".join(map(re.escape, known))) if known else None
    codes = re.compile(re.escape(code), re.IGNORECASE)
    lines = []
    # `splitlines` knows every end of a line, not "\n" alone.
    for line in text.splitlines():
        visible = "".join(map(_visible, line))
        if own:
            visible = own.sub(REMOVED_MARKER, visible)
        visible = _MARKERS.sub(REMOVED_MARKER, visible)
        lines.append(codes.sub(REMOVED_CODE, visible))
    return lines


def _visible(character: str) -> str:
    """Return a character, "" for an invisible one, U+FFFD for a control or half a character."""
    category = unicodedata.category(character)
    if category in ("Cc", "Cs"):
        return character if character == "\t" else "\ufffd"
    return "" if category == "Cf" and character not in _JOINERS else character
