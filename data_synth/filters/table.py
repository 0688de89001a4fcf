"""The table of filters: their order, names and meanings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from data_synth.filters.clipped import is_clipped
from data_synth.filters.config import QualityConfig
from data_synth.filters.draw import Draw
from data_synth.filters.instruction_talk import mentions_instruction
from data_synth.filters.prompt_echo import repeats_prompt
from gatt.verifiers.text.degenerate import degenerate
from gatt.verifiers.text.repetition import repeated_share

FILTERS_VERSION = 2
"""Raised by one with every change that can change which replies are refused."""

NO_ROOM = "context_limit"
"""Reason if the teacher's context has no room for prompt and reply."""


@dataclass(frozen=True, slots=True)
class Filter:
    """One reason to refuse a draw, which depends on the draw alone."""

    reason: str
    meaning: str
    """For the data set card."""
    refuses: Callable[[Draw, QualityConfig], bool]


FILTERS: tuple[Filter, ...] = (
    Filter("cut", "the length limit cut the reply", lambda draw, _: draw.finish == "length"),
    Filter(
        NO_ROOM,
        "the end of the teacher's context cut the reply, or left no room for one",
        lambda draw, _: draw.finish == "context_limit",
    ),
    Filter(
        "content_filter",
        "the server's content filter withheld the reply",
        lambda draw, _: draw.finish == "content_filter",
    ),
    Filter(
        "unanswered",
        "the server had no reply, try after try",
        lambda draw, _: draw.finish == "unanswered",
    ),
    Filter("blank", "the reply is empty", lambda draw, _: not draw.text),
    Filter(
        "degenerate",
        "loops, repeats or holds no words",
        lambda draw, quality: quality.degenerate and bool(degenerate(draw.text)),
    ),
    Filter(
        "repetitive",
        "says the same phrases again",
        lambda draw, quality: (
            quality.repeated_share is not None
            and repeated_share(draw.text) >= quality.repeated_share
        ),
    ),
    Filter(
        "mentions_instruction",
        "talks about the instruction instead of following it",
        lambda draw, quality: quality.mentions_instruction and mentions_instruction(draw),
    ),
    Filter(
        "repeats_prompt",
        "gives the user's message or the history back",
        lambda draw, quality: quality.repeats_prompt and repeats_prompt(draw),
    ),
    Filter(
        "clipped",
        "stops in mid-sentence, though not at the length limit",
        lambda draw, quality: quality.clipped and is_clipped(draw),
    ),
)
"""A new filter needs one file, one entry here, one setting and one test."""

REASONS: dict[str, str] = {
    **{f.reason: f.meaning for f in FILTERS},
    "off_topic": "ignores the question: like neither the user's message nor the plain reply",
    "rejected": "a verifier rejected it",
    "undecided": "a verifier could not tell",
    "leaks": "still follows the instruction that was replaced or taken back",
    "repeats_target": "nearly the same as another target of its sample",
}
"""Meaning of each reason, for the data set card; the last five depend on more than one draw."""


def refuse(draw: Draw, quality: QualityConfig) -> str | None:
    """Return the reason of the first filter that refuses a draw, or None if it may be a target."""
    return next((f.reason for f in FILTERS if f.refuses(draw, quality)), None)
