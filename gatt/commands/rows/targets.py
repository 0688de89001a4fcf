"""The targets of samples, each with the messages that it answers and its token ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gatt.comb.comb import IGNORE
from gatt.data.dialogue import Message
from gatt.data.sample import GattSample, with_sampled_history
from gatt.data.views import TrainingPlacement, prompt_of_turn
from gatt.errors import DataError, TemplateError
from gatt.models.chat_template import Tokenizer
from gatt.models.encoded_view import encode_prompt
from gatt.models.template_facts import usable_placement
from gatt.train.config import TrainConfig
from gatt.train.data.drop_counts import Dropped, reason_of
from gatt.train.data.encoded_samples import (
    EncodedSample,
    cut,
    encode_sample,
    is_by_kl,
    learnable_facts,
    placement_of,
    with_usable_switches,
)
from gatt.train.data.labels import Built, BuiltRows, BuiltSample, histories, view_of_turns


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
    facts = learnable_facts(tokenizer, config)
    usable = usable_placement(config.placement, facts)
    for whole in samples:
        placement = placement_of(usable, config.seed, whole.id)
        sample = with_usable_switches(cut(whole, config), facts, placement)
        if is_by_kl(sample, config):
            told = f"sample {sample.id!r}: plain_loss 'kl', which only `gatt train` has"
            dropped.add(*reason_of(told, sample))
            continue
        try:
            one = encode_sample(sample, tokenizer, config, facts, placement)
        except (DataError, TemplateError) as error:
            dropped.add(*reason_of(str(error), sample))
            continue
        for told in one.built.dropped_targets:
            dropped.add(*reason_of(told, sample))
        yield sorted(_targets(tokenizer, one, placement), key=lambda target: target.turn)


def _targets(
    tokenizer: Tokenizer, one: EncodedSample, placement: TrainingPlacement
) -> Iterator[Target]:
    sample = with_sampled_history(one.sample) if one.has_sampled_history else one.sample
    replies = [target.reply or "" for target in sample.targets]
    for turn, turns, prompt, ids in _encoded(tokenizer, sample, one.built, placement):
        messages = prompt_of_turn(view_of_turns(sample, turns, placement), len(turns))
        answered = iter(turns)
        history = []
        for message in messages:
            number = next(answered) if message.role == "assistant" else None
            is_target = number is not None and replies[number - 1] == message.content
            history.append(number if is_target else None)
        yield Target(one.sample, turn, messages, replies[turn - 1], prompt, ids, tuple(history))


def _encoded(
    tokenizer: Tokenizer, sample: GattSample, built: Built, placement: TrainingPlacement
) -> Iterator[tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """Yield the turn of each target, the turns up to it that stand in its prompt, and its token ids."""
    if isinstance(built, BuiltSample):
        for part in built.parts:
            for turn, branch in zip(part.targets, part.comb.branches, strict=True):
                turns = part.turns[: part.turns.index(turn) + 1]
                yield turn, turns, part.comb.trunk[: branch.fork], branch.input_ids
    elif isinstance(built, BuiltRows):
        for turn, row in zip(built.targets, built.rows, strict=True):
            start = row.trunk_labels.count(IGNORE)
            prompt, ids = row.trunk[:start], row.trunk[start:]
            for turns in histories(sample, turn):
                # The length policy may have removed exchanges.
                view = view_of_turns(sample, turns, placement)
                if encode_prompt(tokenizer, view, len(turns)).ids == prompt:
                    yield turn, turns, prompt, ids
                    break
