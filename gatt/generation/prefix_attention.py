"""Split attention over a shared trunk and a row's own tokens, and the caches for it.

Rows that continue one trunk attend to its keys and values where they lie: the
trunk is stored once, multiplied with the queries of all its rows in one
product, and never copied. What a row adds goes to a small buffer of its own.

Registered with transformers as attention implementation `gatt_prefix`; the
state of a step travels as the keyword argument `prefix_step` of the forward.

Shapes: R rows, S new tokens a row, H query heads, K key/value heads, D head
size, L trunk tokens, M own tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional
from transformers import AttentionInterface

IMPLEMENTATION = "gatt_prefix"


class RowCache:
    """Keys and values of R rows of different lengths, in buffers made once.

    The last column of each buffer takes what padding writes; nothing reads it.
    """

    def __init__(
        self, config: Any, num_rows: int, capacity: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        shape = (num_rows, heads, capacity + 1, size)
        layers = range(config.num_hidden_layers)
        self.keys = [torch.zeros(shape, dtype=dtype, device=device) for _ in layers]
        self.values = [torch.zeros(shape, dtype=dtype, device=device) for _ in layers]
        self.lengths = torch.zeros(num_rows, dtype=torch.long, device=device)

    @property
    def num_rows(self) -> int:
        """Number of rows held."""
        return len(self.lengths)

    def write(
        self, layer: int, key: torch.Tensor, value: torch.Tensor, columns_RS: torch.Tensor
    ) -> None:
        """Put new keys and values `[R, K, S, D]` at the given columns of their rows."""
        rows = torch.arange(self.num_rows, device=columns_RS.device)[:, None]
        self.keys[layer][rows, :, columns_RS] = key.transpose(1, 2)
        self.values[layer][rows, :, columns_RS] = value.transpose(1, 2)

    def load_rows(self, rows: torch.Tensor, other: RowCache, num_columns: int) -> None:
        """Start the given rows with the first columns of another cache's rows, in order."""
        for layer in range(len(self.keys)):
            self.keys[layer][rows, :, :num_columns] = other.keys[layer][:, :, :num_columns]
            self.values[layer][rows, :, :num_columns] = other.values[layer][:, :, :num_columns]
        self.lengths[rows] = other.lengths

    def keep_rows(self, rows: torch.Tensor) -> None:
        """Drop all rows but the given ones."""
        self.keys = [k[rows] for k in self.keys]
        self.values = [v[rows] for v in self.values]
        self.lengths = self.lengths[rows]

    def row_view(self, row: int) -> RowCache:
        """Return one row as a cache of its own: same buffers, a length that moves apart."""
        view = RowCache.__new__(RowCache)
        view.keys = [k[row : row + 1] for k in self.keys]
        view.values = [v[row : row + 1] for v in self.values]
        view.lengths = self.lengths[row : row + 1].clone()
        return view

    def row_tokens(self, row: int, num_tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return copies of a row's first keys and values, `[layers, K, tokens, D]` each."""
        return (
            torch.stack([k[row, :, :num_tokens] for k in self.keys]),
            torch.stack([v[row, :, :num_tokens] for v in self.values]),
        )

    def load_row(self, row: int, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Start a row with stored keys and values, as `row_tokens` gives them."""
        num_tokens = keys.shape[2]
        for layer in range(len(self.keys)):
            self.keys[layer][row, :, :num_tokens] = keys[layer]
            self.values[layer][row, :, :num_tokens] = values[layer]
        self.lengths[row] = num_tokens


@dataclass
class PrefixStep:
    """One forward over S new tokens of every row, padded on the left.

    `counts_R` is how many of the S are real. With a trunk, `groups` holds for
    each trunk row the [start, end) of the rows that continue it, in order, and
    `forks_R` how much of the trunk each row sees.
    """

    cache: RowCache
    counts_R: torch.Tensor
    num_columns: int
    trunk: RowCache | None = None
    groups: Sequence[tuple[int, int]] = ()
    forks_R: torch.Tensor | None = None

    def __post_init__(self) -> None:
        device = self.counts_R.device
        offsets = torch.arange(self.num_columns, device=device)[None, :]
        index_RS = offsets - (self.num_columns - self.counts_R)[:, None]
        dump = self.cache.keys[0].shape[2] - 1
        lengths = self.cache.lengths
        self.is_real_RS = index_RS >= 0
        self.columns_RS = torch.where(self.is_real_RS, lengths[:, None] + index_RS, dump)
        self.num_own = int((lengths + self.counts_R).max())
        seen = torch.where(self.is_real_RS, self.columns_RS, 0)
        self.own_mask_RSM = (
            torch.arange(self.num_own, device=device)[None, None] <= seen[:, :, None]
        )
        base = self.forks_R if self.forks_R is not None else torch.zeros_like(lengths)
        self.position_ids_RS = torch.where(self.is_real_RS, base[:, None] + self.columns_RS, 0)
        self.is_plain_causal = (
            self.trunk is None
            and not int(lengths.max())
            and int(self.counts_R.min()) == self.num_columns
        )
        if self.trunk is not None and self.forks_R is not None:
            columns = torch.arange(int(self.forks_R.max()), device=device)
            self.trunk_mask_RL = columns[None, :] < self.forks_R[:, None]
            self.group_lengths = [
                int(self.forks_R[start:end].max()) if end > start else 0
                for start, end in self.groups
            ]

    def commit(self) -> None:
        """Count the new tokens as held, after the forward."""
        self.cache.lengths = self.cache.lengths + self.counts_R


def prefix_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,  # noqa: ARG001 - transformers' signature
    *,
    prefix_step: PrefixStep,
    scaling: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Return the attention output `[R, S, H, D]` of one layer, and no weights.

    Args:
        module: the attention layer; names its index.
        query: `[R, H, S, D]`, rotated to its positions.
        key: `[R, K, S, D]` of the new tokens; kept in the step's cache.
        value: likewise.
        attention_mask: unused; what may be seen follows from the step.
        prefix_step: caches and geometry of this forward.
        scaling: factor of the scores; None is 1/sqrt(D).
    """
    step, layer = prefix_step, module.layer_idx
    step.cache.write(layer, key, value, step.columns_RS)
    if step.is_plain_causal:
        out = functional.scaled_dot_product_attention(
            query, key, value, is_causal=query.shape[2] > 1, scale=scaling, enable_gqa=True
        )
        return out.transpose(1, 2), None
    own_keys = step.cache.keys[layer][:, :, : step.num_own]
    own_values = step.cache.values[layer][:, :, : step.num_own]
    if step.trunk is None:
        out = functional.scaled_dot_product_attention(
            query, own_keys, own_values, attn_mask=step.own_mask_RSM[:, None], scale=scaling,
            enable_gqa=True,
        )  # fmt: skip
        return out.transpose(1, 2), None
    rows, heads, columns, size = query.shape
    kv_heads = key.shape[1]
    repeat = heads // kv_heads
    scale = size**-0.5 if scaling is None else scaling
    query_RKQD = (query * scale).reshape(rows, kv_heads, repeat * columns, size)
    lowest = torch.finfo(query.dtype).min
    own = query_RKQD @ own_keys.transpose(-1, -2)
    own_mask = step.own_mask_RSM[:, None, None].expand(rows, 1, repeat, columns, step.num_own)
    own = own.masked_fill(~own_mask.reshape(rows, 1, repeat * columns, step.num_own), lowest)
    out = torch.empty_like(query_RKQD)
    for group, (start, end) in enumerate(step.groups):
        if start == end:
            continue
        length = step.group_lengths[group]
        trunk_keys = step.trunk.keys[layer][group, :, :length]
        trunk_values = step.trunk.values[layer][group, :, :length]
        size_b = end - start
        stacked = query_RKQD[start:end].transpose(0, 1).reshape(kv_heads, -1, size)
        scores = (stacked @ trunk_keys.transpose(-1, -2)).view(kv_heads, size_b, -1, length)
        hidden = ~step.trunk_mask_RL[start:end, :length]
        scores = scores.masked_fill(hidden[None, :, None], lowest).transpose(0, 1)
        weights = torch.cat((scores, own[start:end]), dim=-1).softmax(dim=-1, dtype=torch.float32)
        weights = weights.to(query.dtype)
        on_trunk = weights[..., :length].transpose(0, 1).reshape(kv_heads, -1, length)
        from_trunk = (on_trunk @ trunk_values).view(kv_heads, size_b, -1, size).transpose(0, 1)
        out[start:end] = from_trunk + weights[..., length:] @ own_values[start:end]
    return out.view(rows, heads, columns, size).transpose(1, 2), None


AttentionInterface.register(IMPLEMENTATION, prefix_attention)


@contextmanager
def prefix_implementation(model: Any) -> Iterator[None]:
    """Switch the model to this attention for a while; put the old one back."""
    config = model.config
    before = config._attn_implementation
    config._attn_implementation = IMPLEMENTATION
    try:
        yield
    finally:
        config._attn_implementation = before
