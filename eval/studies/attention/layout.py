"""Which tokens of a dialogue are the instruction's, and which were generated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from eval.records.samples import Sample
from gatt.data.dialogue import Dialogue
from gatt.data.views import Placement, prompt_of_turn, training_view
from gatt.errors import DataError, TemplateError
from gatt.models.chat_template import Tokenizer, render, shared_length
from gatt.models.encoded_view import EncodedView, encode_reply, encode_view, num_closing_tokens

BIN_TOKENS: Final = 8
"""Neighbouring tokens that share a bin; more in long dialogues."""
MOST_BINS: Final = 96
"""Bins of one dialogue, or one a message where it has more messages."""


@dataclass(frozen=True, slots=True)
class ReplyTokens:
    """The tokens of a generated reply, behind the first `fork` tokens of the dialogue."""

    sample: Sample
    fork: int
    input_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bin:
    """Neighbouring tokens `[start, end)` of one message.

    `setup` is what the template and a system message of the dialogue's own put in front. The turn of
    setup and instruction is 0.
    """

    start: int
    end: int
    part: Literal["setup", "instruction", "user", "reply"]
    turn: int


@dataclass(frozen=True, slots=True)
class Layout:
    """A dialogue as a model reads it (the trunk), and the replies that were generated within it."""

    trunk: tuple[int, ...]
    instruction: tuple[int, int]
    """`[start, end)` of the instruction's tokens."""
    last_prompt: int
    """First token of the last target's user message, with what the template puts before it."""
    targets: tuple[ReplyTokens, ...]
    bins: tuple[Bin, ...]


def lay_out(
    tokenizer: Tokenizer,
    dialogue: Dialogue,
    instruction: str,
    replies: Sequence[Sample],
    *,
    placement: Placement = "system",
    max_tokens: int | None = None,
) -> Layout:
    """Return the layout of a dialogue with the instruction in turn 1.

    `replies` stand at rising turns; blank ones, and those behind `max_tokens`, are left out.

    Raises:
        DataError: no reply is left; or text that does not keep prefixes, see `encode_view`.
        TemplateError: a template that changes the instruction's text.
    """
    view = training_view(dialogue, instruction, placement)
    last = max((sample.turn for sample in replies), default=1)
    encoded = encode_view(tokenizer, Dialogue(view.id, prompt_of_turn(view, last)))
    targets = []
    for sample in (s for s in replies if s.reply.strip()):
        fork = encoded.prompt_lengths[sample.turn - 1]
        ids = encode_reply(tokenizer, view, sample.turn, encoded.input_ids[:fork], sample.reply)
        if sample.finish != "stop":
            # The end-of-turn tokens are the model's own only where it ended the reply itself.
            ids = ids[: len(ids) - num_closing_tokens(tokenizer, ids)]
        if max_tokens is None or fork + len(ids) <= max_tokens:
            targets.append(ReplyTokens(sample, fork, ids))
    if not targets:
        raise DataError(f"{dialogue.id}: no reply with text within the model's context")
    final = targets[-1]
    turn = final.sample.turn
    span = instruction_span(tokenizer, dialogue, instruction, placement)
    return Layout(
        trunk=encoded.input_ids[: final.fork],
        instruction=span,
        last_prompt=encoded.reply_spans[turn - 2][1] if turn > 1 else 0,
        targets=tuple(targets),
        bins=_bins(encoded, span, turn),
    )


def instruction_span(
    tokenizer: Tokenizer, dialogue: Dialogue, instruction: str, placement: Placement
) -> tuple[int, int]:
    """Return `[start, end)` of the tokens of turn 1's prompt that hold the instruction's text.

    The place comes from the template: rendered with another instruction, the prompt
    differs there and nowhere else.
    """
    bare = instruction.strip()
    other = ("Q" if bare[0] != "Q" else "Z") + ("Q" if bare[-1] != "Q" else "Z")
    text, changed = (
        render(tokenizer, prompt_of_turn(training_view(dialogue, told, placement), 1), True)
        for told in (instruction, other)
    )
    start = shared_length(text, changed)
    end = len(text) - shared_length(text[start:][::-1], changed[start:][::-1])
    if text[start:end].strip() != bare:
        raise TemplateError(
            "the chat template changes the text of the instruction or repeats it, so that its tokens "
            "cannot be told: expected it once, as it stands, or use placement: first_user"
        )
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    places = enumerate(encoded["offset_mapping"])
    held = [index for index, (first, last) in places if first < end and last > start]
    return held[0], held[-1] + 1


def _bins(encoded: EncodedView, instruction: tuple[int, int], last_turn: int) -> tuple[Bin, ...]:
    """Return the bins of all tokens up to the prompt of a turn; none crosses a message's end."""
    prompts = encoded.prompt_lengths
    start, end = instruction
    messages = [Bin(0, start, "setup", 0), Bin(start, end, "instruction", 0)]
    messages.append(Bin(end, prompts[0], "user", 1))
    for turn in range(1, last_turn):
        behind = encoded.reply_spans[turn - 1][1]
        messages.append(Bin(prompts[turn - 1], behind, "reply", turn))
        messages.append(Bin(behind, prompts[turn], "user", turn + 1))
    width = max(BIN_TOKENS, -(-prompts[last_turn - 1] // MOST_BINS))
    return tuple(
        Bin(at, min(at + width, message.end), message.part, message.turn)
        for message in messages
        for at in range(message.start, message.end, width)
    )
