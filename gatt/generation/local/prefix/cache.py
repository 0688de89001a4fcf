"""The key/value caches of sampling: of prefixes that rows continue, and of the rows.

Shapes: R rows, S new tokens a row, K key/value heads, D head size. The first keys of a layer decide K and D.
"""

from __future__ import annotations

import torch

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
