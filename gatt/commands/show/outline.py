"""What each token of a rendered dialogue is: setup, user, reply or generation prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from gatt.data.dialogue import Dialogue, Message
from gatt.data.sample import GattSample
from gatt.data.views import TrainingPlacement, prompt_of_turn, training_view
from gatt.errors import DataError
from gatt.models.chat_template import Tokenizer, encode, shared_length
from gatt.models.encoded_view import encode_prompt, encode_view
from gatt.train.data.labels import keep_turns, view_of_turns

Part = Literal["setup", "user", "reply", "prompt", "target"]


@dataclass(frozen=True)
class Outline:
    """The prompt of a view's last turn."""

    input_ids: tuple[int, ...]
    parts: tuple[Part, ...]
    """One a token; none is `target`."""
    turn_of_fork: Mapping[int, int]
    """Turns of the whole dialogue, by the length of their prompts, ascending."""


def shared_outline(
    tokenizer: Tokenizer, sample: GattSample, turns: tuple[int, ...], placement: TrainingPlacement
) -> Outline:
    """Return the outline of a trunk that turns share, those whose prompts begin the last one's."""
    view = view_of_turns(sample, turns, placement)
    try:
        encoded = encode_view(tokenizer, view)
    except DataError:
        # Some reply of the history merges with its prompt, which then begins no other.
        whole = single_outline(tokenizer, sample, turns, placement)
        prompts = (encode_prompt(tokenizer, view, i).ids for i in range(1, len(turns) + 1))
        found = zip(prompts, turns, strict=True)
        shared = {len(p): turn for p, turn in found if whole.input_ids[: len(p)] == p}
        return replace(whole, turn_of_fork=shared)
    parts: list[Part] = ["user"] * len(encoded.input_ids)
    setup = _num_setup_tokens(tokenizer, sample, turns, placement)
    parts[:setup] = ["setup"] * setup
    for start, end in encoded.reply_spans:
        parts[start:end] = ["reply"] * (end - start)
    for index, length in enumerate(encoded.prompt_lengths, start=1):
        bare = encode(tokenizer, prompt_of_turn(view, index), add_generation_prompt=False)
        begin = shared_length(bare, encoded.input_ids[:length])
        parts[begin:length] = ["prompt"] * (length - begin)
    forks = dict(zip(encoded.prompt_lengths, turns, strict=True))
    return Outline(encoded.input_ids, tuple(parts), forks)


def single_outline(
    tokenizer: Tokenizer, sample: GattSample, turns: tuple[int, ...], placement: TrainingPlacement
) -> Outline:
    """Return the outline of the prompt of the last of the given turns, rendered on its own.

    For templates that rewrite earlier turns, where `shared_outline` has no spans:
    a reply is what changes with its text.
    """
    view = view_of_turns(sample, turns, placement)
    messages = prompt_of_turn(view, len(turns))
    ids = encode(tokenizer, messages, add_generation_prompt=True)
    parts: list[Part] = ["user"] * len(ids)
    setup = _num_setup_tokens(tokenizer, sample, turns, placement)
    parts[:setup] = ["setup"] * setup
    for index, message in enumerate(messages):
        if message.role == "assistant":
            others = [
                encode(
                    tokenizer,
                    (*messages[:index], replace(message, content=word), *messages[index + 1 :]),
                    add_generation_prompt=True,
                )
                for word in ("a", "b")
            ]
            start = min(shared_length(ids, other) for other in others)
            end = len(ids) - min(shared_length(ids[::-1], other[::-1]) for other in others)
            parts[start:end] = ["reply"] * (end - start)
    begin = shared_length(encode(tokenizer, messages, add_generation_prompt=False), ids)
    parts[begin:] = ["prompt"] * (len(ids) - begin)
    return Outline(ids, tuple(parts), {len(ids): turns[-1]})


def _num_setup_tokens(
    tokenizer: Tokenizer, sample: GattSample, turns: tuple[int, ...], placement: TrainingPlacement
) -> int:
    """Return how many tokens stand before the user's first own word.

    Found as what two dialogues share that differ in that word, so that a default
    system message of the template counts too.
    """
    dialogue = keep_turns(sample.dialogue, turns)
    first = int(dialogue.has_system)
    prompts = []
    for word in ("a", "b"):
        messages = (*dialogue.messages[:first], Message("user", word))
        view = training_view(Dialogue(dialogue.id, messages), _instruction(sample), placement)
        prompts.append(encode(tokenizer, view.messages, add_generation_prompt=True))
    view = training_view(dialogue, _instruction(sample), placement)
    prompts.append(encode(tokenizer, prompt_of_turn(view, 1), add_generation_prompt=True))
    return min(shared_length(prompts[0], other) for other in prompts[1:])


def _instruction(sample: GattSample) -> str | None:
    return sample.instruction.text if sample.instruction else None
