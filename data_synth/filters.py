"""What disqualifies a sampled reply, whatever its instruction. Each filter has its own reason."""

from __future__ import annotations

import re

from gatt.generation.base import Generation
from gatt.instruction import Instruction
from gatt.verifiers.degenerate import degenerate

REASONS = {
    "cut": "the length limit cut the reply",
    "blank": "the reply is empty",
    "degenerate": "loops, repeats or holds no words",
    "mentions_instruction": "talks about the instruction instead of following it",
    "repeats_prompt": "gives the user's message or the history back",
    "rejected": "a verifier rejected it",
    "undecided": "a verifier could not tell",
}
"""Reason -> what it means, for the data set card."""

_ABOUT_INSTRUCTION = re.compile(
    r"\b(as (you )?(asked|requested|instructed)|you (asked|told|instructed) me to|my instructions?"
    r"|the instructions?|i (was|am) (told|asked|instructed) to|i('ll| will) (act|speak|answer|reply) (as|in)"
    r"|one short sentence)\b",
    re.IGNORECASE,
)


def refuse(generation: Generation, instruction: Instruction | None, told: list[str]) -> str | None:
    """Return why a reply cannot be a target, or None if it can.

    Args:
        generation: the reply as sampled.
        instruction: the one it was sampled under, if any.
        told: messages that the reply must not simply give back.
    """
    if generation.finish != "stop":
        return "cut"
    text = generation.text.strip()
    if not text:
        return "blank"
    if degenerate(text):
        return "degenerate"
    if instruction is not None and _ABOUT_INSTRUCTION.search(text):
        return "mentions_instruction"
    if _plain(text) in {_plain(message) for message in told}:
        return "repeats_prompt"
    return None


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
