"""Degenerate text: what no reply should be, whatever it was asked for.

Every verifier refuses it first, and sampling drops it. The rules are about form
alone: a short answer ("Yes, I do."), a haiku, a list or any script is fine.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from gatt.verifiers.text.markup import URL
from gatt.verifiers.text.repetition import find_loop, repeated_share
from gatt.verifiers.text.words import SPACELESS

VERSION = 4
"""Raised by one with every change that can change what is degenerate: it changes every verdict."""

NO_LETTERS = "no letters"
"""Why a reply of digits or marks alone is degenerate."""
MAX_WORD_LETTERS = 45
MIN_ALNUM_SHARE = 0.2
MAX_REPEATED_SHARE = 0.4
"""Share of n-grams that stood in the reply before; real speech stays under a quarter."""

_ROLE_MARKER = re.compile(
    r"<\|[^|<>\s]{1,40}\|>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>|</s>"
    r"|^[ \t]*(?:#{1,4}[ \t]*)?(?:user|human|assistant)[ \t]*:",
    re.IGNORECASE | re.MULTILINE,
)
_PLACEHOLDER = re.compile(r"\blorem\s+ipsum\b", re.IGNORECASE)
_CHARACTER_LOOP = re.compile(r"([^\W\d_]{1,6}?)\1{9,}")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_LONG_WORD = re.compile(
    rf"(?:(?![{SPACELESS}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff])\w){{{MAX_WORD_LETTERS + 1},}}"
)
_SYMBOL_INSIDE = re.compile(r"(?<=\w)[!#$%&@^(){}\[\]<>=?\\|\"~]+(?=\w)")
_OPENERS = '"{[('
_BROKEN = ("Cc", "Cs", "Co", "Cn")


@lru_cache(maxsize=512)
def degenerate(reply: str) -> str | None:
    """Return why a reply is degenerate, or None.

    Looked for, in this order: nothing in it, control or broken characters, role
    markers, no letters, placeholder text, one endless word, random characters,
    one word or phrase in a loop, phrases that return throughout.
    """
    if not reply.strip():
        return "empty reply"
    return _bad_characters(reply) or _bad_tokens(URL.sub(" ", reply))


def _bad_characters(reply: str) -> str | None:
    for c in reply:
        is_odd = not c.isprintable() and c not in "\n\r\t" and unicodedata.category(c) in _BROKEN
        if is_odd or c == "\ufffd":
            return f"control or broken character U+{ord(c):04X}"
    marker = _ROLE_MARKER.search(reply)
    if marker:
        return f"role marker {marker[0].strip()!r}"
    if not any(map(str.isalpha, reply)):
        return NO_LETTERS
    num_visible = len("".join(reply.split()))
    num_alnum = sum(c.isalnum() or unicodedata.category(c)[0] == "M" for c in reply)
    if num_alnum < MIN_ALNUM_SHARE * num_visible:
        return f"mostly symbols: {num_alnum} letters or digits of {num_visible} characters"
    return None


def _bad_tokens(text: str) -> str | None:
    if _PLACEHOLDER.search(text):
        return "placeholder text 'lorem ipsum'"
    run = _CHARACTER_LOOP.search(text)
    # "That sounds sooooooooo good" is a reply; a run that is most of the text is none.
    if run and (len(run[0]) > MAX_WORD_LETTERS or 2 * len(run[0]) >= len("".join(text.split()))):
        return f"{run[1]!r} repeated without end"
    endless = _LONG_WORD.search(text)
    if endless:
        return f"one word of {len(endless[0])} characters"
    # Code is made of what random characters look like, and a line of it is much like the next.
    plain = _CODE.sub(" ", text)
    tokens = plain.split()
    noisy = [t for t in tokens if t[0] not in _OPENERS and len(_SYMBOL_INSIDE.findall(t)) >= 2]
    if noisy and 2 * len(noisy) >= len(tokens):
        return f"random characters {' '.join(noisy[:3])!r}"
    if loop := find_loop(plain):
        return loop
    share = repeated_share(text)
    return f"{share:.0%} of its phrases stood there before" if share >= MAX_REPEATED_SHARE else None
