"""One accepted answer, and where a reply says it: words in their forms, numbers by value, spelt letters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from gatt.verifiers.answers.tokens import Token, tokens
from gatt.verifiers.phrases import WordLists
from gatt.verifiers.text.matching import inflections, plurals

_WORDS = WordLists("answers")

_HAN_NUMERALS: Final = frozenset("〇零一二三四五六七八九十百千万億亿两")
_ASCII_WORD: Final = re.compile(r"[a-z]{3,}")
# Hangul and the scripts of South-East Asia: what follows a noun is glued to it.
_GLUED: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\uac00-\ud7af]")
_NO_PLURAL: Final = frozenset({"news", "lens", "does", "yes"})
_MIN_STEM_LETTERS: Final = 5
_MOST_ENDING_LETTERS: Final = 3
_MOST_BETWEEN_ITEMS: Final = 4
"""Words between two items of a list: "apple comes first, then banana"."""


@dataclass(frozen=True)
class Term:
    """An accepted or a wrong answer."""

    text: str
    is_amount: bool = False
    """Whether the question asks for a number: then words are matched without endings."""

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """Its words and numbers, without marks."""
        return tuple(token for token in tokens(self.text) if token.kind != "mark")

    @property
    def is_number(self) -> bool:
        """Whether it is one number with a value."""
        return len(self.tokens) == 1 and bool(self.tokens[0].values)

    @cached_property
    def unit(self) -> str:
        """Of a number and what it counts, the word: "6 euros"; else nothing."""
        is_quantity = [token.kind for token in self.tokens] == ["number", "word"]
        return self.tokens[1].text if is_quantity else ""

    @cached_property
    def is_spelt(self) -> bool:
        """Whether it is a word letter by letter: "b-r-e-a-d"."""
        return len(self.tokens) > 1 and all(
            len(t.text) == 1 and t.text.isalpha() for t in self.tokens
        )

    @cached_property
    def _points(self) -> frozenset[str]:
        """The marks between its words: "bergfreund.example", "10 a.m. to 7 p.m."."""
        all_tokens = tokens(self.text.strip(" .,;:!?"))
        return frozenset(token.text for token in all_tokens if token.kind == "mark") - {","}

    @cached_property
    def _orders(self) -> tuple[tuple[Token, ...], ...]:
        """The tokens as they may stand: "July 4" also as "4 July"."""
        names = [token.text in _WORDS.months for token in self.tokens]
        return (
            (self.tokens, self.tokens[::-1]) if len(names) == 2 and any(names) else (self.tokens,)
        )

    def end_at(self, said: tuple[Token, ...], start: int, has_endings: bool) -> int | None:
        """Return where the term ends if a reply says it from token `start`, else None."""
        ends = (self._end_of(order, said, start, has_endings) for order in self._orders)
        return next((end for end in ends if end is not None), None)

    def _end_of(
        self, wanted: tuple[Token, ...], said: tuple[Token, ...], start: int, has_endings: bool
    ) -> int | None:
        at = start
        is_date = len(self._orders) > 1
        for number, token in enumerate(wanted):
            num_words = 0
            while number and at < len(said) and said[at].text != token.text:
                is_word = self._inside(said, at, num_words)
                if is_word is None and not (is_date and said[at].text in ("of", "the", ",", ".")):
                    break
                num_words += bool(is_word)
                at += 1
            if at >= len(said) or not self._is_same(token, said[at], has_endings, is_date):
                return None
            at += 1
        return None if self._is_part_of_more(said, start, at) else at

    def _inside(self, said: tuple[Token, ...], at: int, num_words: int) -> bool | None:
        """Return whether what stands inside a term counts as a word there; None if it cannot stand there."""
        is_filler = said[at].text in _WORDS.fillers and len(self.tokens) > 2
        if is_filler or (said[at].kind == "mark" and said[at].text in self._points):
            return False
        is_listed = "," in self.text
        if not (is_listed or self.is_spelt):
            return None
        if said[at].kind == "mark" or said[at].text in _WORDS.joins or _numbers_an_item(said, at):
            return False
        is_item = any(said[at].text == token.text for token in self.tokens)
        is_word = said[at].kind == "word" and num_words < _MOST_BETWEEN_ITEMS and not is_item
        return True if is_listed and is_word and len(self.tokens) > 2 else None

    def _is_same(self, wanted: Token, said: Token, has_endings: bool, is_date: bool) -> bool:
        if wanted.kind != said.kind:
            return False
        if wanted.kind == "number":
            if wanted.values and said.values:
                return not wanted.values.isdisjoint(said.values)
            shown = [
                re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", t.text) if is_date else t.text
                for t in (wanted, said)
            ]
            return shown[0].lstrip("0") == shown[1].lstrip("0")
        if len(self.tokens) == 1 and len(wanted.text) == 1 and wanted.text.isascii():
            return said.text == wanted.text
        word = wanted.text
        if _GLUED.search(word):
            return word in said.text
        if not forms_of(word, self.text[:1].isupper(), self.is_amount).isdisjoint(said.parts):
            return True
        may_end_otherwise = has_endings or not word.isascii()
        if self.is_amount or not may_end_otherwise or len(word) < _MIN_STEM_LETTERS:
            return False
        return (
            said.text.startswith(word[:-1])
            and abs(len(said.text) - len(word)) <= _MOST_ENDING_LETTERS
        )

    def _is_part_of_more(self, said: tuple[Token, ...], start: int, end: int) -> bool:
        """Whether a number word of another language is a part of a larger number: "vingt-huit", "十八"."""
        if not self.is_amount or said[start].kind == "number":
            return False
        first, last, at = said[start].text, said[end - 1].text, start - 1
        if at > 0 and said[at].text in _WORDS.joins:
            at -= 1
        is_han = first in _HAN_NUMERALS and last in _HAN_NUMERALS
        before = _HAN_NUMERALS if is_han else _WORDS.tens_of_others - {first}
        behind = _HAN_NUMERALS if is_han else _WORDS.scales_of_others
        is_behind = at >= 0 and said[at].text in before
        return is_behind or any(token.text in behind for token in said[end : end + 1])


def _numbers_an_item(said: tuple[Token, ...], at: int) -> bool:
    """Whether a number counts the items of a list: "2. dog"."""
    before, behind = said[at - 1 : at], said[at + 1 : at + 2]
    is_marked = bool(behind) and behind[0].text in (".", ")", ":")
    return said[at].kind == "number" and is_marked and (not before or before[0].kind == "mark")


@lru_cache(maxsize=4096)
def forms_of(word: str, is_name: bool, is_amount: bool = False) -> frozenset[str]:
    """Return a folded word in the forms that count: plural, singular, and the endings of English verbs."""
    if is_amount or not _ASCII_WORD.fullmatch(word):
        return frozenset({word})
    forms = plurals(word) if is_name else inflections(word)
    if word.endswith("ies") and len(word) > 4:
        forms = forms | {word[:-3] + "y"}
    elif word.endswith("s") and not word.endswith("ss") and word not in _NO_PLURAL and not is_name:
        forms = forms | {word[:-1]} | ({word[:-2]} if word.endswith("es") else set())
    return frozenset(forms)


def letter_is_meant(reply: str, token: Token) -> bool:
    """Whether a letter alone is named, and is no article or pronoun: "the letter A", 'a'.", never "a dog"."""
    start, end = token.span
    letter, before = reply[start:end], reply[:start]
    rest = reply[end:].lstrip(" *'\"”’»`)").lower()
    if before.endswith(tuple("'\"“‘«*`(„「")) or not rest or rest[0] in ".,!?;:\n}]":
        return True
    if before.rstrip(" *'\"“‘").lower().endswith(("letter", "letra", "lettre", "buchstabe")):
        return True
    # "A" begins many sentences, "G" few.
    is_inside = re.search(r"[a-z] $", before)
    is_subject = letter != "A" or re.match(r"(?:is|comes|stands|was|follows)\b", rest)
    return letter.isupper() and letter != "I" and bool(is_inside or is_subject)
