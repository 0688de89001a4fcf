"""Which tokens carry loss, and the one builder of token ids and labels.

Source: Llama 2, arXiv:2307.09288, section 3.3: the loss is 0 on all tokens of
earlier turns, "including assistant messages", since those were not written
under the instruction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from gatt.comb.comb import DEFAULT_OBJECTIVE, IGNORE, Branch, Comb
from gatt.comb.objectives.table import TABLE
from gatt.data.dialogue import Dialogue
from gatt.data.sample import GattSample
from gatt.data.switches import on_turns
from gatt.data.views import TrainingPlacement, training_view
from gatt.errors import DataError, TemplateError
from gatt.models.chat_template import Tokenizer
from gatt.models.encoded_view import (
    Prompt,
    encode_prompt,
    encode_reply,
    first_refused,
    reply_span,
)
from gatt.train.config import DistilSettings
from gatt.train.data.teacher import Teacher, teacher_combs

Supervise = Literal["last_turn", "all_turns", "context_only"]
AS_PUBLISHED: Final = DistilSettings()


@dataclass(frozen=True)
class BuiltComb:
    """Turns of a sample that share a trunk."""

    comb: Comb
    turns: tuple[int, ...]
    """Turns of the dialogue in the trunk, from 1, ascending, up to that of the last branch."""
    targets: tuple[int, ...]
    """Turns whose targets are the branches (each with its partner, if it has one), in order; none where the
    branches are own replies."""
    is_alone: bool = False
    """Whether its one turn was built without those before it."""


@dataclass(frozen=True, kw_only=True)
class BuiltSample:
    """A sample as combs."""

    parts: tuple[BuiltComb, ...]
    """By their last turn, those that stand alone behind the others. One, unless the length policy gives the
    turns different histories, or a prompt does not begin the later ones."""
    num_exchanges_dropped: int
    """Exchanges that the length policy removed, over all targets."""
    dropped_targets: tuple[str, ...]
    """One reason per target, or own reply to learn, that could not be encoded, does not fit, or stands
    behind the last prompt of its comb."""

    @property
    def targets(self) -> tuple[int, ...]:
        """Turns whose targets could be encoded, ascending, the same in every mode of supervision."""
        return tuple(sorted({turn for part in self.parts for turn in part.targets}))


def build_combs(
    tokenizer: Tokenizer,
    sample: GattSample,
    *,
    placement: TrainingPlacement = "system",
    supervise: Supervise = "last_turn",
    objective: str = DEFAULT_OBJECTIVE,
    max_length: int | None = None,
    keeps_prefixes: bool = True,
    distil: DistilSettings = AS_PUBLISHED,
    turns: Sequence[int] | None = None,
) -> BuiltSample:
    """Return the combs of a sample: ids and labels from one pass, so that they cannot drift apart.

    Every mode of supervision gives the same tokens; only labels differ. `last_turn` labels the sampled targets
    with what closes their turns (the paper); `all_turns` also the dialogue's own replies up to the last of them
    (the mismatch that the paper warns of, a control); `context_only` these replies alone (ordinary fine-tuning,
    a control). Without `keeps_prefixes` such replies get a comb each, behind the prompt that the model sees.

    Where the objective needs pairs, a target is followed by its rejected reply, and a turn without both gives
    neither. Where it has a teacher, so has the comb.

    `max_length` is the most tokens that one prompt and its target may take, that of a teacher too. A longer
    prompt loses whole oldest exchanges after the first, as few as will do; turns that say what is in force and
    its own turn stay. Turns that lose the same exchanges share a comb. `turns` are those that the model sees
    and learns, ascending; the instruction in force at the first of them stands there.

    A target whose prompt is not the beginning of the later ones (a reply that begins with a line break may
    merge with it) gets a comb of its own. One that cannot be encoded, or stands behind a message that holds a
    control token, is dropped with its reason, and the others stay.
    """
    teacher = Teacher(sample, distil) if TABLE[objective].has_teacher else None
    seen = tuple(turns or range(1, sample.dialogue.num_turns + 1))
    builder = _Builder(tokenizer, sample, seen, placement, max_length, objective, teacher)
    learns_own = supervise != "last_turn"
    has_loss, labels_trunk = supervise != "context_only", learns_own and keeps_prefixes
    parts = list(builder.parts(builder.usable_targets(), has_loss, labels_trunk))
    last = max((turn for _, part in parts for turn in part.targets), default=0)
    num_exchanges_dropped = sum(number * len(part.targets) for number, part in parts)
    if labels_trunk:
        builder.problems.extend(builder.unlearned(last))
    elif learns_own:
        own = {turn: (sample.dialogue.replies[turn - 1],) for turn in seen if turn < last}
        parts += ((n, replace(part, targets=())) for n, part in builder.parts({**own}))
    return BuiltSample(
        parts=tuple(sorted((part for _, part in parts), key=lambda part: part.turns[-1])),
        num_exchanges_dropped=num_exchanges_dropped,
        dropped_targets=tuple(builder.problems),
    )


@dataclass(frozen=True)
class _Builder:
    """Makes combs of a sample, and notes what cannot be in one."""

    tokenizer: Tokenizer
    sample: GattSample
    turns: tuple[int, ...]
    placement: TrainingPlacement
    max_length: int | None
    objective: str = DEFAULT_OBJECTIVE
    teacher: Teacher | None = None
    problems: list[str] = field(default_factory=list)
    _own_replies: dict[int, str | None] = field(default_factory=dict)
    """By turn: the problem of an own reply, None where a trunk has its labels."""

    @property
    def telling(self) -> set[int]:
        """The turns that state an instruction: the first one, and each turn that changes it."""
        changes = {switch.turn for switch in self.sample.switches or ()}
        return {self.turns[0], *changes.intersection(self.turns)}

    def histories(self) -> Iterator[tuple[int, ...]]:
        """Yield the turns that are left, ascending, as the oldest exchanges are dropped one by one.

        The turns that state an instruction stay, and so does the last one.
        """
        kept = self.telling | {self.turns[-1]}
        free = [turn for turn in self.turns if turn not in kept]
        for num_dropped in range(len(free) + 1):
            left = kept.union(free[num_dropped:])
            yield tuple(turn for turn in self.turns if turn in left)

    def usable_targets(self) -> dict[int, tuple[str, ...]]:
        """Return the replies to learn by turn, each a target, or target and rejected reply.

        A turn with one of two, or whose prompt holds a control token, is a problem.
        """
        has_pairs = TABLE[self.objective].needs_pairs
        replies: dict[int, tuple[str, ...]] = {}
        for target in (target for target in self.sample.targets if target.turn in self.turns):
            texts = (target.reply, target.rejected) if has_pairs else (target.reply,)
            given = tuple(text for text in texts if text is not None)
            if len(given) == len(texts):
                replies[target.turn] = given
            elif given:
                lacks = "target" if target.reply is None else "rejected reply"
                self.problems.append(
                    f"sample {self.sample.id!r}, turn {target.turn}: no {lacks} to make a pair with"
                )
        view = view_of_turns(self.sample, self.turns, self.placement)
        if refused := first_refused(self.tokenizer, view, self.turns):
            self.problems.extend(refused[1] for turn in replies if turn >= refused[0])
            return {turn: texts for turn, texts in replies.items() if turn < refused[0]}
        return replies

    def parts(
        self, waiting: dict[int, tuple[str, ...]], has_loss: bool = True, labels_trunk: bool = False
    ) -> Iterator[tuple[int, BuiltComb]]:
        """Yield combs with the number of exchanges that their history lost.

        `waiting` has by turn one reply, which is a branch, or a pair of them; it is empty afterwards.
        """
        for num_dropped, turns in enumerate(self.histories()):
            if not waiting:
                return
            view = view_of_turns(self.sample, turns, self.placement)
            forks = self._forks(view, turns, waiting)
            prompts = {turn: fork.prompt for turn, fork in forks.items()}
            for trunk, together in _trunks(prompts):
                shown = turns[: turns.index(together[-1]) + 1]
                labels = [IGNORE] * len(trunk.ids)
                if labels_trunk:
                    self._label_own_replies(labels, view, shown, trunk, prompts)
                branches, read = [], []
                for fork in (forks[turn] for turn in together):
                    for number, ids in enumerate(fork.replies):
                        target = ids if has_loss else (IGNORE,) * len(ids)
                        place = len(fork.prompt.ids)
                        branches.append(Branch(place, ids, target, self.objective, number > 0))
                    read += [(prompt, fork.replies[0]) for prompt in fork.teacher]
                teacher = teacher_combs(read, self.objective)
                comb = Comb(
                    trunk.ids, tuple(labels), tuple(branches), self.objective, teacher=teacher
                )
                yield num_dropped, BuiltComb(comb, shown, together)

    def _forks(
        self, view: Dialogue, turns: tuple[int, ...], waiting: dict[int, tuple[str, ...]]
    ) -> dict[int, _Fork]:
        """Return prompt and replies of each waiting turn that fits; none of them waits any longer."""
        most = self.max_length
        forks: dict[int, _Fork] = {}
        is_full = False
        for index, turn in enumerate(turns, start=1):
            # The instruction and this turn alone: nothing is left to drop.
            is_bare = set(turns[: index - 1]) <= self.telling
            where = f"dialogue {view.id!r}, turn {turn}"
            if turn not in waiting or (is_full and not is_bare):
                continue
            try:
                prompt = encode_prompt(self.tokenizer, view, index)
                # Prompts grow from turn to turn; no reply is rendered for one that is too long.
                is_full = most is not None and len(prompt.ids) > most
                if is_full and not is_bare:
                    continue
                replies = [
                    encode_reply(self.tokenizer, view, index, prompt.ids, reply, where)
                    for reply in waiting[turn]
                ]
                if len(set(replies)) < len(replies):
                    raise DataError(f"{where}: a rejected reply that is the target")
                read = []
                if self.teacher is not None:
                    shown, (reply,) = turns[:index], waiting[turn]
                    read = [self.teacher.prompt(self.tokenizer, shown, reply, replies[0])]
            except (DataError, TemplateError) as error:
                self.problems.append(str(error))
                del waiting[turn]
                continue
            longest = max(len(p.ids) for p in (prompt, *read))
            num_tokens = longest + sum(map(len, replies))
            is_full = is_full or (most is not None and longest > most)
            if most is None or num_tokens <= most:
                forks[turn] = _Fork(prompt, replies, read)
                del waiting[turn]
            elif is_bare:
                self.problems.append(self._too_long(turn, num_tokens))
                del waiting[turn]
        return forks

    def _too_long(self, turn: int, num_tokens: int) -> str:
        *first, last = (f"turn {t}" for t in sorted(self.telling | {turn}) if t <= turn)
        kept = f"{', '.join(first)} and {last}" if first else last
        return (
            f"sample {self.sample.id!r}: {num_tokens} tokens with {kept} alone, more than max_length "
            f"{self.max_length}: raise it or shorten the messages"
        )

    def _label_own_replies(
        self,
        labels: list[int],
        view: Dialogue,
        turns: Sequence[int],
        trunk: Prompt,
        prompts: Mapping[int, Prompt],
    ) -> None:
        """Set the labels of the own replies in a trunk that no trunk before has had."""
        for index, turn in enumerate(turns[:-1], start=1):
            if self._own_replies.get(turn, "") is None:
                continue
            where = f"dialogue {view.id!r}, turn {turn}"
            reply = self.sample.dialogue.replies[turn - 1]
            try:
                prompt = prompts.get(turn) or encode_prompt(self.tokenizer, view, index)
                start, end = reply_span(self.tokenizer, prompt, trunk, where, reply)
            except (DataError, TemplateError) as error:
                self._own_replies[turn] = str(error)
                continue
            labels[start:end] = trunk.ids[start:end]
            self._own_replies[turn] = None

    def unlearned(self, last: int) -> list[str]:
        """Return why own replies before the last turn with a target have no labels, one line each."""
        behind = (
            f"sample {self.sample.id!r}: an own reply behind the last prompt that max_length "
            f"{self.max_length} leaves room for, at turn {{}}: raise it, or use layout 'expanded'"
        )
        problems = (
            self._own_replies.get(turn, behind.format(turn)) for turn in self.turns if turn < last
        )
        return [problem for problem in problems if problem]


@dataclass(frozen=True)
class _Fork:
    """A turn that is learned."""

    prompt: Prompt
    replies: list[tuple[int, ...]]
    """One, or both of a pair."""
    teacher: list[Prompt]
    """The prompt of the teacher, where there is one."""


def _trunks(prompts: Mapping[int, Prompt]) -> Iterator[tuple[Prompt, tuple[int, ...]]]:
    """Yield the longest prompt with all turns whose prompts are its prefixes, then so on with the rest."""
    left = dict(prompts)
    while left:
        trunk = max(left.values(), key=lambda prompt: len(prompt.ids))
        together = tuple(t for t, p in left.items() if trunk.ids[: len(p.ids)] == p.ids)
        yield trunk, together
        left = {turn: prompt for turn, prompt in left.items() if turn not in together}


def view_of_turns(
    sample: GattSample, turns: Sequence[int], placement: TrainingPlacement
) -> Dialogue:
    """Return the training view of some turns of a sample (from 1, ascending), as if there were no others.

    What is in force at the first of them is its instruction, and only later changes are announced.
    """
    held = sample.instruction_at(turns[0])
    switches = on_turns([s for s in sample.switches or () if s.turn > turns[0]], turns)
    text = held.text if held else None
    return training_view(sample.dialogue.only_turns(turns), text, placement, switches)
