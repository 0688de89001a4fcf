"""Plans a call: which rows share a prefix, and which are decoded together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import torch

from gatt.generation.base import GenerationRequest
from gatt.models.chat_template import shared_length

MIN_SHARED_TOKENS = 64
"""A common prefix of so many tokens is shared even if a row has more tokens of its own."""
PADDING_FREE = 32
"""So many padding tokens in a forward pass cost less than another forward pass."""


@dataclass
class RunningRequest:
    """One request while it is answered."""

    index: int
    """Its index in the call."""
    request: GenerationRequest
    prompt: tuple[int, ...]
    num_prefilled: int = 0
    """Number of tokens at the end of the prompt that are the prefill."""
    group: int = 0
    """Number of its group in the batch."""
    fork: int = 0
    """Number of tokens of its group's prefix that it begins with, perhaps all; the others are its own."""
    uniform: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    output: list[int] = field(default_factory=list)
    is_done: bool = False

    @property
    def suffix(self) -> tuple[int, ...]:
        """The prompt after the fork."""
        return self.prompt[self.fork :]


@dataclass
class Group:
    """Rows that continue one prefix; the group of a single row has no name, and its prefix is the prompt."""

    name: str
    prefix: tuple[int, ...]
    rows: list[RunningRequest]

    @property
    def reach(self) -> int:
        """Tokens of the prefix that its rows read; less than all only in a part of a group that was cut."""
        return max(row.fork for row in self.rows)

    @property
    def continued(self) -> RunningRequest | None:
        """The only row on record, whose reply will be part of the prompts of the next call.

        None where a row off the record continues it: roll-outs do not ask for that.
        """
        on_record = [row for row in self.rows if not row.request.is_aside]
        if not self.name or len(on_record) != 1 or on_record[0].fork != len(self.prefix):
            return None
        return on_record[0]


def plan_groups(rows: Iterable[RunningRequest]) -> list[Group]:
    """Return the rows in groups that share a prefix; set the fork of each row.

    The prefix of a group is its longest prompt on record, or a much longer one off the record that
    continues it, such as a probe after the last turn.
    """
    by_name: dict[str, list[RunningRequest]] = {}
    groups = []
    for row in rows:
        if row.request.group:
            by_name.setdefault(row.request.group, []).append(row)
        else:
            groups.append(_alone(row))
    for name, members in by_name.items():
        main = _main(members)
        together = []
        for row in members:
            fork = shared_length(row.prompt, main.prompt)
            if row is main or _is_worth_sharing(fork, len(row.prompt)):
                row.fork = fork
                together.append(row)
            else:
                groups.append(_alone(row))
        groups.append(Group(name, main.prompt, together))
    return groups


def _main(members: Sequence[RunningRequest]) -> RunningRequest:
    """Return the row whose prompt is the prefix of its group."""
    on_record = max(members, key=lambda r: (not r.request.is_aside, len(r.prompt)))
    length = len(on_record.prompt)
    further = [r for r in members if r.prompt[:length] == on_record.prompt]
    longest = max(further, key=lambda r: len(r.prompt))
    # The rest of the longest as its suffix would mean as much padding for every row.
    return longest if len(longest.prompt) > length + MIN_SHARED_TOKENS else on_record


def _alone(row: RunningRequest) -> Group:
    row.fork = len(row.prompt)
    return Group("", row.prompt, [row])


def _is_worth_sharing(num_shared: int, num_tokens: int) -> bool:
    """Whether a row joins its group, in which its own tokens are encoded with padding."""
    return num_shared >= min(MIN_SHARED_TOKENS, num_tokens - num_shared)


def plan_batches(
    groups: Sequence[Group], *, max_rows: int, max_cache_tokens: int, max_new_tokens: int
) -> Iterator[list[Group]]:
    """Yield batches of groups that fit together; a group that is too large is cut into parts.

    A row of more than `max_cache_tokens` is a batch of its own. Rows without a group store their whole
    prompt, and are batched with each other. The parts of a group are in different batches: each
    continues the prefix of the part before it.

    A batch has at most `max_cache_tokens`: of each prefix the part that its rows read; copies of the prefixes
    that lie side by side, as long as the longest; and for every row as many tokens as the longest row adds.
    """

    def fits(batch: list[Group]) -> bool:
        rows = [row for group in batch for row in group.rows]
        if batch[0].name:
            own = 1 + max(len(r.suffix) for r in rows)
            reaches = [g.reach for g in batch]
            stacks = [part for part in like_lengths(reaches) if len(part) > 1]
            shared = sum(reaches) + sum(len(p) * max(reaches[i] for i in p) for p in stacks)
        else:
            own, shared = max(len(r.prompt) for r in rows), 0
        held = shared + (own + max_new_tokens) * len(rows)
        return len(rows) <= max_rows and held <= max_cache_tokens

    batch: list[Group] = []
    shared = sorted((g for g in groups if g.name), key=lambda g: -len(g.prefix))
    alone = sorted((g for g in groups if not g.name), key=lambda g: len(g.prefix))
    for group in shared + alone:
        for part in _parts(group, fits):
            is_other = bool(batch) and bool(batch[0].name) != bool(part.name)
            if batch and (is_other or not fits([*batch, part])):
                yield batch
                batch = []
            batch.append(part)
    if batch:
        yield batch


def _parts(group: Group, fits: Callable[[list[Group]], bool]) -> Iterator[Group]:
    """Yield the group, or parts of it that fit.

    Rows are in the order of their forks, so each part continues the prefix that the parts before it
    have encoded. Of the rows with the longest fork the one on record comes last, so that no later row
    removes the reply that a roll-out reads again.
    """
    if fits([group]):
        yield group
        return
    part: list[RunningRequest] = []
    for row in sorted(group.rows, key=lambda r: (r.fork, not r.request.is_aside)):
        if part and not fits([Group(group.name, group.prefix, [*part, row])]):
            yield Group(group.name, group.prefix, part)
            part = []
        part.append(row)
    yield Group(group.name, group.prefix, part)


def like_lengths(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield indices in order, grouped so that padding adds at most a quarter."""
    part: list[int] = []
    total = 0
    for index in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        padded = lengths[index] * (len(part) + 1)
        if part and padded > 1.25 * (total + lengths[index]) + PADDING_FREE:
            yield sorted(part)
            part, total = [], 0
        part.append(index)
        total += lengths[index]
    if part:
        yield sorted(part)


def prefilled_together(
    lengths: Sequence[int], forks: Sequence[int], most_pairs: int | None
) -> Iterator[list[int]]:
    """Yield the indices of rows whose own tokens go through the model together.

    A row adds its length to its prefix and sees `forks` tokens of it. `most_pairs` limits the pairs of a new
    token and a token that it sees, over all rows; a single row may have more. None is any number.
    """
    for part in like_lengths(lengths):
        step = len(part)
        if most_pairs is not None:
            width = max(lengths[i] for i in part)
            step = max(1, most_pairs // (width * (width + max(forks[i] for i in part))))
        yield from (part[start : start + step] for start in range(0, len(part), step))


def pieces(lengths: Sequence[int], most: int) -> Iterator[list[tuple[int, int, int]]]:
    """Yield lists of spans `(index, start, end)`, `most` items a list, that together cover all sequences."""
    part: list[tuple[int, int, int]] = []
    room = most
    for index, length in enumerate(lengths):
        start = 0
        while start < length:
            end = min(length, start + room)
            part.append((index, start, end))
            room -= end - start
            start = end
            if not room:
                yield part
                part, room = [], most
    if part:
        yield part
