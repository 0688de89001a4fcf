"""The targets of samples, each with the messages that it answers and its token ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gatt.data.dialogue import Message
from gatt.data.sample import GattSample
from gatt.data.views import prompt_of_turn
from gatt.errors import ConfigError, DataError, TemplateError
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


def refuse_controls(config: TrainConfig) -> None:
    """Refuse settings of this project's own controls, which no other trainer has.

    Raises:
        ConfigError: `supervise` is another than `last_turn`.
    """
    if config.supervise != "last_turn":
        raise ConfigError(
            f"supervise is {config.supervise!r}: expected 'last_turn': the controls are for `gatt train`"
        )


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
    for part in built.parts:
        for turn, branch in zip(part.targets, part.comb.branches, strict=True):
            turns = part.turns[: part.turns.index(turn) + 1]
            view = view_of_turns(sample, turns, drawn.placement)
            messages = prompt_of_turn(view, len(turns))
            answered = iter(turns)
            history = tuple(
                _target_said(sample, next(answered), m) if m.role == "assistant" else None
                for m in messages
            )
            reply = sample.targets[turn - 1].reply or ""
            prompt = part.comb.trunk[: branch.fork]
            yield Target(drawn.sample, turn, messages, reply, prompt, branch.input_ids, history)


def _target_said(sample: GattSample, turn: int, message: Message) -> int | None:
    return turn if sample.targets[turn - 1].reply == message.content else None
