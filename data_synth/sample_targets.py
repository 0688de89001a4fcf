"""Targets of one sample that say nearly the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from data_synth.quality import QualityConfig
from gatt.data.catalog.programs import texts_added
from gatt.data.instruction import Instruction
from gatt.verifiers.text.words import spaceless_characters, words

SHORT_WORDS = 4


SHORT_REPEATS = 2
"""A reply of at most so many words ("Of course.") may occur so often in a sample."""


GRAM_CHARACTERS = 4
"""Characters of an n-gram: works in every script, and tolerates inflection."""


CHARACTERS_PER_WORD = 2
"""Han or kana characters that count as one word."""


class SampleTargets:
    """Targets of one sample so far.

    Draws are judged by attempt, and within an attempt in the order of the requests, so
    that refusals depend on the sample alone: not on its batch, nor on other workers.

    Args:
        quality: which replies count as the same.
        instructions: of the sample. What they want said (utterances, beginnings, texts of a form) repeats by
            design and is left out of the comparison.
    """

    def __init__(
        self, quality: QualityConfig, instructions: Iterable[Instruction | None] = ()
    ) -> None:
        self._limit = quality.near_duplicate
        given = [i for i in instructions if i]
        added = {w.casefold() for i in given for w in (*i.utterances, *i.prefills)}
        added |= {w.casefold() for i in given for w in texts_added(i.programs)}
        longest_first = sorted(added, key=lambda w: (-len(w), w))
        self._own = re.compile("|".join(map(re.escape, longest_first))) if added else None
        self._short: Counter[str] = Counter()
        self._grams: list[frozenset[str]] = []

    def take(self, text: str) -> bool:
        """Add a target unless it repeats one; return whether it was taken."""
        limit = self._limit
        if limit is None:
            return True
        plain = self._plain(text)
        num_single = spaceless_characters(plain)
        num_words = len(plain.split()) - num_single + num_single / CHARACTERS_PER_WORD
        if num_words <= SHORT_WORDS:
            self._short[plain] += 1
            return self._short[plain] <= SHORT_REPEATS
        grams = character_grams(plain)
        if any(is_near(grams, other, limit) for other in self._grams):
            return False
        self._grams.append(grams)
        return True

    def _plain(self, text: str) -> str:
        folded = text.casefold()
        rest = " ".join(words(self._own.sub(" ", folded))) if self._own else ""
        return rest or " ".join(words(folded))


def character_grams(plain: str) -> frozenset[str]:
    """Return the set of character n-grams of a text; a shorter text is its only member."""
    last = len(plain) - GRAM_CHARACTERS
    return frozenset(plain[start : start + GRAM_CHARACTERS] for start in range(max(0, last) + 1))


def is_near(a: frozenset[str], b: frozenset[str], limit: float) -> bool:
    """Whether two sets overlap by at least `limit` of their union (Jaccard)."""
    small, large = sorted((len(a), len(b)))
    if small < limit * large:
        return False
    common = len(a & b)
    return common >= limit * (len(a) + len(b) - common)
