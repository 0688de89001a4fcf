"""The table of filters: their order, names and meanings."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from data_synth.filters.clipped import is_clipped
from data_synth.filters.config import Draw, QualityConfig
from data_synth.filters.instruction_talk import mentions_instruction
from gatt.verifiers.text.degenerate import degenerate
from gatt.verifiers.text.repetition import repeated_share

FILTERS_VERSION = 3
"""Raised by one with every change that can change which replies are refused."""

NO_ROOM = "context_limit"
"""Reason if the teacher's context has no room for prompt and reply."""
_WORD = re.compile(r"\w+")
_SAYS_AI = re.compile(
    r"\bas an? (?:ai|a\.i\.|artificial|(?:large )?language model|virtual assistant|digital assistant)\b"
    r"|\bi(?: am|['’]m) (?:just |only )?an? (?:[\w-]+ ){0,2}(?:ai|artificial intelligence|language model)\b"
    r"|\ben tant qu(?:e |['’])(?:ia|intelligence artificielle|modèle)\b|\bals (?:ki|sprachmodell)\b"
    r"|\bcomo (?:un |una |um |uma )?(?:ia|modelo de l|inteligencia artificial|inteligência artificial)"
    r"|\bcome (?:un |una )?(?:ia|modello|intelligenza artificiale)\b",
    re.IGNORECASE,
)


def repeats_prompt(draw: Draw) -> bool:
    """Whether the reply is the question or an earlier message, apart from case and punctuation."""
    reply = _plain(draw.text)
    # Much longer messages cannot be equal: skipping them saves the split into words.
    longest = 2 * len(draw.text) + 8
    return any(_plain(message) == reply for message in draw.told if len(message) <= longest)


@lru_cache(maxsize=8192)
def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def says_ai(draw: Draw) -> bool:
    """Whether the speaker calls itself an AI. In a plain dialogue it may."""
    return draw.instruction is not None and bool(_SAYS_AI.search(draw.text))


def _is_repetitive(draw: Draw, quality: QualityConfig) -> bool:
    most = quality.repeated_share
    return most is not None and repeated_share(draw.text) >= most


FILTERS: Final[dict[str, Callable[[Draw, QualityConfig], bool]]] = {
    "cut": lambda draw, _: draw.finish == "length",
    NO_ROOM: lambda draw, _: draw.finish == NO_ROOM,
    "content_filter": lambda draw, _: draw.finish == "content_filter",
    "unanswered": lambda draw, _: draw.finish == "unanswered",
    "blank": lambda draw, _: not draw.text,
    "degenerate": lambda draw, quality: quality.degenerate and bool(degenerate(draw.text)),
    "repetitive": _is_repetitive,
    "mentions_instruction": lambda draw, quality: (
        quality.mentions_instruction and mentions_instruction(draw)
    ),
    "says_ai": lambda draw, quality: quality.says_ai and says_ai(draw),
    "repeats_prompt": lambda draw, quality: quality.repeats_prompt and repeats_prompt(draw),
    "clipped": lambda draw, quality: quality.clipped and is_clipped(draw),
}
"""Each reason to refuse a draw that depends on the draw alone, in the order in which they are tried."""

REASONS: Final = {
    "cut": "the length limit cut the reply",
    NO_ROOM: "the end of the teacher's context cut the reply, or left no room for one",
    "content_filter": "the server's content filter withheld the reply",
    "unanswered": "the server had no reply, try after try",
    "blank": "the reply is empty",
    "degenerate": "loops, repeats or holds no words",
    "repetitive": "says the same phrases again",
    "mentions_instruction": "talks about the instruction instead of following it",
    "says_ai": "calls itself an AI or a language model",
    "repeats_prompt": "gives the user's message or the history back",
    "clipped": "stops in mid-sentence, though not at the length limit",
    "rejected": "a verifier rejected it",
    "undecided": "a verifier could not tell",
    "leaks": "still follows the instruction that was replaced or taken back",
    "repeats_target": "nearly the same as another target of its sample",
}
"""Meaning of each reason, for the data set card; the last four depend on more than one draw."""


def refuse(draw: Draw, quality: QualityConfig) -> str | None:
    """Return the reason of the first filter that refuses a draw, or None if it may be a target."""
    return next((reason for reason, refuses in FILTERS.items() if refuses(draw, quality)), None)
