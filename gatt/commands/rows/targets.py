"""The targets of samples, each with the messages that it answers and its token ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gatt.data.dialogue import Message
from gatt.data.sample import GattSample
from gatt.data.views import prompt_of_turn
from gatt.errors import DataError, TemplateError
from gatt.models.chat_template import Tokenizer
from gatt.models.template_facts import usable_placement
from gatt.train.config import TrainConfig
from gatt.train.data.drop_counts import Dropped, reason_of
from gatt.train.data.encoded_samples import (
    DrawnSample,
    draw_sample,
    encode_sample,
    learnable_facts,
)
from gatt.train.data.labels import BuiltSample, view_of_turns


@dataclass(frozen=True)
class Target:
    """One reply to learn."""

    sample: GattSample
    turn: int
    """Of the dialogue, from 1."""
    messages: tuple[Message, ...]
    """What the model reads, the user's message last."""
    reply: str
    prompt_ids: tuple[int, ...]
    ids: tuple[int, ...]
    """Of the reply, with what closes its turn: the tokens that carry loss."""
    history: tuple[int | None, ...]
    """For each message, the turn whose target it is; None for any other."""

    @property
    def where(self) -> str:
        """Begins a message about it."""
        return f"sample {self.sample.id!r}, turn {self.turn}"


def targets_of(
    samples: Iterable[GattSample], tokenizer: Tokenizer, config: TrainConfig, dropped: Dropped
) -> Iterator[list[Target]]:
    """Yield the targets that training would learn, those of one sample together, ascending.

    Args:
        samples: of `gatt.train.data.samples.read_all_samples`.
        tokenizer: with a chat template.
        config: of the run; its placement, history and length policy hold.
        dropped: counts the targets and samples that training leaves out as well, and those that are
            learned by the KL divergence.

    Raises:
        TemplateError: no chat template, or one under which no reply can be learned as it stands.
    """
    facts = learnable_facts(tokenizer)
    usable = usable_placement(config.placement, facts)
    for whole in samples:
        drawn = draw_sample(whole, config, facts, usable)
        sample = drawn.sample
        if drawn.by_kl:
            told = f"sample {sample.id!r}: plain_loss 'kl', which only `gatt train` has"
            dropped.add(*reason_of(told, sample))
            continue
        try:
            built = encode_sample(drawn, tokenizer, config, facts)
        except (DataError, TemplateError) as error:
            dropped.add(*reason_of(str(error), sample))
            continue
        for told in built.dropped_targets:
            dropped.add(*reason_of(told, sample))
        yield sorted(_targets(drawn, built), key=lambda target: target.turn)


def _targets(drawn: DrawnSample, built: BuiltSample) -> Iterator[Target]:
    sample = drawn.as_learned
    replies = [target.reply or "" for target in sample.targets]
    for part in built.parts:
        for turn, branch in zip(part.targets, part.comb.branches, strict=True):
            turns = part.turns[: part.turns.index(turn) + 1]
            messages = prompt_of_turn(view_of_turns(sample, turns, drawn.placement), len(turns))
            answered = iter(turns)
            history = []
            for message in messages:
                number = next(answered) if message.role == "assistant" else None
                is_target = number is not None and replies[number - 1] == message.content
                history.append(number if is_target else None)
            prompt = part.comb.trunk[: branch.fork]
            yield Target(
                drawn.sample, turn, messages, replies[turn - 1], prompt, branch.input_ids,
                tuple(history),
            )  # fmt: skip
