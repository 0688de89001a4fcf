"""Attention of rows to shared prefixes and to their own tokens.

Rows that continue one prefix are multiplied with its keys and values together, and prefixes of
similar lengths in one product. On a CPU torch's flash kernel computes both parts, and the sums of
their weights, which it also returns, join them. On other devices, and with a softcap, the scores of both
parts are concatenated under one softmax.

Shapes: R rows, S new tokens a row, H query heads, K key/value heads, D head
size, Q = H / K * S queries of a key head, L tokens of the longest prefix, M own
tokens, G prefixes of one product, P tokens of the longest of them, N most rows that
share one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import torch

from gatt.comb.attention.split import soft_capped
from gatt.generation.local.prefix.cache import Read

KeysValues = tuple[torch.Tensor, torch.Tensor]
"""Keys and values."""


class RowMask:
    """Which shared and own columns each new token sees; the same for all layers of one window.

    `seen` is `[R, S, L + M]`, `num_shared` L, `repeat` the number of query heads a key head.
    """

    def __init__(
        self, seen: torch.Tensor, num_shared: int, repeat: int, dtype: torch.dtype
    ) -> None:
        self.seen = seen
        self.num_shared = num_shared
        self._repeat = repeat
        self._dtype = dtype
        self._of_prefixes: dict[Read, torch.Tensor] = {}

    @cached_property
    def own(self) -> torch.Tensor:
        """The mask that is added to the scores of own tokens, `[R, 1, Q, M]`."""
        return self._added(self.seen[..., self.num_shared :])[:, None]

    def of_prefixes(self, read: Read) -> torch.Tensor:
        """Return the mask that is added to the scores of prefixes, `[G, 1, N * Q, P]`."""
        if read not in self._of_prefixes:
            seen = self.seen[read.rows, :, : read.num_tokens]
            self._of_prefixes[read] = read.in_grid(self._added(seen)).flatten(1, 2)[:, None]
        return self._of_prefixes[read]

    def _added(self, seen: torch.Tensor) -> torch.Tensor:
        # Finite: for a row that sees nothing of a part -inf would give NaN; here its weight is zero.
        least = torch.finfo(self._dtype).min / 2
        added = torch.zeros(seen.shape, dtype=self._dtype, device=seen.device)
        added.masked_fill_(~seen, least)
        return added.repeat(1, self._repeat, 1)


def row_attention(
    query: torch.Tensor,
    own: KeysValues,
    shared: Sequence[tuple[Read, KeysValues]],
    mask: RowMask,
    *,
    scale: float,
    softcap: float | None,
) -> torch.Tensor:
    """Return the attention output `[R, S, H, D]`.

    `query` is `[R, H, S, D]`; `own` are keys and values `[R, K, M, D]`, `shared` the prefixes with keys and
    values `[G, K, P, D]`. A row with a prefix stands in exactly one of them. `softcap` is that of
    `gatt.comb.attention.split.soft_capped`.
    """
    rows, heads, columns, size = query.shape
    kv_heads = own[0].shape[1]
    folded = query.reshape(rows, kv_heads, heads // kv_heads * columns, size)
    if query.device.type == "cpu" and softcap is None:
        output = _joined(folded, own, shared, mask, scale)
    else:
        output = _side_by_side(folded, own, shared, mask, scale, softcap)
    return output.view(rows, heads, columns, size).transpose(1, 2)


def _joined(
    query: torch.Tensor,
    own: KeysValues,
    shared: Sequence[tuple[Read, KeysValues]],
    mask: RowMask,
    scale: float,
) -> torch.Tensor:
    """Return the output `[R, K, Q, D]` by the flash kernel, part by part."""
    flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    output: torch.Tensor
    output, log_sum = flash(query, *own, attn_mask=mask.own, scale=scale)
    # The caller views heads and tokens apart, which needs this order.
    output = output.contiguous()
    for read, pair in shared:
        rows = read.rows
        attended, its_sum = (
            read.unfold(part)
            for part in flash(
                read.fold(query), *pair, attn_mask=mask.of_prefixes(read), scale=scale
            )
        )
        weight = torch.sigmoid(its_sum - log_sum[rows])[..., None].to(attended.dtype)
        output[rows] = torch.lerp(output[rows], attended, weight)
    return output


def _side_by_side(
    query: torch.Tensor,
    own: KeysValues,
    shared: Sequence[tuple[Read, KeysValues]],
    mask: RowMask,
    scale: float,
    softcap: float | None,
) -> torch.Tensor:
    """Return the output `[R, K, Q, D]` by plain products, on any device."""
    rows, kv_heads, queries, _ = query.shape
    own_keys, own_values = own
    num_shared, columns = mask.num_shared, mask.seen.shape[1]
    precise = torch.promote_types(query.dtype, torch.float32)
    scores = query.new_empty(
        (rows, kv_heads, queries, num_shared + own_keys.shape[2]), dtype=precise
    )
    scores[..., num_shared:] = _products(query, own_keys)
    for read, (keys, _) in shared:
        products = _products(read.fold(query), keys)
        scores[read.rows, ..., : products.shape[-1]] = read.unfold(products)
    scores *= scale
    if softcap is not None:
        scores = soft_capped(scores, softcap)
    # Rows that no product wrote are uninitialised and may hold NaN; the mask covers them.
    split = scores.view(rows, kv_heads, queries // columns, columns, -1)
    split.masked_fill_(~mask.seen[:, None, None], torch.finfo(precise).min)
    weights = scores.softmax(dim=-1).to(query.dtype)
    output = weights[..., num_shared:] @ own_values
    for read, (_, values) in shared:
        weighted = read.fold(weights[..., : values.shape[2]]) @ values
        output[read.rows] += read.unfold(weighted)
    return output


def _products(query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """Return queries times keys `[G, K, Q, S]`, in float32 at least.

    Rounded to half precision, scores would be off by up to a tenth, and replies with them.
    """
    keys = keys.transpose(-1, -2)
    if query.is_cuda and query.dtype in (torch.bfloat16, torch.float16):
        # No copy of the keys in float32 is needed.
        flat: torch.Tensor = torch.bmm(
            query.flatten(0, 1), keys.flatten(0, 1), out_dtype=torch.float32
        )
        return flat.view(*query.shape[:-1], -1)
    precise = torch.promote_types(query.dtype, torch.float32)
    return query.to(precise) @ keys.to(precise)
