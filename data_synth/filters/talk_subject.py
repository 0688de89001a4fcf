"""The words that say what an instruction is about."""

from __future__ import annotations

from functools import lru_cache

from gatt.data.instruction import Instruction
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.words import words

MIN_LETTERS = 3
_TERMS = ("any_of", "topics")
# Words of instructions about anything, and words of everyday talk.
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
    return frozenset(w for w in spelt if len(w) >= MIN_LETTERS and w not in _COMMON_WORDS)
