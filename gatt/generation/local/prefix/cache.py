"""The key/value caches of sampling: of prefixes that rows continue, and of the rows.

`KeptPrefixes` keeps prefixes from batch to batch. `SharedPrefixes` are those of a batch side by side: the
rows of many dialogues attend to their prefixes in one product. One product for each dialogue would be small,
and on two cores most of its time is overhead. So prefixes of similar lengths are copied into one buffer while
a batch is decoded.

Shapes: R rows, S new tokens a row, Q queries of a row and key head, K key/value heads, D head size, G
prefixes side by side, N most rows of one of them, P tokens of the longest. The first keys of a layer decide
K and D.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from gatt.generation.local.batching import like_lengths
from gatt.models.chat_template import shared_length

log = logging.getLogger(__name__)

GROWTH = 256
"""A prefix grows by room for so many tokens, since growing copies its content."""


class Prefix:
    """Keys and values of one sequence of tokens, which can grow and be cut at its end."""

    def __init__(self) -> None:
        self.ids: tuple[int, ...] = ()
        self._keys: dict[int, torch.Tensor] = {}
        self._values: dict[int, torch.Tensor] = {}

    def __len__(self) -> int:
        return len(self.ids)

    def write(self, layer: int, start: int, key: torch.Tensor, value: torch.Tensor) -> None:
        """Store keys and values `[K, S, D]` from a position on; the caller extends `ids`."""
        end = start + key.shape[1]
        for held, new in ((self._keys, key), (self._values, value)):
            if layer not in held or held[layer].shape[1] < end:
                grown = new.new_zeros(new.shape[0], end + GROWTH, new.shape[2])
                if layer in held:
                    grown[:, :start] = held[layer][:, :start]
                held[layer] = grown
            held[layer][:, start:end] = new

    def read(self, layer: int, start: int, end: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return views of the keys and values `[K, tokens, D]` of the tokens `[start, end)`."""
        return self._keys[layer][:, start:end], self._values[layer][:, start:end]


class RowCache:
    """Keys and values of R rows of different lengths, in buffers of `capacity` columns.

    Padding is written to one more column, which is never read.
    """

    def __init__(self, num_rows: int, capacity: int, device: torch.device) -> None:
        self.lengths = torch.zeros(num_rows, dtype=torch.long, device=device)
        self.capacity = capacity
        self._keys: dict[int, torch.Tensor] = {}
        self._values: dict[int, torch.Tensor] = {}

    def write(
        self, layer: int, key: torch.Tensor, value: torch.Tensor, columns_RS: torch.Tensor
    ) -> None:
        """Store new keys and values `[R, K, S, D]` at the given columns of their rows."""
        rows = torch.arange(len(self.lengths), device=columns_RS.device)[:, None]
        for held, new in ((self._keys, key), (self._values, value)):
            self._buffer(held, layer, new)[rows, :, columns_RS] = new.transpose(1, 2)

    def read(self, layer: int, num_columns: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return views of the first keys and values `[R, K, columns, D]` of all rows."""
        return self._keys[layer][:, :, :num_columns], self._values[layer][:, :, :num_columns]

    def load_rows(self, rows: torch.Tensor, other: RowCache) -> None:
        """Copy the rows of another cache into the given rows, in order."""
        for mine, theirs in ((self._keys, other._keys), (self._values, other._values)):
            for layer, tensor in theirs.items():
                self._buffer(mine, layer, tensor)[rows, :, : other.capacity] = tensor[:, :, :-1]
        self.lengths[rows] = other.lengths

    def load_prefix(self, row: int, prefix: Prefix) -> None:
        """Copy a prefix into a row."""
        for layer in prefix._keys:
            pair = prefix.read(layer, 0, len(prefix))
            for held, new in zip((self._keys, self._values), pair, strict=True):
                self._buffer(held, layer, new[None])[row, :, : len(prefix)] = new
        self.lengths[row] = len(prefix)

    def append_to(self, prefix: Prefix, row: int, ids: tuple[int, ...]) -> None:
        """Append a row's first tokens, whose ids are given, to a prefix."""
        for layer in self._keys:
            keys, values = self.read(layer, len(ids))
            prefix.write(layer, len(prefix), keys[row], values[row])
        prefix.ids += ids

    def keep_rows(self, rows: torch.Tensor) -> None:
        """Drop all rows except the given ones."""
        self._keys = {layer: tensor[rows] for layer, tensor in self._keys.items()}
        self._values = {layer: tensor[rows] for layer, tensor in self._values.items()}
        self.lengths = self.lengths[rows]

    def _buffer(
        self, held: dict[int, torch.Tensor], layer: int, like: torch.Tensor
    ) -> torch.Tensor:
        if layer not in held:
            # Not uninitialised: masked values are still multiplied by a weight of zero, and may be NaN.
            held[layer] = like.new_zeros(
                len(self.lengths), like.shape[1], self.capacity + 1, like.shape[3]
            )
        return held[layer]


PrefixKey = tuple[str | None, str]
"""Adapter and name of the group; groups without a name are not kept."""


class KeptPrefixes:
    """Prefixes of groups that later calls may continue; the least recently used are dropped first."""

    def __init__(self, max_tokens: int) -> None:
        self.max_tokens = max_tokens
        self._kept: OrderedDict[PrefixKey, Prefix] = OrderedDict()
        self._dropped: dict[PrefixKey, int] = {}
        """Length of each prefix that was dropped, by which a repeated encoding is noticed."""
        self._has_warned = False

    def take(self, key: PrefixKey, ids: Sequence[int], reach: int) -> tuple[Prefix, int]:
        """Remove and return the kept part of a prefix, and how many dropped tokens must be encoded again.

        The first time that this number is not zero, a warning is logged.

        `reach` tokens are needed now; kept ones from the first other id on are cut off.
        """
        prefix = self._kept.pop(key, None) or Prefix()
        prefix.ids = prefix.ids[: shared_length(ids, prefix.ids)]
        num_known = self._dropped.get(key, 0)
        if num_known <= reach:
            self._dropped.pop(key, None)
        num_again = max(0, min(num_known, reach) - len(prefix))
        if num_again and not self._has_warned:
            self._has_warned = True
            log.warning(
                "dialogues are encoded again, since at most %d tokens are kept between calls: raise "
                "max_kept_tokens, or work on fewer dialogues at once",
                self.max_tokens,
            )
        return prefix, num_again

    def put(self, key: PrefixKey, prefix: Prefix) -> None:
        """Keep a prefix, and drop others to make room; a prefix that is too long is dropped itself."""
        if not key[1]:
            return
        self._kept[key] = prefix
        while sum(map(len, self._kept.values())) > self.max_tokens:
            oldest, dropped = self._kept.popitem(last=False)
            self._dropped[oldest] = len(dropped)

    def forget(self) -> None:
        """Drop everything."""
        self._kept.clear()
        self._dropped.clear()


MOST_IDLE = 2
"""Most multiplications of a product per pair of row and token that is needed; else it is split."""
MOST_PAIRS = 2_000_000
"""Most pairs of a new token and a prefix token in one product: bounds its mask and, on a GPU, its scores."""


class PrefixStack:
    """Copies of prefixes in one buffer per layer, made when it is first read; a single one is not copied.

    `prefixes` are by the number of the group in its batch, each with the number of tokens that are read, at
    least one and all similar. They must not change while the stack is used.
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
        """Drop the other groups; the last groups that stay move into the free places."""
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
        # Zeros, since masked values are still multiplied by a weight of zero, and must not be NaN.
        keys, values = (pairs[0][0].new_zeros(len(pairs), heads, longest, size) for _ in range(2))
        for index, pair in enumerate(pairs):
            for held, stored in zip((keys, values), pair, strict=True):
                held[index, :, : stored.shape[1]] = stored
        return keys, values


@dataclass(frozen=True, eq=False)
class Read:
    """One product: G consecutive prefixes of a stack and the rows that read them.

    The rows stand in a grid of N places for each prefix; places may be empty.
    """

    stack: PrefixStack
    first: int
    num_prefixes: int
    num_tokens: int
    """P."""
    rows: torch.Tensor
    places: torch.Tensor
    """Place in the grid of each of `rows`."""
    num_rows: int
    """N."""

    def of_layer(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return keys and values `[G, K, P, D]`."""
        return self.stack.read(layer, self.first, self.num_prefixes, self.num_tokens)

    def in_grid(self, values: torch.Tensor) -> torch.Tensor:
        """Return values of `rows` in the grid, `[G, N, …]`; empty places are zero."""
        grid = values.new_zeros(self.num_prefixes * self.num_rows, *values.shape[1:])
        grid[self.places] = values
        return grid.view(self.num_prefixes, self.num_rows, *values.shape[1:])

    def fold(self, query: torch.Tensor) -> torch.Tensor:
        """Return the queries `[R, K, Q, D]` in the order of their prefixes, `[G, K, N * Q, D]`."""
        return self.in_grid(query[self.rows]).transpose(1, 2).flatten(2, 3)

    def unfold(self, results: torch.Tensor) -> torch.Tensor:
        """Return results `[G, K, N * Q, …]` in the order of `rows`, `[len(rows), K, Q, …]`."""
        num_kv, num_queries = results.shape[1], results.shape[2] // self.num_rows
        apart = results.view(-1, num_kv, self.num_rows, num_queries, *results.shape[3:])
        return apart.transpose(1, 2).flatten(0, 1)[self.places]


class SharedPrefixes:
    """The prefixes of a batch, one per group of rows, in stacks of similar lengths.

    The rows of a group read `reaches` tokens of its prefix, perhaps none.
    """

    def __init__(
        self, prefixes: Sequence[Prefix], reaches: Sequence[int], device: torch.device
    ) -> None:
        self._device = device
        self.stacks = []
        used = [group for group, reach in enumerate(reaches) if reach]
        for part in like_lengths([reaches[group] for group in used]):
            groups = [used[i] for i in part]
            self.stacks.append(PrefixStack({g: (prefixes[g], reaches[g]) for g in groups}))

    def keep(self, groups: set[int]) -> None:
        """Drop the prefixes of the other groups."""
        for stack in self.stacks:
            stack.keep(groups)

    def reads(self, groups: Sequence[int], forks: Sequence[int], num_new: int = 1) -> list[Read]:
        """Return the products for some rows.

        By row, `groups` has the number of its group, and `forks` the tokens of its prefix that it sees.
        `num_new` is S.
        """
        readers: dict[int, list[int]] = {}
        for row, group in enumerate(groups):
            if forks[row]:
                readers.setdefault(group, []).append(row)
        reads = []
        for stack in self.stacks:
            rows = [readers.get(group, []) for group in stack.groups]
            work = [[forks[row] for row in members] for members in rows]
            for first, end in _products(work, 0, len(work), MOST_PAIRS // num_new):
                reads.append(self._read(stack, first, rows[first:end], forks))
        return reads

    def _read(
        self, stack: PrefixStack, first: int, rows: Sequence[Sequence[int]], forks: Sequence[int]
    ) -> Read:
        num_rows = max(map(len, rows))
        places = [i * num_rows + place for i, part in enumerate(rows) for place in range(len(part))]
        flat = [row for part in rows for row in part]
        return Read(
            stack,
            first,
            num_prefixes=len(rows),
            num_tokens=max(forks[row] for row in flat),
            rows=torch.tensor(flat, device=self._device),
            places=torch.tensor(places, device=self._device),
            num_rows=num_rows,
        )


def _products(
    work: Sequence[Sequence[int]], first: int, end: int, most: int
) -> Iterator[tuple[int, int]]:
    """Yield `[first, end)` of the products over a part of a stack.

    `work` has, for each prefix, the tokens that each of its rows reads. The rows of one product read at most
    `most` tokens, padding included.
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
