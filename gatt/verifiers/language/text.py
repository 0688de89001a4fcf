"""What of a reply shows its language: its clauses, no code, no names, no single words of another script."""

from __future__ import annotations

import re

from gatt.verifiers.phrases import word_set
from gatt.verifiers.text.markup import QUOTATION, prose
from gatt.verifiers.text.words import spaceless_characters, word_spans, words

MIN_WORDS = 3
MIN_PIECE_WORDS = 4
MAX_LOAN_WORDS = 3
"""Latin words in a row that a text in another script may hold as names and terms."""
MAX_LOAN_SHARE = 3
"""A text in another script with more letters than this for each of its own is no such text."""
MAX_TITLE_WORDS = 6
MIN_CONTENT_LETTERS = 4

SCRIPT_RANGES = {
    "latin": "A-Za-zÀ-ɏḀ-ỿ",
    "greek": "Ͱ-Ͽἀ-῿",
    "cyrillic": "Ѐ-ӿ",
    "han": "\u3400-\u4dbf\u4e00-\u9fff",
    "japanese": "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff々",
    "hangul": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af",
}
SCRIPT = {name: re.compile(f"[{ranges}]") for name, ranges in SCRIPT_RANGES.items()}
"""Name of a script -> one letter of it."""
_SCRIPTS = {"el": "greek", "ru": "cyrillic", "zh": "han", "ja": "japanese", "ko": "hangul"}

_ASCII_RUN = re.compile(r"[!-~]+")
# name=value, get_url(), [HH:MM], example.com, /usr/lib, a/b/c, .gitignore
_MADE_AS_CODE = re.compile(r"[_\\@#=<>{}\[\]|~^$%\d]|[A-Za-z]\.[a-z]|^[\"'(]*[/.]\w|\w/\w+/")
_LATIN_RUN = re.compile(
    rf"[{SCRIPT_RANGES['latin']}][{SCRIPT_RANGES['latin']}'’.\-]*"
    rf"(?:[ ,]+[{SCRIPT_RANGES['latin']}][{SCRIPT_RANGES['latin']}'’.\-]*)*"
)
_BOUNDARY = re.compile(r"[,;:.!?…\"“”„«»()\[\]\n—–，。！？、；：「」]+|\s-\s")
_ENGLISH = word_set("languages", "only_english")


def script_of(code: str) -> str:
    """Return the script that a language is written in, a key of `SCRIPT`."""
    return _SCRIPTS.get(code, "latin")


def plain_text(reply: str) -> str:
    """Return a reply without code, addresses, emoji, markdown and words made as code is."""
    return _ASCII_RUN.sub(lambda run: " " if _MADE_AS_CODE.search(run[0]) else run[0], prose(reply))


def telling_text(text: str, code: str) -> str:
    """Return the part of a reply that tells its language; nothing for code alone.

    Left out: code, addresses, emoji, markdown, words made as code is,
    quoted titles, capitalised words inside a sentence (not for German), and, in
    a language of another script, up to `MAX_LOAN_WORDS` Latin words in a row
    that are no English phrase.
    """
    # Quoted titles stay in the language of the work.
    text = _unless_too_little(
        QUOTATION.sub(lambda match: " " if has_title_case(match[0]) else match[0], text), text
    )
    if script_of(code) != "latin":
        own = _LATIN_RUN.sub(lambda run: " " if _is_loan(run[0]) else run[0], text)
        return own if weight(text) <= MAX_LOAN_SHARE * weight(own) else text
    return _unless_too_little(without_names(text, code), text)


def weight(text: str) -> int:
    """Return the letters of a text; a Han or kana character stands for three, Hangul for two."""
    num_hangul = len(SCRIPT["hangul"].findall(text))
    return sum(map(str.isalpha, text)) + 2 * spaceless_characters(text) + num_hangul


def own_script_share(text: str, code: str) -> float:
    """Return the share of letters that are of the script of a language; 0 without letters."""
    own = "".join(SCRIPT[script_of(code)].findall(text))
    return weight(own) / max(1, weight(text))


def is_connected(text: str) -> bool:
    """Whether a text is more than a list of single words, which are often the same everywhere."""
    lengths = [
        sum(any(map(str.isalpha, word)) for word in words(part)) for part in _BOUNDARY.split(text)
    ]
    return sum(lengths) >= MIN_PIECE_WORDS and max(lengths) >= MIN_WORDS


def without_names(text: str, code: str) -> str:
    """Return the text without capitalised words inside sentences, if much is left then.

    German writes every noun with a capital: without these little would be left.
    """
    kept, num_names, end = [], 0, 0
    spans = word_spans(text)
    for left, right in spans:
        word, gap = text[left:right], text[end:left]
        is_inside = end > 0 and "\n" not in gap and not gap.strip(" \t,\"'“”«»()")
        is_name = is_inside and word[0].isupper() and len(word) > 1 and word[1] not in "'’"
        num_names += is_name
        kept.append(gap if is_name else gap + word)
        end = right
    is_kept = code == "de" or 2 * num_names > len(spans)
    return text if is_kept else "".join([*kept, text[end:]])


def _is_loan(run: str) -> bool:
    spelt = words(run.replace("’", "'"))
    has_english = any(word.lower() in _ENGLISH for word in spelt)
    return has_title_case(run) or (len(spelt) <= MAX_LOAN_WORDS and not has_english)


def _unless_too_little(less: str, text: str) -> str:
    return less if len(words(less)) >= MIN_WORDS else text


def has_title_case(quotation: str) -> bool:
    """Whether a short text has a capital on every longer word, as "Game of Thrones" has."""
    spelt = words(quotation)
    content = [word for word in spelt if len(word) >= MIN_CONTENT_LETTERS]
    return len(spelt) <= MAX_TITLE_WORDS and bool(content) and all(w[0].isupper() for w in content)
