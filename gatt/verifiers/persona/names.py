"""Whether a text names a person, in any of the usual forms of the name.

Of "Martin Luther King Jr." these are forms: the whole name, with or without "Jr."; "M. L. King"; "MLK"; "Luther
King"; the surname "King", alone or behind a title ("Dr. King"). A first name alone is the name of many people.
It is a form where a name has no surname ("Alexander the Great", "Elizabeth II", "Cleopatra"), and nowhere else:
"Martin" alone is not Martin Luther King Jr.

A form is taken neither from inside a word nor from the name of somebody else: "Kingston", "Stephen King", "King
Charles" and "a king" are not King. Accents do not count, and neither does the case of a whole name; a surname
alone begins with a capital, because "king" and "banks" are words.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from gatt.verifiers.phrases import word_set

Span = tuple[int, int]

_PARTICLES: Final = word_set("names", "particles")
_SUFFIXES: Final = word_set("names", "suffixes")
_JUNIOR: Final = ("jr", "sr", "junior", "senior")
_REGNAL: Final = re.compile(r"[ivxl]+|\d{1,2}(?:st|nd|rd|th)?")
_TITLES: Final = word_set("names", "titles")
_OPENERS: Final = word_set("names", "openers")
# Behind a mononym these words name the same person: "Catherine the Great", "Leonardo da Vinci".
_EPITHET: Final = re.compile(r"\s+(?:the|of)\s+", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*\.?")
_EAST_ASIAN: Final = word_set("names", "east_asian")


@dataclass(frozen=True)
class _Name:
    given: tuple[str, ...]
    surname: tuple[str, ...]
    """With its particles; empty for a mononym."""
    is_family_first: bool


def matches_name(reply: str, name: str) -> Span | None:
    """Return where a text first names a person, without a possessive ending; None if it does not.

    Args:
        reply: any text.
        name: the full name as it is usually written, with or without titles ("C. V. Raman", "Zheng He",
            "Ludwig van Beethoven", "Alexander the Great", "Dr. Martin Luther King Jr.").
    """
    folded, places = _folded(reply)
    for pattern, needs_capital in _patterns(name):
        for found in pattern.finditer(folded):
            start, end = places[found.start("name")], places[found.end("name") - 1] + 1
            text = reply[start:end]
            is_alone = needs_capital and (
                not _begins_with_capital(text) or _goes_before(reply[:start])
            )
            if not is_alone and not (_goes_on(reply[end:]) and not reply.isupper()):
                return start, end
    return None


def _begins_with_capital(text: str) -> bool:
    """Whether a word of a text, particles aside, begins with a capital; scripts without capitals do."""
    last = text.split()[-1]
    return not last[0].islower()


def _goes_before(before: str) -> bool:
    """Whether a surname stands behind the first name of somebody else: "Stephen King", not "Dr. King"."""
    left = re.search(r"([^\W\d_][\w'’.-]*)\s+$", before)
    if left is None:
        return False
    word = _fold_word(left[1].rstrip("."))
    if word in _PARTICLES and left[1][0].islower():
        return _goes_before(before[: left.start()])
    return left[1][0].isupper() and word not in _TITLES | _OPENERS


def _goes_on(after: str) -> bool:
    """Whether a name goes on as somebody else's: "Alexander Pope", "George Washington Carver"."""
    right = _NEXT_NAME.match(after)
    return right is not None and _fold_word(right[1]) not in _OPENERS | _SUFFIXES


_NEXT_NAME: Final = re.compile(
    rf"[ -]+(?:(?:{'|'.join(sorted(_PARTICLES))})[ -])*([^\W\d_a-zß-öø-ÿ][\w'’]*)"
)


@lru_cache(maxsize=512)
def _patterns(name: str) -> tuple[tuple[re.Pattern[str], bool], ...]:
    """Return the patterns of a name, whole forms first, and whether each needs a capital and a look around."""
    whole, alone = _forms(_parsed(name), name)
    found = []
    for forms, needs_capital in ((whole, False), (alone, True)):
        if forms:
            either = "|".join(sorted(dict.fromkeys(forms), key=len, reverse=True))
            found.append((re.compile(rf"(?<![\w'-])(?P<name>{either})(?!\w|-\w)"), needs_capital))
    return tuple(found)


def _forms(name: _Name, text: str) -> tuple[list[str], list[str]]:
    """Return patterns of whole forms, and those of names alone."""
    full = _spaced(tuple(w for n, w in enumerate(_words(text)) if not n or w not in _JUNIOR))
    full += rf"(?:,?\s+(?:{'|'.join(_JUNIOR)})(?!\w))?" if name.surname else ""
    if not name.surname:
        is_longer = len(_words(text)) > 1
        return [full] if is_longer else [], [_spaced(name.given[:1])]
    surname = _spaced(name.surname)
    whole, alone = [full], [surname]
    bare = tuple(word for word in name.surname if word not in _PARTICLES)
    if len(bare) < len(name.surname):
        # "Beethoven"; "da Vinci" without "da" is no name, and "de Gaulle" without "de" is rare.
        alone.append(_spaced(bare))
    if name.is_family_first:
        whole += [_spaced((*name.given, *name.surname)), rf"{surname},?\W+{_spaced(name.given)}"]
        # "Ze-dong", "Ze Dong", "Zedong"; "Kim Dae-jung".
        joined = "[ -]?".join(
            re.escape(letter) for word in name.given for letter in word if letter != "-"
        )
        whole += [rf"{surname}\W+{joined}", rf"{joined}\W+{surname}"]
        return whole, alone
    for size in range(1, len(name.given) + 1):
        for kept in (name.given[:size], name.given[-size:]):
            whole.append(rf"{_spaced(kept, or_initial=True)}\W+{surname}")
    whole.append(rf"{surname},\s*{_spaced(name.given, or_initial=True)}")
    initials = "".join(word[0] for word in name.given)
    dotted = r"\.?\s?".join(map(re.escape, initials))
    whole.append(rf"{dotted}\.?\s?{surname}")
    if len(initials) > 1:
        # "MLK", "JFK", "FDR": letters alone name who has three.
        letters = initials + "".join(word[0] for word in bare)
        whole.append(r"\.?".join(map(re.escape, letters)))
    return whole, alone


def _spaced(spelt: tuple[str, ...], *, or_initial: bool = False) -> str:
    def one(word: str) -> str:
        letter = word.rstrip(".")
        if len(letter) == 1:
            return rf"{re.escape(letter)}\.?"
        return (
            rf"(?:{re.escape(letter)}|{re.escape(letter[0])}\.)"
            if or_initial
            else re.escape(letter)
        )

    return (
        r"[\s.,-]*?\s*".join(map(one, spelt))
        if len(spelt) < 2
        else r"[.,]?[\s-]*".join(map(one, spelt))
    )


def _parsed(text: str) -> _Name:
    spelt = _words(text)
    epithet = _EPITHET.search(_fold_word(text))
    if epithet:
        spelt = _words(text[: epithet.start()])
        return _Name(spelt, (), False)
    if len(spelt) == 2 and _REGNAL.fullmatch(spelt[-1]) and not text.rstrip().endswith("."):
        return _Name(spelt[:-1], (), False)
    spelt = tuple(word for n, word in enumerate(spelt) if not n or word not in _SUFFIXES)
    if len(spelt) == 1 or not spelt:
        return _Name(spelt, (), False)
    if spelt[0] in _EAST_ASIAN and len(spelt) <= 3 and "." not in text:
        return _Name(spelt[1:], spelt[:1], True)
    first = next((n for n, word in enumerate(spelt[1:-1], 1) if word in _PARTICLES), len(spelt) - 1)
    return _Name(spelt[:first], spelt[first:], False)


def _words(text: str) -> tuple[str, ...]:
    """Return the folded words of a name, without titles in front of it."""
    spelt = [_fold_word(word) for word in _WORD.findall(text)]
    spelt = [word.rstrip(".") for word in spelt]
    while len(spelt) > 1 and spelt[0] in _TITLES - {"the"}:
        spelt.pop(0)
    return tuple(spelt)


def _fold_word(text: str) -> str:
    return _folded(text)[0]


def _folded(text: str) -> tuple[str, list[int]]:
    """Return a text in lower case without accents, and the place in the text of each of its characters."""
    folded, places = [], []
    for place, character in enumerate(text):
        plain = unicodedata.normalize("NFKD", character.replace("’", "'").casefold())
        for letter in plain:
            if not unicodedata.combining(letter):
                folded.append(_LETTERS.get(letter, letter))
                places.append(place)
    return "".join(folded), places


_LETTERS: Final = {"ø": "o", "ł": "l", "đ": "d", "ı": "i", "‐": "-", "‑": "-"}
