"""The prefixes of a batch side by side, so that the rows of many dialogues attend to theirs in one product.

A product a dialogue would be small: on two cores it takes twice the time, most of
it to begin. Prefixes move into a buffer that they share and are views of it from
then on; nothing is held twice.

Shapes: R rows, Q queries of a row and key head, K key/value heads, D head size, G
prefixes side by side, N most rows of one of them, P tokens of the longest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from gatt.generation.prefix_cache import GROWTH, Prefix
from gatt.generation.rows import like_lengths, spans_of

MOST_IDLE = 2
"""Prefixes of one product for each that a row reads: beyond it, a product each is cheaper."""


@dataclass(frozen=True, eq=False)
class Readers:
    """Which rows read which of G prefixes: a grid of N places a prefix, some of them maybe empty."""

    rows: torch.Tensor
    places: torch.Tensor
    """In the grid, of each of `rows`."""
    num_prefixes: int
    num_rows: int
    num_tokens: int
    """P."""

    def in_grid(self, values: torch.Tensor) -> torch.Tensor:
        """Return what each of `rows` has, by the grid `[G, N, …]`; empty places hold zeros."""
        grid = values.new_zeros(self.num_prefixes * self.num_rows, *values.shape[1:])
        grid[self.places] = values
        return grid.view(self.num_prefixes, self.num_rows, *values.shape[1:])

    def fold(self, query: torch.Tensor) -> torch.Tensor:
        """Return the queries `[R, K, Q, D]` by the prefix they read, `[G, K, N * Q, D]`."""
        return self.in_grid(query[self.rows]).transpose(1, 2).flatten(2, 3)

    def unfold(self, found: torch.Tensor) -> torch.Tensor:
        """Return what was found `[G, K, N * Q, …]` for each of `rows`, `[len(rows), K, Q, …]`."""
        num_kv, num_queries = found.shape[1], found.shape[2] // self.num_rows
        apart = found.view(-1, num_kv, self.num_rows, num_queries, *found.shape[3:])
        return apart.transpose(1, 2).flatten(0, 1)[self.places]


class PrefixStack:
    """Prefixes of like lengths in one buffer a layer, into which each moves when it is first read.

    Args:
        prefixes: whose tokens do not change while this is used, but for what follows them.
        groups: the number of each in its batch.
    """

    def __init__(self, prefixes: Sequence[Prefix], groups: Sequence[int]) -> None:
        self.groups = list(groups)
        self._prefixes = list(prefixes)
        self._lengths = [len(prefix) for prefix in prefixes]
        self._held: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    @property
    def num_tokens(self) -> int:
        """Tokens held, padding included."""
        return len(self._lengths) * max(self._lengths)

    def read(
        self, layer: int, first: int, num: int, num_tokens: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return views of keys and values `[num, K, num_tokens, D]` of neighbours in the stack."""
        if layer not in self._held:
            self._held[layer] = self._moved(layer)
        keys, values = self._held[layer]
        span = slice(first, first + num)
        return keys[span, :, :num_tokens], values[span, :, :num_tokens]

    def bring_forward(self, groups: set[int]) -> None:
        """Put some groups before the others, so that one product reads nothing else."""
        is_wanted = [group in groups for group in self.groups]
        num = sum(is_wanted)
        out = [i for i in range(num) if not is_wanted[i]]
        in_ = [i for i in range(num, len(is_wanted)) if is_wanted[i]]
        for i, j in zip(out, in_, strict=True):
            self._swap(i, j)

    def _swap(self, i: int, j: int) -> None:
        one, other = self._prefixes[i], self._prefixes[j]
        for layer, pair in self._held.items():
            # What a prefix grew out of is no longer its own.
            stayed = [one.is_at(layer, pair[0][i]), other.is_at(layer, pair[0][j])]
            for held in pair:
                held[[i, j]] = held[[j, i]]
            for prefix, place, has_stayed in zip((one, other), (j, i), stayed, strict=True):
                if has_stayed:
                    prefix.move(layer, pair[0][place], pair[1][place])
        items: Any
        for items in (self._prefixes, self._lengths, self.groups):
            items[i], items[j] = items[j], items[i]

    def _moved(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the buffers of a layer; the prefixes are views of them from here on."""
        if len(self._prefixes) == 1:
            keys, values = self._prefixes[0].read(layer, 0, self._lengths[0])
            return keys[None], values[None]
        room = max(self._lengths) + GROWTH
        first = self._prefixes[0].read(layer, 0, 0)[0]
        keys, values = (
            first.new_empty(len(self._prefixes), first.shape[0], room, first.shape[2])
            for _ in range(2)
        )
        for index, (prefix, length) in enumerate(zip(self._prefixes, self._lengths, strict=True)):
            for held, known in zip((keys, values), prefix.read(layer, 0, length), strict=True):
                held[index, :, :length] = known
                # What a mask hides is still multiplied: with a weight of zero.
                held[index, :, length:] = 0
            prefix.move(layer, keys[index], values[index])
        return keys, values


@dataclass(frozen=True)
class Read:
    """A product to make: neighbours of a stack, and who reads them."""

    stack: PrefixStack
    first: int
    readers: Readers

    def of_layer(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return views of keys and values `[G, K, P, D]`."""
        readers = self.readers
        return self.stack.read(layer, self.first, readers.num_prefixes, readers.num_tokens)


class SharedPrefixes:
    """The prefixes of a batch, one a group of rows, in as few stacks as their lengths allow.

    Args:
        prefixes: in the order of the groups; an empty one is read by nobody.
        device: of the model.
    """

    def __init__(self, prefixes: Sequence[Prefix], device: torch.device) -> None:
        self._device = device
        used = [group for group, prefix in enumerate(prefixes) if len(prefix)]
        self._stacks = []
        for part in like_lengths([len(prefixes[group]) for group in used]):
            groups = [used[i] for i in part]
            self._stacks.append(PrefixStack([prefixes[group] for group in groups], groups))

    @property
    def num_tokens(self) -> int:
        """Tokens held, padding included."""
        return sum(stack.num_tokens for stack in self._stacks)

    def keep(self, sizes: Sequence[int]) -> None:
        """Take note that a group has so many rows from now on, none of them a new one."""
        for stack in self._stacks:
            stack.bring_forward({group for group in stack.groups if sizes[group]})

    def reads(self, sizes: Sequence[int], forks: Sequence[int]) -> list[Read]:
        """Return the products for some rows.

        Args:
            sizes: rows of each group, neighbours in the order of the groups.
            forks: tokens of its prefix that each row sees.
        """
        spans = [range(start, end) for start, end in spans_of(sizes)]
        reads = []
        for stack in self._stacks:
            rows = [[row for row in spans[group] if forks[row]] for group in stack.groups]
            for first, end in _neighbours(rows):
                reads.append(Read(stack, first, self._readers(rows[first:end], forks)))
        return reads

    def _readers(self, rows: Sequence[Sequence[int]], forks: Sequence[int]) -> Readers:
        num_rows = max(map(len, rows))
        places = [
            index * num_rows + place
            for index, members in enumerate(rows)
            for place in range(len(members))
        ]
        flat = [row for members in rows for row in members]
        return Readers(
            torch.tensor(flat, device=self._device),
            torch.tensor(places, device=self._device),
            num_prefixes=len(rows),
            num_rows=num_rows,
            num_tokens=max(forks[row] for row in flat),
        )


def _neighbours(rows: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """Yield `[first, end)` of the products over a stack, given who reads each of its prefixes."""
    read = [index for index, members in enumerate(rows) if members]
    if not read:
        return
    first, end = read[0], read[-1] + 1
    if end - first <= MOST_IDLE * len(read):
        yield first, end
    else:
        yield from ((index, index + 1) for index in read)
