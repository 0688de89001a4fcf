"""The prefixes of a batch side by side, so that the rows of many dialogues attend to theirs in one product.

A product a dialogue would be small: on two cores most of its time goes to other
things than reading the prefix. So those of like lengths are copied into one buffer
as long as a batch is decoded.

Shapes: R rows, Q queries of a row and key head, K key/value heads, D head size, G
prefixes side by side, N most rows of one of them, P tokens of the longest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from gatt.generation.local.batching import like_lengths, spans_of
from gatt.generation.local.prefix.cache import Prefix

MOST_IDLE = 2
"""What a product may multiply for each row and token that is read; beyond it, two are made."""
MOST_PAIRS = 2_000_000
"""New tokens times tokens of prefixes in one product, which bounds its mask and, on a GPU, its scores."""


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
    """Copies of prefixes in one buffer a layer, made when it is first read; one alone is not copied.

    Args:
        prefixes: by the number of the group in its batch, each with the tokens that are read
            of it, one at least and of like numbers; those do not change while this is used.
    """

    def __init__(self, prefixes: Mapping[int, tuple[Prefix, int]]) -> None:
        self.groups = list(prefixes)
        self._prefixes = prefixes
        self._held: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def read(
        self, layer: int, first: int, num: int, num_tokens: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return keys and values `[num, K, num_tokens, D]` of neighbours in the stack."""
        if layer not in self._held:
            self._held[layer] = self._copied(layer)
        keys, values = self._held[layer]
        span = slice(first, first + num)
        return keys[span, :, :num_tokens], values[span, :, :num_tokens]

    def keep(self, groups: set[int]) -> None:
        """Drop the other groups: the last of those that stay take the places of those that go."""
        num = sum(group in groups for group in self.groups)
        free = [i for i in range(num) if self.groups[i] not in groups]
        late = [i for i in range(num, len(self.groups)) if self.groups[i] in groups]
        for i, j in zip(free, late, strict=True):
            self.groups[i] = self.groups[j]
            for pair in self._held.values():
                for held in pair:
                    held[i] = held[j]
        del self.groups[num:]

    def _copied(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return keys and values of a layer `[G, K, P, D]`."""
        pairs = [
            prefix.read(layer, 0, reach)
            for prefix, reach in (self._prefixes[group] for group in self.groups)
        ]
        if len(pairs) == 1:
            keys, values = pairs[0]
            return keys[None], values[None]
        longest = max(keys.shape[1] for keys, _ in pairs)
        heads, _, size = pairs[0][0].shape
        keys, values = (pairs[0][0].new_empty(len(pairs), heads, longest, size) for _ in range(2))
        for index, pair in enumerate(pairs):
            for held, known in zip((keys, values), pair, strict=True):
                held[index, :, : known.shape[1]] = known
                # What a mask hides is still multiplied: with a weight of zero.
                held[index, :, known.shape[1] :] = 0
        return keys, values


@dataclass(frozen=True)
class Read:
    """A product to make: neighbours of a stack, and who reads them."""

    stack: PrefixStack
    first: int
    readers: Readers

    def of_layer(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return keys and values `[G, K, P, D]`."""
        readers = self.readers
        return self.stack.read(layer, self.first, readers.num_prefixes, readers.num_tokens)


class SharedPrefixes:
    """The prefixes of a batch, one a group of rows, in as few stacks as their lengths allow.

    Args:
        prefixes: in the order of the groups.
        reaches: tokens that the rows of each read, maybe none.
        device: of the model.
    """

    def __init__(
        self, prefixes: Sequence[Prefix], reaches: Sequence[int], device: torch.device
    ) -> None:
        self._device = device
        self._stacks = []
        used = [group for group, reach in enumerate(reaches) if reach]
        for part in like_lengths([reaches[group] for group in used]):
            groups = [used[i] for i in part]
            self._stacks.append(PrefixStack({g: (prefixes[g], reaches[g]) for g in groups}))

    def keep(self, sizes: Sequence[int]) -> None:
        """Take note that a group has so many rows from now on; one that has none gets none again."""
        for stack in self._stacks:
            stack.keep({group for group in stack.groups if sizes[group]})

    def reads(self, sizes: Sequence[int], forks: Sequence[int], num_new: int = 1) -> list[Read]:
        """Return the products for some rows.

        Args:
            sizes: rows of each group, neighbours in the order of the groups.
            forks: tokens of its prefix that each row sees.
            num_new: tokens of each row, S.
        """
        spans = [range(start, end) for start, end in spans_of(sizes)]
        reads = []
        for stack in self._stacks:
            rows = [[row for row in spans[group] if forks[row]] for group in stack.groups]
            work = [[forks[row] for row in members] for members in rows]
            for first, end in _products(work, 0, len(work), MOST_PAIRS // num_new):
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


def _products(
    work: Sequence[Sequence[int]], first: int, end: int, most: int
) -> Iterator[tuple[int, int]]:
    """Yield `[first, end)` of the products over a part of a stack.

    Args:
        work: of each prefix, the tokens that each of its rows reads.
        first: where the part begins.
        end: where it ends.
        most: tokens that the rows of one product read, padding included.
    """
    read = [index for index in range(first, end) if work[index]]
    if not read:
        return
    first, end = read[0], read[-1] + 1
    part = work[first:end]
    done = (end - first) * max(map(len, part)) * max(max(w, default=0) for w in part)
    if len(read) == 1 or done <= min(most, MOST_IDLE * sum(map(sum, part))):
        yield first, end
        return
    middle = (first + end) // 2
    yield from _products(work, first, middle, most)
    yield from _products(work, middle, end, most)
