"""Which tokens carry loss, and the one builder of token ids and labels.

Source: Llama 2, arXiv:2307.09288, section 3.3: the loss is 0 on all tokens of
earlier turns, "including assistant messages", since those were not written
under the instruction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from gatt.chat_template import (
    Tokenizer,
    encode,
    encode_reply,
    encode_view,
    refuse_control_tokens,
)
from gatt.comb import IGNORE, Branch, Comb
from gatt.dialogue import Dialogue
from gatt.errors import DataError, TemplateError
from gatt.sample import GattSample
from gatt.schedule import on_turns
from gatt.views import TrainingPlacement, prompt_of_turn, training_view

Supervise = Literal["last_turn", "all_turns", "context_only"]
SUPERVISE: tuple[str, ...] = get_args(Supervise)


@dataclass(frozen=True)
class BuiltComb:
    """Turns of a sample that share a trunk."""

    comb: Comb
    turns: tuple[int, ...]
    """Turns of the dialogue in the trunk, from 1, ascending."""
    targets: tuple[int, ...]
    """Turns whose targets are the branches, in order."""


@dataclass(frozen=True)
class BuiltSample:
    """A sample as combs, and what was left out of it on the way."""

    parts: tuple[BuiltComb, ...]
    """One, unless the length policy gives its turns different histories."""
    num_exchanges_dropped: int
    """Exchanges that the length policy removed, over all targets."""
    dropped_targets: tuple[str, ...]
    """One reason per target that could not be encoded or does not fit, or own reply to learn behind
    the last prompt of its comb."""

    @property
    def targets(self) -> tuple[int, ...]:
        """Turns whose targets could be encoded, part by part."""
        return tuple(turn for part in self.parts for turn in part.targets)

    @property
    def num_targets(self) -> int:
        """Targets that could be encoded."""
        return len(self.targets)


def build_combs(
    tokenizer: Tokenizer,
    sample: GattSample,
    *,
    placement: TrainingPlacement = "system",
    supervise: Supervise = "last_turn",
    max_length: int | None = None,
) -> BuiltSample:
    """Return the combs of a sample: ids and labels from one pass, so they cannot drift.

    Every mode of supervision gives the same tokens; only labels differ:

    - `last_turn`: the sampled targets and their end-of-turn tokens (the paper);
    - `all_turns`: these and the dialogue's own replies up to the last turn with a
      target (the mismatch that the paper warns of, a control);
    - `context_only`: the dialogue's own replies alone (ordinary fine-tuning, a
      control).

    Args:
        tokenizer: with a chat template that keeps prefixes.
        sample: at least one turn.
        placement: where the instruction stands.
        supervise: which tokens carry loss.
        max_length: most tokens that one prompt and its target may take. A longer
            prompt loses whole oldest exchanges after the first, as few as will
            do; turn 1 with the instruction, turns that change it and its own turn
            stay. Turns that lose the same exchanges share a comb.

    Raises:
        TemplateError: no chat template, or it refuses the messages.
        DataError: a dialogue that breaks the prefix rule.
    """
    if supervise not in SUPERVISE:
        raise DataError(f"unknown supervise {supervise!r}: expected one of {', '.join(SUPERVISE)}")
    waiting = [t.turn for t in sample.targets if t.reply is not None]
    telling = telling_turns(sample)
    parts: list[BuiltComb] = []
    problems: list[str] = []
    labelled: set[int] = set()
    num_exchanges_dropped = 0
    for num_dropped, turns in enumerate(histories(sample, sample.dialogue.num_turns)):
        if num_dropped and not waiting:
            break
        view = view_of_turns(sample, turns, placement)
        encoded = encode_view(tokenizer, view, max_length)
        branches: dict[int, Branch] = {}
        for index, turn in enumerate(turns, start=1):
            if turn not in waiting:
                continue
            # The instruction and this turn alone: nothing is left to drop.
            is_bare = set(turns[: index - 1]) <= telling
            if index <= len(encoded.prompt_lengths):
                prompt = encoded.input_ids[: encoded.prompt_lengths[index - 1]]
            elif is_bare:
                prompt = encode(tokenizer, prompt_of_turn(view, index), add_generation_prompt=True)
            else:
                continue
            fork, reply = len(prompt), sample.targets[turn - 1].reply or ""
            if max_length is not None and fork > max_length and not is_bare:
                continue  # Without rendering the reply.
            try:
                ids = encode_reply(tokenizer, view, index, prompt, reply)
            except (DataError, TemplateError) as error:
                problems.append(str(error))
                waiting.remove(turn)
                continue
            if max_length is None or fork + len(ids) <= max_length:
                labels = (IGNORE,) * len(ids) if supervise == "context_only" else ids
                branches[turn] = Branch(fork, ids, labels)
                waiting.remove(turn)
            elif is_bare:
                problems.append(_too_long(sample, turn, fork + len(ids), max_length))
                waiting.remove(turn)
        if not branches and sample.num_targets:
            continue
        end = max((b.fork for b in branches.values()), default=len(encoded.input_ids))
        trunk_labels = [IGNORE] * end
        if supervise != "last_turn":
            for turn, (start, stop) in zip(turns, encoded.reply_spans, strict=False):
                if stop <= end and turn not in labelled:
                    trunk_labels[start:stop] = encoded.input_ids[start:stop]
                    labelled.add(turn)
        comb = Comb(encoded.input_ids[:end], tuple(trunk_labels), tuple(branches.values()))
        parts.append(BuiltComb(comb, turns, tuple(branches)))
        num_exchanges_dropped += num_dropped * len(branches)
    if supervise != "last_turn":
        last = max((turn for part in parts for turn in part.targets), default=0)
        problems += [
            _left_out(sample, turn, max_length) for turn in range(1, last) if turn not in labelled
        ]
    return BuiltSample(tuple(parts), num_exchanges_dropped, tuple(problems))


@dataclass(frozen=True)
class BuiltRows:
    """A sample as plain rows, one a supervised reply, and what was left out of it."""

    rows: tuple[Comb, ...]
    """Without branches; the loss is on the reply that ends the row."""
    targets: tuple[int, ...]
    """Turns whose targets could be encoded, in every mode of supervision as in `BuiltSample`."""
    num_exchanges_dropped: int
    """Exchanges that the length policy removed, over all rows."""
    dropped_targets: tuple[str, ...]
    """One reason per target, or own reply to learn, that could not be encoded or does not fit."""

    @property
    def num_targets(self) -> int:
        """Targets that could be encoded."""
        return len(self.targets)


def build_expanded(
    tokenizer: Tokenizer,
    sample: GattSample,
    *,
    placement: TrainingPlacement = "system",
    supervise: Supervise = "last_turn",
    max_length: int | None = None,
) -> BuiltRows:
    """Return one row per supervised reply, each prompt rendered on its own.

    For templates that rewrite earlier turns when a new one comes: there no two
    turns share a trunk, but each row is what the model will see at that turn.
    With a template that keeps prefixes the rows are those of
    `gatt.comb.expand`, but for the dialogue's own replies, which get a row each
    instead of one for all.

    Args and modes are those of `build_combs`, and so is the length policy.

    Raises:
        TemplateError: no chat template, or it refuses the messages.
        DataError: an unknown mode of supervision.
    """
    if supervise not in SUPERVISE:
        raise DataError(f"unknown supervise {supervise!r}: expected one of {', '.join(SUPERVISE)}")
    problems: list[str] = []

    def build(turn: int, reply: str) -> list[tuple[Comb, int]]:
        """Return the row of a reply with its dropped exchanges; none where it does not go."""
        try:
            return [_row(tokenizer, sample, turn, reply, placement, max_length)]
        except DataError as error:
            problems.append(str(error))
            return []

    # In every mode: they decide how far the dialogue's own replies are learned.
    targets = {
        target.turn: row
        for target in sample.targets
        if target.reply is not None
        for row in build(target.turn, target.reply)
    }
    last = max(targets, default=0)
    built: list[tuple[Comb, int]] = []
    for turn in range(1, last + 1):
        if turn in targets and supervise != "context_only":
            built.append(targets[turn])
        # As in the comb: the history of the last target ends before that turn's own reply.
        if turn < last and supervise != "last_turn":
            built += build(turn, sample.dialogue.replies[turn - 1])
    return BuiltRows(
        rows=tuple(row for row, _ in built),
        targets=tuple(targets),
        num_exchanges_dropped=sum(num_dropped for _, num_dropped in built),
        dropped_targets=tuple(problems),
    )


def _row(
    tokenizer: Tokenizer,
    sample: GattSample,
    turn: int,
    reply: str,
    placement: TrainingPlacement,
    max_length: int | None,
) -> tuple[Comb, int]:
    """Return the prompt of a turn and a reply as one row, and how many exchanges it lost."""
    for turns in histories(sample, turn):
        view = view_of_turns(sample, turns, placement)
        last = len(turns)
        for message in prompt_of_turn(view, last):
            refuse_control_tokens(tokenizer, message.content, f"dialogue {view.id!r}")
        prompt = encode(tokenizer, prompt_of_turn(view, last), add_generation_prompt=True)
        ids = encode_reply(tokenizer, view, last, prompt, reply)
        num_tokens = len(prompt) + len(ids)
        if max_length is None or num_tokens <= max_length:
            return Comb(prompt + ids, (IGNORE,) * len(prompt) + ids), turn - last
    raise DataError(_too_long(sample, turn, num_tokens, max_length or 0))


def telling_turns(sample: GattSample) -> set[int]:
    """Return the turns that say what is in force: the first, and those that change it."""
    return {1, *(s.turn for s in sample.switches or ())}


def histories(sample: GattSample, last: int) -> Iterator[tuple[int, ...]]:
    """Yield the turns that are left, ascending, as the oldest exchanges are dropped one by one.

    Args:
        sample: whose turns that say what is in force stay.
        last: the last turn, which stays as well.
    """
    kept = telling_turns(sample) | {last}
    free = [turn for turn in range(1, last + 1) if turn not in kept]
    for num_dropped in range(len(free) + 1):
        left = kept.union(free[num_dropped:])
        yield tuple(turn for turn in range(1, last + 1) if turn in left)


def _too_long(sample: GattSample, turn: int, num_tokens: int, max_length: int) -> str:
    *first, last = (f"turn {t}" for t in sorted(telling_turns(sample) | {turn}) if t <= turn)
    kept = f"{', '.join(first)} and {last}" if first else last
    return (
        f"sample {sample.id!r}: {num_tokens} tokens with {kept} alone, more than max_length "
        f"{max_length}: raise it or shorten the messages"
    )


def _left_out(sample: GattSample, turn: int, max_length: int | None) -> str:
    return (
        f"sample {sample.id!r}: an own reply behind the last prompt that max_length {max_length} leaves "
        f"room for, at turn {turn}: raise it, or use layout 'expanded'"
    )


def view_of_turns(
    sample: GattSample, turns: Sequence[int], placement: TrainingPlacement
) -> Dialogue:
    """Return the training view of the given turns of a sample (from 1, ascending)."""
    instruction = sample.instruction.text if sample.instruction else None
    switches = on_turns(sample.switches or (), turns)
    return training_view(keep_turns(sample.dialogue, turns), instruction, placement, switches)


def keep_turns(dialogue: Dialogue, turns: Sequence[int]) -> Dialogue:
    """Return the dialogue with only the given turns (from 1, ascending)."""
    first = int(dialogue.has_system)
    messages = list(dialogue.messages[:first])
    for turn in turns:
        messages += dialogue.messages[first + 2 * turn - 2 : first + 2 * turn]
    return Dialogue(dialogue.id, tuple(messages))
