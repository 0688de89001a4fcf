"""`mentions_instruction`: a reply that talks about the instruction, or repeats it."""

from __future__ import annotations

import re
from functools import lru_cache

from data_synth.filters.draw import Draw
from data_synth.filters.talk_patterns import is_about_instruction, is_about_subject
from data_synth.filters.talk_subject import subject_words
from gatt.data.instruction import Instruction
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.sentences import sentences
from gatt.verifiers.text.words import words

MIN_INNER_WORDS = 4
"""A sentence of the instruction with at least so many words also counts inside a longer sentence."""
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»")


def mentions_instruction(draw: Draw) -> bool:
    """Whether the reply reveals that there is an instruction.

    It does so in words ("as you asked"; "I was told to" counts only if the subject of the
    instruction follows), or by repeating a sentence of the instruction, its hint or the
    brief ("Answer only in French."). Two things are no repetition: what the instruction
    wants said (utterances, quotations), and a question ("You love tennis?"). A plain
    dialogue may speak of instructions; only the brief must not be repeated there.
    """
    if draw.instruction and _talks_about(draw.text, draw.instruction):
        return True
    said = _told(draw.instruction, draw.brief)
    if not said:
        return False
    spelt = f" {_plain(draw.text)} "
    if any(f" {s} " in spelt for s in said if len(s.split()) >= MIN_INNER_WORDS):
        return True
    return any(_plain(s) in said for s in sentences(draw.text) if not s.endswith("?"))


def _talks_about(text: str, instruction: Instruction) -> bool:
    folded = fold_text(text)
    return is_about_instruction(folded) or is_about_subject(folded, subject_words(instruction))


def _told(instruction: Instruction | None, brief: str | None) -> frozenset[str]:
    if instruction is None:
        return _sentences_told((), (), brief)
    return _sentences_told(
        (instruction.text, instruction.hint or ""),
        (*instruction.utterances, *instruction.prefills),
        brief,
    )


@lru_cache(maxsize=512)
def _sentences_told(
    texts: tuple[str, ...], wanted: tuple[str, ...], brief: str | None
) -> frozenset[str]:
    """Return the sentences that the teacher reads and should not say, as plain words."""
    wanted_plain = [f" {_plain(w)} " for w in wanted]
    told = {
        _plain(sentence)
        for text in (*texts, brief or "")
        for sentence in sentences(_QUOTED.sub(" ", text))
    }
    return frozenset(
        s for s in told if len(s.split()) > 1 and not any(f" {s} " in w for w in wanted_plain)
    )


def _plain(text: str) -> str:
    return " ".join(words(fold_text(text)))
