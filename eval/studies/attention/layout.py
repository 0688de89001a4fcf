"""Which tokens of a dialogue are the instruction's, and which were generated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from eval.records.samples import Sample
from gatt.data.dialogue import Dialogue
from gatt.data.views import Placement, prompt_of_turn, training_view
from gatt.errors import DataError, ModelError, TemplateError
from gatt.models.chat_template import Tokenizer, render, shared_length
from gatt.models.encoded_view import EncodedView, encode_reply, encode_view, num_closing_tokens

Part = Literal["setup", "instruction", "user", "reply"]
BIN_TOKENS: Final = 8
"""Neighbouring tokens that share a bin; more in long dialogues."""
MOST_BINS: Final = 96
"""Bins of one dialogue, or one a message where it has more messages."""


@dataclass(frozen=True, slots=True)
class Target:
    """The tokens of a generated reply, behind the first `fork` tokens of the dialogue."""

    turn: int
    fork: int
    input_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bin:
    """Neighbouring tokens `[start, end)` of one message."""

    start: int
    end: int
    part: Part
    """`setup`: what the template and a system message of the dialogue's own put in front."""
    turn: int
    """Of the message; 0 for setup and instruction."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A dialogue as a model reads it (the trunk), and the replies that were generated within it."""

    trunk: tuple[int, ...]
    instruction: tuple[int, int]
    """`[start, end)` of the instruction's tokens."""
    last_prompt: int
    """First token of the last target's user message, with what the template puts before it."""
    targets: tuple[Target, ...]
    bins: tuple[Bin, ...]
    num_left_out: int = 0
    """Replies behind the end of the model's context."""


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

    Args:
        tokenizer: with a chat template.
        dialogue: the history without the instruction, up to the user message of the last reply at
            least.
        instruction: given once.
        replies: at rising turns, at least one; blank ones are skipped.
        placement: where the instruction stands.
        max_tokens: of the model's context.

    Raises:
        DataError: no reply that fits; or text that does not keep prefixes, see `encode_view`.
        ModelError: a tokenizer that does not say where its tokens stand.
        TemplateError: a template that changes the instruction's text.
    """
    view = training_view(dialogue, instruction, placement)
    last = max(sample.turn for sample in replies)
    encoded = encode_view(tokenizer, Dialogue(view.id, prompt_of_turn(view, last)))
    fitting, num_left_out = [], 0
    for sample in (s for s in replies if s.reply.strip()):
        fork = encoded.prompt_lengths[sample.turn - 1]
        ids = encode_reply(tokenizer, view, sample.turn, encoded.input_ids[:fork], sample.reply)
        # The end-of-turn tokens are the model's own only where it ended the reply itself.
        cut = 0 if sample.finish == "stop" else num_closing_tokens(tokenizer, ids)
        if max_tokens is None or fork + len(ids) - cut <= max_tokens:
            fitting.append(Target(sample.turn, fork, ids[: len(ids) - cut]))
        else:
            num_left_out += 1
    if not fitting:
        raise DataError(f"{dialogue.id}: no reply with text within the model's context")
    final = fitting[-1]
    span = instruction_span(tokenizer, dialogue, instruction, placement)
    return Layout(
        trunk=encoded.input_ids[: final.fork],
        instruction=span,
        last_prompt=encoded.reply_spans[final.turn - 2][1] if final.turn > 1 else 0,
        targets=tuple(fitting),
        bins=_bins(encoded, span, final.turn),
        num_left_out=num_left_out,
    )


def instruction_span(
    tokenizer: Tokenizer, dialogue: Dialogue, instruction: str, placement: Placement
) -> tuple[int, int]:
    """Return `[start, end)` of the tokens of turn 1's prompt that hold the instruction's text.

    The place comes from the template: rendered with another instruction, the prompt
    differs there and nowhere else.

    Raises:
        ModelError, TemplateError: see `lay_out`.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(
            f"{getattr(tokenizer, 'name_or_path', '') or type(tokenizer).__name__}: its tokenizer does "
            "not say where in the text a token stands: expected a fast one (tokenizer.json)"
        )
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
    places = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)[
        "offset_mapping"
    ]
    held = [i for i, (first, last) in enumerate(places) if first < end and last > start]
    return held[0], held[-1] + 1


def _bins(encoded: EncodedView, instruction: tuple[int, int], last_turn: int) -> tuple[Bin, ...]:
    """Return the bins of all tokens up to the prompt of a turn; none crosses a message's end."""
    prompts, spans = encoded.prompt_lengths, encoded.reply_spans
    start, end = instruction
    parts: list[tuple[int, int, Part, int]] = [
        (0, start, "setup", 0),
        (start, end, "instruction", 0),
        (end, prompts[0], "user", 1),
    ]
    for turn in range(2, last_turn + 1):
        reply_end = spans[turn - 2][1]
        parts.append((prompts[turn - 2], reply_end, "reply", turn - 1))
        parts.append((reply_end, prompts[turn - 1], "user", turn))
    width = max(BIN_TOKENS, -(-prompts[last_turn - 1] // MOST_BINS))
    return tuple(
        Bin(at, min(at + width, stop), part, turn)
        for first, stop, part, turn in parts
        for at in range(first, stop, width)
    )
