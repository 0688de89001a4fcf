"""Markdown and other things in a reply that are no prose."""

from __future__ import annotations

import re

from gatt.verifiers.phrases import Patterns

_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`", re.DOTALL)
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*\)")
_MAIL = r"(?<![A-Za-z0-9_.+-])[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+\.[A-Za-z0-9.-]+"
_ADDRESS = re.compile(rf"(?:https?://|www\.)\S+|{_MAIL}", re.IGNORECASE)
_LINE_MARK = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>+[ \t]?|[-+*•–][ \t]+|\d{1,3}[.)][ \t]+)+", re.M)
# Each line is read once: nothing here goes on behind a line break or tries a run again.
_RULE_LINE = re.compile(
    r"^[ \t]*+(?:[-*_=]{3,}+[ \t\r]*+$|(?=[^|\n]*+\|)[ \t\r:|-]++$)", re.MULTILINE
)
_EMPHASIS = re.compile(r"\*+|~~|`+|(?<!\w)_+|_+(?!\w)")
_EMOJI = Patterns("forms").NO_PROSE


def strip_markdown(text: str) -> str:
    """Return the text without emphasis, headings, quote and list marks, and rules.

    Link texts stay, their targets go; line breaks stay.
    """
    text = _RULE_LINE.sub("", text)
    text = _LINE_MARK.sub("", text)
    return _EMPHASIS.sub("", _LINK.sub(r"\1", text))


def prose(text: str) -> str:
    """Return only what is prose: also without code, addresses and emoji."""
    text = _ADDRESS.sub(" ", _LINK.sub(r"\1", _CODE.sub(" ", text)))
    return strip_markdown(_EMOJI.sub(" ", text))
