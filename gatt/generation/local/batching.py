"""The rows of a call: what they share, and which are decoded together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import torch

from gatt.generation.base import GenerationRequest
from gatt.models.chat_template import shared_length

MIN_SHARED_TOKENS = 64
"""Tokens that are worth sharing even if more follow that are not."""
PADDING_FREE = 32
"""Padding tokens of a forward that cost less than another forward."""


@dataclass
class Row:
    """One request on its way."""

    index: int
    """Its place in the call."""
    request: GenerationRequest
    prompt: tuple[int, ...]
    num_prefilled: int = 0
    """Last tokens of the prompt that are the beginning of the reply."""
    fork: int = 0
    """Tokens of its group's prefix that it begins with, maybe all; what follows is its own."""
    uniform: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    output: list[int] = field(default_factory=list)
    is_done: bool = False

    @property
    def suffix(self) -> tuple[int, ...]:
        """The prompt behind the fork."""
        return self.prompt[self.fork :]


@dataclass
class Group:
    """Rows that continue one prefix; a row without company has no name, and its prefix is its own."""

    name: str
    prefix: tuple[int, ...]
    rows: list[Row]

    @property
    def reach(self) -> int:
        """How much of the prefix its rows read: all of it, but in a part of a group that was cut."""
        return max(row.fork for row in self.rows)

    @property
    def continued(self) -> Row | None:
        """The row whose reply the next call will find in its prompts: the only one on record.

        None where a row off the record reads on behind it: no roll-out asks for that.
        """
        on_record = [row for row in self.rows if not row.request.is_aside]
        if not self.name or len(on_record) != 1 or on_record[0].fork != len(self.prefix):
            return None
        return on_record[0]


def plan_groups(rows: Iterable[Row]) -> list[Group]:
    """Return the rows by what they share; sets where each forks from its group's prefix.

    The prefix of a group is its longest prompt on record; or one off the record
    that reads on much further, as probes behind the last turn asked for do.
    """
    by_name: dict[str, list[Row]] = {}
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


def _main(members: Sequence[Row]) -> Row:
    """Return the row whose prompt the others continue."""
    on_record = max(members, key=lambda r: (not r.request.is_aside, len(r.prompt)))
    length = len(on_record.prompt)
    further = [r for r in members if r.prompt[:length] == on_record.prompt]
    longest = max(further, key=lambda r: len(r.prompt))
    # As a suffix, what the longest reads on would be padding of every row.
    return longest if len(longest.prompt) > length + MIN_SHARED_TOKENS else on_record


def _alone(row: Row) -> Group:
    row.fork = len(row.prompt)
    return Group("", row.prompt, [row])


def _is_worth_sharing(num_shared: int, num_tokens: int) -> bool:
    """Whether a row goes with its group: what it has of its own is encoded with padding there."""
    return num_shared >= min(MIN_SHARED_TOKENS, num_tokens - num_shared)


def plan_batches(
    groups: Sequence[Group], *, max_rows: int, max_cache_tokens: int, max_new_tokens: int
) -> Iterator[list[Group]]:
    """Yield groups that fit together; one that does not fit by itself is cut into parts.

    A row that holds more than `max_cache_tokens` by itself is a batch by itself. Rows
    on their own hold their whole prompt and go with their like. The parts of a group
    never share a batch: each goes on from the prefix that the part before left.

    Args:
        groups: of `plan_groups`.
        max_rows: most rows of a batch.
        max_cache_tokens: most tokens that a batch holds: of each prefix as far as
            its rows read it, copies of those that lie side by side, as long as the
            longest, and for every row as much as the longest adds to it.
        max_new_tokens: most tokens of a reply.
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
    """Yield a group that fits, or parts of it that do.

    In the order of their forks, what a part reads of the prefix is encoded behind
    what the parts before have read, with the logits of the prompts that end there.
    Of those that reach furthest the row on record comes last: after it nothing cuts off
    the reply that a roll-out reads again.
    """
    if fits([group]):
        yield group
        return
    part: list[Row] = []
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

    Args:
        lengths: tokens that a row adds to its prefix.
        forks: tokens of its prefix that it sees.
        most_pairs: of new tokens and those that they see, all rows together, but for one that
            has more by itself; None for any number.
    """
    for part in like_lengths(lengths):
        step = len(part)
        if most_pairs is not None:
            width = max(lengths[i] for i in part)
            step = max(1, most_pairs // (width * (width + max(forks[i] for i in part))))
        yield from (part[start : start + step] for start in range(0, len(part), step))


def pieces(lengths: Sequence[int], most: int) -> Iterator[list[tuple[int, int, int]]]:
    """Yield `(index, start, end)` of stretches that together cover sequences, `most` items a time."""
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


def spans_of(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return the `[start, end)` of neighbours of given sizes."""
    spans, end = [], 0
    for size in sizes:
        spans.append((end, end + size))
        end += size
    return spans
