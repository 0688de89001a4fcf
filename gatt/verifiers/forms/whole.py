"""`haiku`, `json_object`, `letter_case`: what all of a reply is."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from gatt.verifiers.base import Verdict
from gatt.verifiers.phrases import Patterns, read_phrases
from gatt.verifiers.rule import Rule
from gatt.verifiers.text.markup import strip_markdown
from gatt.verifiers.text.words import words

Casing = Literal["lower", "title", "upper"]
# Categories of Unicode: `str.islower` takes the signs of "20 ºC" and "2ª" for small letters.
_CAPITALS, _SMALL = frozenset({"Lu", "Lt"}), frozenset({"Ll"})
PATTERN, TOLERANCE = (5, 7, 5), 1
_RE = Patterns("english")
_EXCEPTIONS: dict[str, int] = read_phrases("english")["syllables"]
_FENCE = re.compile(r"\A```[ \t]*(?:json)?[ \t]*\n(?P<body>.*?)\n?[ \t]*```\Z", re.DOTALL | re.I)


@dataclass(frozen=True, kw_only=True)
class JsonObject(Rule):
    """Passes if the whole reply, a code fence aside, is a JSON object with the keys.

    Nothing is said under a key with a blank text, `null` or an empty list or object.

    Args:
        keys: keys that must be there, with something under them; others may be.
        may_be_empty: whether nothing may stand under a key.
    """

    kind = "json_object"
    version = 2
    reads_markup = True

    keys: tuple[str, ...] = ()
    may_be_empty: bool = False

    def decide(self, reply: str) -> Verdict:
        text = reply.strip()
        fenced = _FENCE.match(text)
        try:
            value: Any = json.loads(fenced["body"] if fenced else text, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            return self.failed(f"no JSON: {error}")
        if not isinstance(value, dict):
            return self.failed(f"JSON {type(value).__name__}, expected an object")
        for key in self.keys:
            if key not in value:
                return self.failed(f"no key {key!r}")
            held = value[key].strip() if isinstance(value[key], str) else value[key]
            if held in (None, "", [], {}) and not self.may_be_empty:
                return self.failed(f"nothing under {key!r}")
        return self.passed(f"a JSON object with {len(value)} keys")


def _refuse(constant: str) -> None:
    """Refuse NaN and Infinity, which JSON does not have."""
    raise ValueError(f"{constant} is no JSON value")


@dataclass(frozen=True, kw_only=True)
class LetterCase(Rule):
    """Passes if every letter that has a case is in the asked one; in title case the first one of each word.

    A reply without such letters (Chinese) is undecided.

    Args:
        case: `lower`, `upper`, or `title` ("Take The Early Train").
    """

    kind = "letter_case"
    version = 3
    reads_markup = True

    case: Casing

    def decide(self, reply: str) -> Verdict:
        if self.case == "title":
            return self._title(reply)
        wrong, right = (_CAPITALS, _SMALL) if self.case == "lower" else (_SMALL, _CAPITALS)
        categories = [unicodedata.category(character) for character in reply]
        for index, category in enumerate(categories):
            if category in wrong:
                span = (index, index + 1)
                return self.failed(f"{reply[index]!r} is not {self.case} case", span)
        if right.isdisjoint(categories):
            return self.undecided("no letter that has a case")
        return self.passed(f"all letters are {self.case} case")

    def _title(self, reply: str) -> Verdict:
        cased = [w for w in words(reply) if unicodedata.category(w[0]) in _CAPITALS | _SMALL]
        for word in cased:
            if unicodedata.category(word[0]) in _SMALL:
                return self.failed(f"{word!r} starts with a small letter")
        if not cased:
            return self.undecided("no letter that has a case")
        return self.passed("each word starts with a capital")


@dataclass(frozen=True, kw_only=True)
class Haiku(Rule):
    """Passes on three lines of 5, 7 and 5 English syllables, each give or take one.

    The tolerance answers for the heuristic of `syllables`. Blank lines and
    markdown do not count; a title or an introduction is a line too many.
    """

    kind = "haiku"
    version = 2

    def decide(self, reply: str) -> Verdict:
        lines = [spelt for line in strip_markdown(reply).splitlines() if (spelt := words(line))]
        if len(lines) != len(PATTERN):
            return self.failed(f"{len(lines)} lines, expected {len(PATTERN)}")
        counts = [sum(map(syllables, line)) for line in lines]
        shown = "-".join(map(str, counts))
        if any(abs(n - wanted) > TOLERANCE for n, wanted in zip(counts, PATTERN, strict=True)):
            return self.failed(f"{shown} syllables, expected 5-7-5")
        return self.passed(f"{shown} syllables in three lines")


@lru_cache(maxsize=8192)
def syllables(word: str) -> int:
    """Return the estimated number of syllables of an English word; at least 1.

    Groups of vowels are counted; a silent "e" at the end, in "-es" and "-ed" and
    in front of an ending ("some-thing") is not, "-le" after a consonant is; common
    pairs that are spoken apart ("poet", "lion") count twice. Right for 96 in a
    hundred of the 12,000 most frequent English words, and within one for nearly all.
    """
    plain = unicodedata.normalize("NFKD", word.lower())
    letters = re.sub(r"[^a-z]", "", re.split("['’]", plain)[0])
    if letters in _EXCEPTIONS:
        return _EXCEPTIONS[letters]
    letters = _RE.SILENT_INSIDE.sub("", letters)
    number = len(_RE.GROUP.findall(letters)) + bool(_RE.SPOKEN_M.search(letters))
    number += len(_RE.APART.findall(_RE.TOGETHER.sub("xx", letters)))
    return max(1, number - bool(number > 1 and _RE.SILENT_END.search(letters)))
