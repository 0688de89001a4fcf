"""Which tokens carry loss, and the one builder of token ids and labels.

Source: Llama 2, arXiv:2307.09288, section 3.3: the loss is 0 on all tokens of
earlier turns, "including assistant messages", since those were not written
under the instruction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from gatt.comb.comb import IGNORE, Branch, Comb
from gatt.data.dialogue import Dialogue
from gatt.data.sample import GattSample
from gatt.data.switches import on_turns
from gatt.data.views import TrainingPlacement, training_view
from gatt.errors import DataError, TemplateError
from gatt.models.chat_template import Tokenizer
from gatt.models.encoded_view import Prompt, encode_prompt, encode_reply, first_refused
from gatt.train.data.own_replies import OwnReplies

Supervise = Literal["last_turn", "all_turns", "context_only"]
SUPERVISE: tuple[str, ...] = get_args(Supervise)
_Fork = tuple[Prompt, tuple[int, ...]]
"""Prompt and target of a turn."""


@dataclass(frozen=True)
class BuiltComb:
    """Turns of a sample that share a trunk."""

    comb: Comb
    turns: tuple[int, ...]
    """Turns of the dialogue in the trunk, from 1, ascending, up to that of the last branch."""
    targets: tuple[int, ...]
    """Turns whose targets are the branches, in order."""


@dataclass(frozen=True, kw_only=True)
class Built:
    """What became of a sample's targets."""

    targets: tuple[int, ...]
    """Turns whose targets could be encoded, the same in every mode of supervision."""
    num_exchanges_dropped: int
    """Exchanges that the length policy removed, over all targets or rows."""
    dropped_targets: tuple[str, ...]
    """One reason per target, or own reply to learn, that could not be encoded, does not fit, or stands
    behind the last prompt of its comb."""

    @property
    def num_targets(self) -> int:
        """Targets that could be encoded."""
        return len(self.targets)


@dataclass(frozen=True, kw_only=True)
class BuiltSample(Built):
    """A sample as combs."""

    parts: tuple[BuiltComb, ...]
    """One, unless the length policy gives its turns different histories, or a prompt does not begin the
    later ones. Part by part they hold the targets."""


@dataclass(frozen=True, kw_only=True)
class BuiltRows(Built):
    """A sample as plain rows, one a supervised reply."""

    rows: tuple[Comb, ...]
    """Without branches; the loss is on the reply that ends the row."""


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

    - `last_turn`: the sampled targets with what closes their turns (the paper);
    - `all_turns`: these and the dialogue's own replies up to the last turn with a
      target (the mismatch that the paper warns of, a control);
    - `context_only`: the dialogue's own replies alone (ordinary fine-tuning, a
      control).

    Args:
        tokenizer: with a chat template that keeps prefixes.
        sample: at least one turn; without a target it has no comb.
        placement: where the instruction stands.
        supervise: which tokens carry loss.
        max_length: most tokens that one prompt and its target may take. A longer
            prompt loses whole oldest exchanges after the first, as few as will
            do; turn 1 with the instruction, turns that change it and its own turn
            stay. Turns that lose the same exchanges share a comb.

    A target whose prompt is not the beginning of the later ones (a reply that
    begins with a line break may merge with it) gets a comb of its own; one that
    cannot be encoded, or stands behind a message that holds a control token, is
    dropped with its reason, and the others stay.
    """
    work = _Work(tokenizer, sample, placement, supervise, max_length)
    parts: list[BuiltComb] = []
    num_exchanges_dropped = 0
    for num_dropped, turns in enumerate(histories(sample, sample.dialogue.num_turns)):
        if not work.waiting:
            break
        view = view_of_turns(sample, turns, placement)
        found = work.parts(view, turns)
        parts += found
        num_exchanges_dropped += num_dropped * sum(len(part.targets) for part in found)
    if work.own:
        last = max((turn for part in parts for turn in part.targets), default=0)
        work.problems += work.own.left_out(last, max_length)
    return BuiltSample(
        parts=tuple(parts),
        targets=tuple(turn for part in parts for turn in part.targets),
        num_exchanges_dropped=num_exchanges_dropped,
        dropped_targets=tuple(work.problems),
    )


class _Work:
    """Turns of a sample that wait for a comb, and why others will have none."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        sample: GattSample,
        placement: TrainingPlacement,
        supervise: Supervise,
        max_length: int | None,
    ) -> None:
        self._tokenizer = tokenizer
        self._sample = sample
        self._max_length = max_length
        self._target_has_loss = supervise != "context_only"
        self.problems: list[str] = []
        self.waiting = _usable_targets(tokenizer, sample, placement, self.problems)
        self.own = None if supervise == "last_turn" else OwnReplies(tokenizer, sample)

    def parts(self, view: Dialogue, turns: tuple[int, ...]) -> list[BuiltComb]:
        """Return the combs of the waiting turns that fit with this history."""
        forks = self._forks(view, turns)
        known = {turn: prompt for turn, (prompt, _) in forks.items()}
        parts = []
        for trunk, together in _trunks(known):
            shown = turns[: turns.index(together[-1]) + 1]
            labels = (IGNORE,) * len(trunk.ids)
            if self.own:
                labels = self.own.labels(view, shown, trunk, known)
            branches = []
            for prompt, ids in (forks[turn] for turn in together):
                target = ids if self._target_has_loss else (IGNORE,) * len(ids)
                branches.append(Branch(len(prompt.ids), ids, target))
            comb = Comb(trunk.ids, labels, tuple(branches))
            parts.append(BuiltComb(comb, shown, together))
        return parts

    def _forks(self, view: Dialogue, turns: tuple[int, ...]) -> dict[int, _Fork]:
        """Return prompt and target of each waiting turn that fits; neither waits any longer."""
        telling = telling_turns(self._sample)
        most = self._max_length
        forks: dict[int, _Fork] = {}
        is_full = False
        for index, turn in enumerate(turns, start=1):
            # The instruction and this turn alone: nothing is left to drop.
            is_bare = set(turns[: index - 1]) <= telling
            if turn not in self.waiting or (is_full and not is_bare):
                continue
            reply = self._sample.targets[turn - 1].reply or ""
            try:
                prompt = encode_prompt(self._tokenizer, view, index)
                # Prompts grow from turn to turn; no reply is rendered for one that is too long.
                is_full = most is not None and len(prompt.ids) > most
                if is_full and not is_bare:
                    continue
                ids = encode_reply(self._tokenizer, view, index, prompt.ids, reply)
            except (DataError, TemplateError) as error:
                self._drop(turn, str(error))
                continue
            num_tokens = len(prompt.ids) + len(ids)
            if most is None or num_tokens <= most:
                forks[turn] = prompt, ids
                self.waiting.remove(turn)
            elif is_bare:
                self._drop(turn, _too_long(self._sample, turn, num_tokens, most))
        return forks

    def _drop(self, turn: int, problem: str) -> None:
        self.problems.append(problem)
        self.waiting.remove(turn)


def _usable_targets(
    tokenizer: Tokenizer,
    sample: GattSample,
    placement: TrainingPlacement,
    problems: list[str],
) -> list[int]:
    """Return the turns with a target whose prompts hold no control token; the others add a problem."""
    turns = [t.turn for t in sample.targets if t.reply is not None]
    view = view_of_turns(sample, range(1, sample.dialogue.num_turns + 1), placement)
    refused = first_refused(tokenizer, view)
    if refused is None:
        return turns
    problems += [refused[1] for turn in turns if turn >= refused[0]]
    return [turn for turn in turns if turn < refused[0]]


def _trunks(prompts: Mapping[int, Prompt]) -> Iterator[tuple[Prompt, tuple[int, ...]]]:
    """Yield the longest prompt with all turns whose prompts begin it, then so on with the rest."""
    left = dict(prompts)
    while left:
        trunk = max(left.values(), key=lambda prompt: len(prompt.ids))
        together = tuple(t for t, p in left.items() if trunk.ids[: len(p.ids)] == p.ids)
        yield trunk, together
        left = {turn: prompt for turn, prompt in left.items() if turn not in together}


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
    `gatt.comb.comb.expand`, but for the dialogue's own replies, which get a row each
    instead of one for all.

    Args and modes are those of `build_combs`, and so is the length policy.
    """
    problems: list[str] = []

    def build(turn: int, reply: str) -> list[tuple[Comb, int]]:
        """Return the row of a reply with its dropped exchanges; none where it does not go."""
        try:
            return [_row(tokenizer, sample, turn, reply, placement, max_length)]
        except (DataError, TemplateError) as error:
            problems.append(str(error))
            return []

    # In every mode: they decide how far the dialogue's own replies are learned.
    targets = {
        turn: row
        for turn in _usable_targets(tokenizer, sample, placement, problems)
        for row in build(turn, sample.targets[turn - 1].reply or "")
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
        prompt = encode_prompt(tokenizer, view, last).ids
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
