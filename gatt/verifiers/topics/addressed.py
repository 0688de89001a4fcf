"""Whether a sentence brings a thing to the user, and neither denies, reports, defines nor imagines it. English.

"Our rooftop bar is open until midnight" does; "We have no bar", "She works in a rooftop bar", "A rooftop bar
is a bar on a roof" and "If I had a rooftop bar" do not. Negations and reversals are counted: "Never skip
flossing" has two, hence says it; "Skip flossing" has one, hence denies it. Turns of phrase whose negation
denies nothing ("no charge", "why not", "not only") are not counted. All texts are folded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

from gatt.verifiers.phrases import Patterns, read_phrases
from gatt.verifiers.text.folding import fold_text

_RE = Patterns("addressed")
_POLARITY = Patterns("polarity")

NO_WORD = "is no word to the user about"
REGRETS = "regrets something about"
_MOST_HEADING_WORDS = 6
_SHORT: dict[str, str] = read_phrases("english")["short"]
_SHORT_WORD = re.compile(rf"(?<![\w'])(?:{'|'.join(_SHORT)})(?![\w'])")
_NUMBER = re.compile(r"(?<=\w) no\.(?=[\s,?!)]|$)|(?<=\w) #(?!\w)")
_WORD = re.compile(r"[a-z]{7,}")
# A letter more or less at the end is another form of a word more often than a slip.
_KEPT_END = 2
_SLIP = 0.87
"""Likeness of `difflib` from which a word is a slip of another."""


def is_passed_over(before: str) -> bool:
    """Whether what follows a beginning is only what is not chosen: "Tea instead of"."""
    return bool(_RE.PASSED_OVER.search(before))


def is_heading(text: str) -> bool:
    """Whether a sentence is a few words without a verb, as in a list: "Winter tyre fitting"."""
    is_short = len(text.split()) <= _MOST_HEADING_WORDS and not text.rstrip().endswith(".")
    return is_short and not _RE.VERB.search(text)


def flaw_of(text: str, start: int, end: int) -> str | None:
    """Return why a sentence does not bring the matter that it names from `start` to `end`, or None."""
    before, rest = text[:start], f"{text[:start]} {text[end:]}"
    is_addressed, is_order = _RE.ADDRESSES.search(text), _RE.IMPERATIVE.search(text)
    is_of_others = _RE.OF_OTHERS.search(_RE.OF_ITSELF.sub(" ", text[:end])) or (
        not is_addressed and not is_order and _RE.THEIRS.search(text)
    )
    is_question = text.rstrip(" \"')*_").endswith("?")
    # An "open day" is no praise: the matter itself is left out.
    is_worth = _RE.WORTH.search(rest) or _RE.SAVES.search(text, start, end)
    flaws: Iterable[tuple[str, object]] = (
        ("tells of others", is_of_others),
        ("passes over", is_passed_over(before)),
        ("only imagines", _RE.IMAGINED.search(text)),
        ("tells of the past", _RE.PAST.search(text)),
        ("only explains", not is_addressed and _RE.DEFINES.search(text)),
        ("only asks about",
         is_question and (_RE.ASKS_FACTS.search(text) or not _RE.INVITES.search(text))),
        (REGRETS, _RE.REGRETS.search(text)),
        (NO_WORD, not (is_worth or is_order or _RE.TO_USER.search(text))),
    )  # fmt: skip
    return next((flaw for flaw, is_found in flaws if is_found), None)


def clauses_around(sentence: str, start: int, end: int) -> list[str]:
    """Return the clauses of a sentence from the one that holds `start` to that before `end`."""
    stops = [match.span() for match in _POLARITY.CLAUSE_END.finditer(sentence)]
    lefts = [0, *(right for _, right in stops)]
    rights = [*(left for left, _ in stops), len(sentence)]
    return [
        sentence[left:right]
        for left, right in zip(lefts, rights, strict=True)
        if right > start and left < end
    ]


def num_negations(clause: str) -> int:
    """Return how many negations and reversals a clause has, turns of phrase left out."""
    rest = _POLARITY.NEITHER.sub(r"not\1or", _POLARITY.NEUTRAL.sub(" ", clause))
    return len(_POLARITY.NEGATION.findall(rest)) + len(_POLARITY.REVERSAL.findall(rest))


def is_denied(clause: str) -> bool:
    """Whether a clause denies what it names, or calls it needless."""
    return calls_needless(clause) or num_negations(clause) % 2 == 1


def calls_needless(clause: str) -> bool:
    """Whether a clause says that something need not be: "you don't have to", "no need"."""
    return bool(_POLARITY.NEEDLESS.search(_POLARITY.NEUTRAL.sub(" ", clause)))


def takes_back(text: str) -> bool:
    """Whether a text that follows a thing takes it back: "Late check-out? Not here."."""
    return bool(_POLARITY.TAKEN_BACK.search(text))


def as_meant(sentence: str, terms: tuple[str, ...]) -> str:
    """Return a sentence folded, with the short forms of chats written out and slips in terms mended.

    A long word that misses a word of the terms by a letter is that word. First letter and ending have to
    be right, as other words are a slip apart ("adviser", "advised").
    """
    folded = _SHORT_WORD.sub(lambda m: _SHORT[m[0]], fold_text(sentence))
    long_words = _long_words(terms)
    return _WORD.sub(lambda m: _mended(m[0], long_words), _NUMBER.sub(" number", folded))


@lru_cache(maxsize=512)
def _long_words(terms: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for term in terms for word in _WORD.findall(term.lower())))


@lru_cache(maxsize=4096)
def _mended(typed: str, long_words: tuple[str, ...]) -> str:
    close = next(iter(get_close_matches(typed, long_words, 1, _SLIP)), typed)
    is_same = close[0] == typed[0] and close[-_KEPT_END:] == typed[-_KEPT_END:]
    return close if is_same and abs(len(close) - len(typed)) < 2 else typed
