"""The key/value caches of sampling: of prefixes that rows continue, and of the rows.

`KeptPrefixes` keeps prefixes from batch to batch.

Shapes: R rows, S new tokens a row, K key/value heads, D head size. The first keys of a layer decide K and D.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Sequence

import torch

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

    @property
    def layers(self) -> list[int]:
        """The layers that have written."""
        return list(self._keys)

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
        for layer in prefix.layers:
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


Key = tuple[str | None, str]
"""Adapter and name of the group; groups without a name are not kept."""


class KeptPrefixes:
    """Prefixes of groups that later calls may continue; the least recently used are dropped first.

    Args:
        max_tokens: most tokens of all prefixes together.
    """

    def __init__(self, max_tokens: int) -> None:
        self.max_tokens = max_tokens
        self._kept: OrderedDict[Key, Prefix] = OrderedDict()
        self._dropped: dict[Key, int] = {}
        """Length of each prefix that was dropped, by which a repeated encoding is noticed."""
        self._has_warned = False

    def __len__(self) -> int:
        return len(self._kept)

    def ids(self, key: Key) -> tuple[int, ...]:
        """Return the tokens of a group that are kept, perhaps none."""
        return self._kept[key].ids if key in self._kept else ()

    def take(self, key: Key, ids: Sequence[int], reach: int) -> tuple[Prefix, int]:
        """Remove and return the kept part of a prefix, and how many dropped tokens must be encoded again.

        The first time that this number is not zero, a warning is logged.

        Args:
            key: of the group.
            ids: of the whole prefix; kept tokens from the first other id on are cut off.
            reach: number of tokens that are needed now.
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

    def put(self, key: Key, prefix: Prefix) -> None:
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
