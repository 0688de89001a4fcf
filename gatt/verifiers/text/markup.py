"""What of a reply is no prose: what a reader does not see, as comments, tags and link targets, and markdown."""

from __future__ import annotations

import re
from functools import lru_cache

import regex

VERSION = 1
"""Raised with every change that can change what is seen, and so a verdict of any kind."""

# Code is shown as it stands, markup in it too; only the name of its language is not.
_SHOWN_CODE = r"(?P<fence>```|~~~)(?P<info>[^\n`]*(?=\n))?(?P<body>.*?(?:(?P=fence)|\Z))|`[^`\n]*`"
# A comment that is never closed hides all that follows.
_COMMENT = r"<!--.*?(?:-->|\Z)"
_VALUE = r"(?:\"[^\"\n]{0,500}\"|'[^'\n]{0,500}'|[^<>\"'\n])"
_ELEMENTS = (
    "a|abbr|audio|b|big|blockquote|body|br|button|caption|center|cite|code|col|dd|del|details|div"
    "|dl|dt|em|embed|figcaption|figure|font|footer|form|h[1-6]|head|header|hr|html|i|iframe|img"
    "|input|ins|kbd|label|li|link|main|mark|meta|nav|ol|option|p|picture|pre|q|rp|rt|ruby|s|samp"
    "|section|select|small|source|span|strike|strong|sub|summary|sup|svg|table|tbody|td|textarea"
    "|tfoot|th|thead|time|title|tr|tt|u|ul|var|video|wbr"
)
_SILENT = (
    r"<(?P<silent>script|style|template)\b.*?(?:</(?P=silent)>|\Z)"
    rf"|<(?P<hidden>{_ELEMENTS})\b(?=[^<>]{{0,200}}?(?:\bhidden\b|display:\s?none))"
    r".{0,2000}?</(?P=hidden)>"
)
# "<your name>" is no element, and is seen.
_TAG = rf"</?(?:{_ELEMENTS})(?=[\s/>]){_VALUE}*>|</?[a-z][\w-]*(?=\s[^<>\n]*=){_VALUE}*>"
_TITLE = r"(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'))?"
_TARGET = rf"\((?:[^()\s\[\]]|\([^()\s\[\]]*\))*{_TITLE}[ \t]*\)"
_IMAGE = rf"!\[[^\[\]\n]*\](?:{_TARGET}|\[[^\[\]\n]*\])"
_DEFINITION = (
    rf"^[ ]{{0,3}}\[(?!\^)[^\[\]\n]+\]:[ \t]*(?=\S*(?:[/#:]|\.\w))\S+"
    rf"(?:{_TITLE}|[ \t]+\([^()\n]*\))[ \t]*(?=$|\r)"
)
_ENTITY = r"&(?:nbsp|zwnj|zwj|shy|ensp|emsp|thinsp|#160);"
_UNSEEN = re.compile(
    rf"(?P<code>{_SHOWN_CODE})|{_COMMENT}|{_SILENT}|{_TAG}|{_IMAGE}|(?<=\]){_TARGET}|{_DEFINITION}"
    rf"|{_ENTITY}",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_DEFINED = re.compile(_DEFINITION, re.MULTILINE)
_REFERENCE = re.compile(r"(?<=\])\[[^\[\]\n]*\]")
_DOMAIN = (
    r"(?:com|org|net|edu|gov|info|biz|dev|app|shop|example|co\.[a-z]{2}|de|fr|es|nl|uk|eu|ch|jp|pl"
    r"|ru|cz|ro|hu)"
)
_NAMED_ADDRESS = re.compile(
    r"(?:https?|ftp)://(?P<page>[^\s<>\"'“”«»（）。，]+)|\bwww\.(?P<site>[^\s<>\"'“”«»（）。，]+)"
    r"|(?<![A-Za-z0-9.+_-])(?P<mail>[A-Za-z0-9.+_-]+@[A-Za-z0-9.-]+)"
    # "I like tennis.De bal": a full stop without its blank is no address.
    rf"|(?<![A-Za-z0-9._-])(?P<bare>[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?-i:{_DOMAIN})"
    r"(?![\w-]|\.\w)(?:/[^\s<>\"']*)?)",
    re.IGNORECASE,
)
# What no markup and no address does without: most replies have neither.
_MARKUP = re.compile(r"[<\[&`~]")
_IN_ADDRESS = re.compile(r"\.[^\s\"')]|@|://")
_LETTER = re.compile(r"[^\W_]")
_SHOWN = re.compile(r"[^\n\r]")

_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`", re.DOTALL)
LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*\)")
URL = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
_MAIL = r"(?<![A-Za-z0-9_.+-])[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+\.[A-Za-z0-9.-]+"
_ADDRESS = re.compile(rf"{URL.pattern}|{_MAIL}", re.IGNORECASE)
_LINE_MARK = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>+[ \t]?|[-+*•–][ \t]+|\d{1,3}[.)][ \t]+)+", re.M)
# Each line is read once: nothing here goes on behind a line break or tries a run again.
_RULE_LINE = re.compile(
    r"^[ \t]*+(?:[-*_=]{3,}+[ \t\r]*+$|(?=[^|\n]*+\|)[ \t\r:|-]++$)", re.MULTILINE
)
_EMPHASIS = re.compile(r"\*+|~~|`+|(?<!\w)_+|_+(?!\w)")
QUOTATION = re.compile(
    r"\"([^\"\n]*)\"|[“„]([^„“”\n]*)[“”]|«([^«»\n]*)»|「([^「」\n]*)」|『([^『』\n]*)』"
)
_EMOJI = regex.compile(
    r"[\p{Extended_Pictographic}\p{RI}\p{EMod}\ufe0f\u200d\u20e3\U000e0020-\U000e007f]"
)


def strip_markdown(text: str) -> str:
    """Return the text without emphasis, headings, quote and list marks, and rules.

    Link texts stay, their targets go; line breaks stay.
    """
    text = _RULE_LINE.sub("", text)
    text = _LINE_MARK.sub("", text)
    return _EMPHASIS.sub("", LINK.sub(r"\1", text))


def prose(text: str) -> str:
    """Return only what is prose: also without code, addresses and emoji."""
    text = _ADDRESS.sub(" ", LINK.sub(r"\1", _CODE.sub(" ", text)))
    return strip_markdown(_EMOJI.sub(" ", text))


@lru_cache(maxsize=256)
def visible(text: str, has_addresses: bool = False) -> str:
    """Return the text, as long as it was, with blanks for what a reader does not see.

    Blanks stand for comments, tags with their attributes, images with their
    descriptions, link targets and reference definitions. An address of a page or
    a mailbox is seen but says nothing: "x" stands for each letter and digit of it,
    unless `has_addresses`.
    Code stays as it is.
    """
    seen = text
    if _MARKUP.search(text):
        seen = _UNSEEN.sub(_hidden, text)
        if _DEFINED.search(text):
            seen = _REFERENCE.sub(blank, seen)
    is_veiled = not has_addresses and _IN_ADDRESS.search(seen)
    return _NAMED_ADDRESS.sub(_veiled, seen) if is_veiled else seen


def without_quotations(text: str) -> str:
    """Return the text, as long as it was, without what it quotes; as it is where that is most of it."""
    rest = QUOTATION.sub(blank, text)
    return rest if 2 * sum(map(str.isalpha, rest)) >= sum(map(str.isalpha, text)) else text


def _hidden(match: re.Match[str]) -> str:
    if match["code"] is None:
        return blank(match)
    if match["info"] is None:
        return match[0]
    return f"{match['fence']}{' ' * len(match['info'])}{match['body']}"


def blank(match: re.Match[str]) -> str:
    """Return blanks for all but the line breaks of a match."""
    return _SHOWN.sub(" ", match[0])


def _veiled(match: re.Match[str]) -> str:
    name = match.lastgroup or ""
    start = match.start(name) - match.start()
    return match[0][:start] + _LETTER.sub("x", match[0][start:])
