"""How a term is found in a reply: whole words, any case, accents, simple inflection."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from gatt.verifiers.folding import fold, fold_text
from gatt.verifiers.words import CJK

# A Latin term may stand between Han characters, which are word characters as well.
_LEFT = rf"(?<![^\W{CJK}])"
_RIGHT = rf"(?![^\W{CJK}])"
_GAP = r"[\s\-]+"
_POSSESSIVE = r"(?:'s|')?"
_INFLECTED = re.compile(r"[a-z]{3,}")
_VOWELS = "aeiou"
# Nouns in -ing that no verb stands behind: "evening" is not said by "even".
_NO_VERB = {
    "evening", "morning", "ceiling", "pudding", "sibling", "during", "nothing", "something",
    "anything", "everything", "wedding", "herring", "sterling", "darling", "duckling", "earring",
    "viking", "offspring",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hit:
    """One occurrence of a term in a reply."""

    text: str
    span: tuple[int, int]


class TermMatcher:
    """Finds the occurrences of any of some terms.

    Case, accents and markdown emphasis make no difference. A term is found at
    word boundaries only ("art" is not in "start"), CJK terms anywhere. A
    single English word is also found in its plural, possessive, -ing, -ed and
    -er forms; "hiking" also as "hike"; a capitalised term (a name) in its
    plural and possessive only. In terms of several words any white space or
    hyphen parts the words, and the last may stand in the plural.
    """

    def __init__(self, terms: Iterable[str]) -> None:
        self._terms = tuple(terms)

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        """The pattern of all terms, compiled at first use.

        A catalogue builds hundreds of matchers and a run uses a few of them. The
        classes at the edges are dear to compile, hence stand once a group.
        """
        groups: dict[tuple[str, str], set[str]] = {}
        for term in self._terms:
            left, body, right = _pattern(term)
            groups.setdefault((left, right), set()).add(body)
        patterns = [
            f"{left}(?:{'|'.join(sorted(bodies, key=lambda b: (-len(b), b)))}){right}"
            for (left, right), bodies in sorted(groups.items())
        ]
        return re.compile("|".join(patterns) if patterns else r"(?!)")

    def hits(self, reply: str) -> list[Hit]:
        """Return all occurrences in order; they do not overlap."""
        folded = fold(reply)
        spans = [folded.span(*match.span()) for match in self._regex.finditer(folded.text)]
        return [Hit(reply[start:end], (start, end)) for start, end in spans]

    def first(self, reply: str) -> Hit | None:
        """Return the first occurrence, if there is one."""
        folded = fold(reply)
        match = self._regex.search(folded.text)
        if not match:
            return None
        start, end = folded.span(*match.span())
        return Hit(reply[start:end], (start, end))


def _pattern(term: str) -> tuple[str, str, str]:
    """Return what stands left of a term, the term in its forms, and what stands right."""
    folded = fold_text(term).strip() or term.strip()
    parts = re.split(_GAP, folded.strip("-")) if folded.strip("-") else [folded]
    last = parts[-1]
    if _INFLECTED.fullmatch(last):
        is_name = term.strip()[:1].isupper()
        forms = _plurals(last) if len(parts) > 1 or is_name else _forms(last)
        ending = f"(?:{'|'.join(sorted(forms, key=len, reverse=True))}){_POSSESSIVE}"
    else:
        ending = re.escape(last) + (_POSSESSIVE if last.isalpha() and last.isascii() else "")
    body = _GAP.join([*map(re.escape, parts[:-1]), ending])
    left = _LEFT if _needs_boundary(folded[0]) else ""
    right = _RIGHT if _needs_boundary(folded[-1]) else ""
    return left, body, right


def _needs_boundary(character: str) -> bool:
    return character.isalnum() and not re.match(f"[{CJK}]", character)


def _plurals(word: str) -> set[str]:
    forms = {word, word + "s"}
    if word.endswith(("s", "x", "z", "ch", "sh", "o")):
        forms.add(word + "es")
    if word.endswith("y") and word[-2] not in _VOWELS:
        forms.add(word[:-1] + "ies")
    return forms


def _forms(word: str) -> set[str]:
    """Return the word in its plural, -ing, -ed and -er forms, misspelt ones included.

    Forms that are no English words ("tennised") do no harm: nobody writes them.
    """
    forms = _plurals(word)
    for root in _roots(word):
        forms |= _plurals(root)
        for stem in _stems(root):
            forms.add(stem + "ing")
            stem = stem[:-1] + "i" if _ends_in_consonant_y(stem) else stem
            forms |= {stem + "ed", stem + "er", stem + "ers"}
    return forms


def _ends_in_consonant_y(word: str) -> bool:
    return len(word) > 2 and word.endswith("y") and word[-2] not in _VOWELS


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
    """Return what -ing, -ed and -er are added to."""
    if root.endswith("e"):
        return {root[:-1]}
    return {root, root + root[-1]} if _is_short_closed(root) else {root}


def _is_short_closed(word: str) -> bool:
    """Whether a word is one syllable of consonants, vowel, consonant ("swim")."""
    vowels = [letter in _VOWELS for letter in word]
    return sum(vowels) == 1 and len(word) >= 3 and vowels[-2] and word[-1] not in _VOWELS + "wxy"
