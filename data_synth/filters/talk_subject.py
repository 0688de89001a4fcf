"""What an instruction is about, as words that tell it from any other instruction."""

from __future__ import annotations

from functools import lru_cache

from gatt.data.instruction import Instruction
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.words import words

MIN_LETTERS = 3
_TERMS = ("any_of", "topics")
# What instructions are made of, whatever they are about, and what people speak of anyway.
_COMMON = """
    about accept act add address after again age all also always and another any anything are ask
    asked asks assistant away back before begin behaviour being between both bring but can choose
    city close come contain customer day different does done each earn either else end ends enjoy
    even ever every everything exactly example figure fill find finish first fits follow for format
    free friend from full get give given good great has have help her him his hobby how human if in
    into its job keep kind language last least length let life line lines live lives living long
    look love made make matter may mention message messages more most much must my name never new
    next nor not nothing now old once one only open other our own part people person persona place
    play please put question questions rather reply replies role same say sense serious she short
    should show single soon speak spoke start starts step still stop such talk tell than thank that
    the their them then there these they thing things this those through time times too topic touch
    two under use user uses very voice want was way well were what whatever when where which while
    who whole whom whose will with without word words work works would write years yes you your
    answer answers answered respond response responses
    """
_COMMON_WORDS = frozenset(_COMMON.split())


def subject_words(instruction: Instruction) -> frozenset[str]:
    """Return the folded words that the instruction is about; empty if it has none of its own.

    They come from its text and hint and from the hobby or topics that its verifiers look
    for. Words that stand in any instruction ("answer", "always", "city") are none.
    """
    # A figure's own terms ("army", "France") are what it talks about, not what it is told.
    sought = [v.params for v in instruction.verifiers if v.kind in ("likes", "question_about")]
    terms = [term for params in sought for name in _TERMS for term in params.get(name) or ()]
    return _subject_words((instruction.text, instruction.hint or "", *map(str, terms)))


@lru_cache(maxsize=512)
def _subject_words(texts: tuple[str, ...]) -> frozenset[str]:
    spelt = {word for text in texts for word in words(fold_text(text))}
    return frozenset(w for w in spelt if len(w) >= MIN_LETTERS and w not in _COMMON_WORDS)
