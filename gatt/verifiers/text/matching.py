"""How a term is found in a reply: whole words, any case, accents, simple inflection."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from gatt.verifiers.phrases import read_phrases, word_set
from gatt.verifiers.text.folding import fold, fold_text
from gatt.verifiers.text.words import CJK

# A Latin term may stand between Han characters, which are word characters as well.
LEFT = rf"(?<![^\W{CJK}])"
RIGHT = rf"(?![^\W{CJK}])"
_IS_CJK = re.compile(f"[{CJK}]")
_GAP = r"[\s\-]+"
# "check-up" is also written "check up" and "checkup"; "bus stop" is never "busstop".
_HYPHEN = r"[\s\-]*"
_POSSESSIVE = r"(?:'s|')?"
_INFLECTED = re.compile(r"[a-z]{3,}")
_VOWELS = "aeiou"
_NO_VERB = word_set("english", "no_verb")
_OTHER_WORDS = word_set("english", "other_words")
_IRREGULAR_PLURALS: dict[str, str] = read_phrases("english")["irregular_plurals"]
_IRREGULAR_PASTS: dict[str, str] = read_phrases("english")["irregular_pasts"]
# Verbs of several syllables that double their last letter all the same.
_DOUBLING_ENDS = ("el", "il", "al", "gin", "get", "fer", "mit", "cur", "nap", "trol", "hip")


@dataclass(frozen=True, slots=True)
class Hit:
    """One occurrence of a term in a reply."""

    text: str
    span: tuple[int, int]


class TermMatcher:
    """Finds the occurrences of any of some terms; as the type of a rule's parameter, made of a list of texts.

    Case, accents and markdown emphasis make no difference. A term is found at word boundaries only
    ("art" is not in "start"), CJK terms anywhere. A single English word is also found in its plural,
    possessive, -ing, -ed and -er forms and its irregular past; "hiking" also as "hike"; a capitalised
    term (a name) in its plural and possessive only. In terms of several words any white space or hyphen
    parts the words (where the term has a hyphen, nothing may as well), and the last may stand in the
    plural, or in all its forms if it ends in -ing. Of other languages than English a term has to name the
    forms that count, but for a plural in -s.
    """

    least: ClassVar[int] = 0

    def __init__(self, terms: Iterable[str]) -> None:
        self.terms = tuple(terms)
        if len(self.terms) < self.least or not all(map(str.strip, self.terms)):
            raise ValueError(
                f"is {list(self.terms)!r}: expected texts that are not blank, at least {self.least}"
            )

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        texts = handler.generate_schema(tuple[str, ...])
        return core_schema.no_info_after_validator_function(cls, texts)

    def __len__(self) -> int:
        return len(self.terms)

    def __str__(self) -> str:
        """Return the first terms, as evidence shows them."""
        return ", ".join(self.terms[:4]) + (", …" if len(self.terms) > 4 else "")

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        """The pattern of all terms, compiled at first use: a run uses few matchers of a catalogue.

        The classes at the edges are dear to compile, hence stand once a group.
        """
        groups: dict[tuple[str, str], set[str]] = {}
        for term in self.terms:
            left, body, right = _pattern(term)
            groups.setdefault((left, right), set()).add(body)
        patterns = [
            f"{left}(?:{'|'.join(sorted(bodies, key=lambda b: (-len(b), b)))}){right}"
            for (left, right), bodies in sorted(groups.items())
        ]
        return re.compile("|".join(patterns) if patterns else r"(?!)")

    def hits(self, reply: str) -> list[Hit]:
        """Return all occurrences in order; they do not overlap."""
        return list(self._found(reply))

    def first(self, reply: str) -> Hit | None:
        """Return the first occurrence, if there is one."""
        return next(self._found(reply), None)

    def _found(self, reply: str) -> Iterator[Hit]:
        folded = fold(reply)
        for match in self._regex.finditer(folded.text):
            start, end = folded.span(*match.span())
            yield Hit(reply[start:end], (start, end))


class Terms(TermMatcher):
    """A parameter with at least one term."""

    least = 1


NO_TERMS = TermMatcher(())


def _pattern(term: str) -> tuple[str, str, str]:
    """Return what stands left of a term, the term in its forms, and what stands right."""
    folded = fold_text(term).strip() or term.strip()
    bare = folded.strip("-") or folded
    parts = re.split(_GAP, bare) if bare.strip("-") else [bare]
    gaps = [_HYPHEN if "-" in gap else _GAP for gap in re.findall(_GAP, bare)]
    last = parts[-1]
    if _INFLECTED.fullmatch(last):
        is_name = term.strip()[:1].isupper()
        is_verb = len(parts) == 1 or last.endswith("ing")
        forms = inflections(last) if is_verb and not is_name else plurals(last)
        ending = f"(?:{'|'.join(sorted(forms, key=len, reverse=True))}){_POSSESSIVE}"
    else:
        ending = re.escape(last) + (_POSSESSIVE if last.isalpha() and last.isascii() else "")
    body = "".join(re.escape(p) + g for p, g in zip(parts[:-1], gaps, strict=False)) + ending
    is_first, is_last = (c.isalnum() and not _IS_CJK.match(c) for c in (folded[0], folded[-1]))
    return LEFT if is_first else "", body, RIGHT if is_last else ""


def plurals(word: str) -> set[str]:
    """Return a word in small letters a to z in the singular and the plural."""
    forms = {word, word + "s"}
    if word.endswith(("s", "x", "z", "ch", "sh", "o")):
        forms.add(word + "es")
    if word.endswith("z") and word[-2] in _VOWELS:
        forms.add(word + "zes")
    if word.endswith("y") and word[-2] not in _VOWELS:
        forms.add(word[:-1] + "ies")
    if word in _IRREGULAR_PLURALS:
        forms.add(_IRREGULAR_PLURALS[word])
    if word.endswith(("woman", "sman", "rman", "eman", "hman")) and word not in ("human", "german"):
        forms.add(word[:-2] + "en")
    return forms


def inflections(word: str) -> set[str]:
    """Return a word in its plural, -ing, -ed and -er forms, the irregular past included.

    Forms that are no English words ("tennised") do no harm: nobody writes them.
    Those that are other words ("corn", "corner") are left out.
    """
    forms = plurals(word)
    for root in _roots(word):
        forms |= plurals(root)
        forms |= set(_IRREGULAR_PASTS.get(root, "").split())
        for stem in _stems(root):
            # "Paintings" says it as much as "painting".
            forms |= {stem + "ing", stem + "ings"}
            if root.endswith("ee"):
                forms.add(root + "d")
                continue
            if len(stem) > 2 and stem[-1] == "y" and stem[-2] not in _VOWELS:
                stem = stem[:-1] + "i"
            forms |= {stem + "ed", stem + "er", stem + "ers"}
    others = _OTHER_WORDS | _NO_VERB
    return {form for form in forms if form == word or form.removesuffix("s") not in others}


def _roots(word: str) -> set[str]:
    """Return the word and, of an -ing form, the verbs that it may come from."""
    stem = word.removesuffix("ing")
    has_vowel = any(letter in _VOWELS + "y" for letter in stem)
    if stem == word or len(stem) < 3 or not has_vowel or word in _NO_VERB:
        return {word}
    if stem[-1] == stem[-2] and stem[-1] not in "lsz" + _VOWELS:
        return {word, stem[:-1]}
    # "caring" comes from "care": from "car" it would be "carring".
    if _is_short_closed(stem):
        return {word, stem + "e"}
    doubled = {stem[:-1]} if stem[-1] == stem[-2] and len(stem) > 3 else set()
    return {word, stem, stem + "e"} | doubled


def _stems(root: str) -> set[str]:
    """Return what -ing, -ed and -er are added to; nothing for words that are no verbs by form."""
    if root.endswith("ee"):
        return {root}
    if root.endswith("ie"):
        return {root[:-2] + "y"}
    if root.endswith("e"):
        # "steppe", "latte", "barre"
        is_french = len(root) > 3 and root[-2] == root[-3]
        stem = root[:-1]
        return {stem} if any(c in _VOWELS + "y" for c in stem) and not is_french else set()
    # "caring" is no form of "car", "coding" none of "cod".
    if _is_short_closed(root):
        return {root + root[-1]}
    return {root, root + root[-1]} if root.endswith(_DOUBLING_ENDS) else {root}


def _is_short_closed(word: str) -> bool:
    """Whether a word is one syllable of consonants, vowel, consonant ("swim")."""
    vowels = [letter in _VOWELS for letter in word]
    return sum(vowels) == 1 and len(word) >= 3 and vowels[-2] and word[-1] not in _VOWELS + "wxy"
