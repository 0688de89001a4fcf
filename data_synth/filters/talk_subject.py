"""The words that say what an instruction is about."""

from __future__ import annotations

from functools import lru_cache

from data_synth.filters.talk_patterns import COMMON_WORDS
from gatt.data.instruction import Instruction
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.words import words

MIN_LETTERS = 3
_TERMS = ("any_of", "topics")


def subject_words(instruction: Instruction) -> frozenset[str]:
    """Return the folded words that say what the instruction is about; empty if there are none.

    They come from its text, its hint, and the hobby or topics of its verifiers. Words that
    any instruction may have ("answer", "always", "city") are left out.
    """
    # The terms of a public figure ("army", "France") are its own topics, not its instruction.
    sought = [v.params for v in instruction.verifiers if v.kind in ("likes", "question_about")]
    terms = [term for params in sought for name in _TERMS for term in params.get(name) or ()]
    return _subject_words((instruction.text, instruction.hint or "", *map(str, terms)))


@lru_cache(maxsize=512)
def _subject_words(texts: tuple[str, ...]) -> frozenset[str]:
    spelt = {word for text in texts for word in words(fold_text(text))}
    return frozenset(w for w in spelt if len(w) >= MIN_LETTERS and w not in COMMON_WORDS)
