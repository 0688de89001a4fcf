"""Attention over shared prefixes and what rows add to them: the split of the comb, for sampling.

The keys and values of a prefix are encoded once and multiplied with the queries of all rows
that continue it in one product. Tokens that a row adds go to a small buffer of its own.

Registered with transformers as attention implementation `gatt_prefix`; the model is called with
an `AppendStep` or a `RowStep` as the keyword argument `prefix_step`.

Shapes: R rows, S new tokens a row, N new tokens of all rows, H query heads, K
key/value heads, D head size, L tokens of the longest prefix, M own tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from typing import Any, Protocol

import torch
from transformers import AttentionInterface

from gatt.comb.attention.backend import window_of
from gatt.comb.attention.split import attend
from gatt.generation.local.prefix.cache import Prefix, RowCache, SharedPrefixes
from gatt.generation.local.prefix.row_attention import RowMask, row_attention

IMPLEMENTATION = "gatt_prefix"


class PrefixStep(Protocol):
    """New tokens of one forward pass: the model is called with it as `prefix_step`."""

    input_ids: torch.Tensor

    @property
    def position_ids(self) -> torch.Tensor:
        """Positions of the tokens, in the shape of their ids."""

    def attend(
        self,
        layer: int,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        window: int | None,
        **how: Any,
    ) -> torch.Tensor:
        """Store keys and values of a layer; return its attention output."""

    def commit(self) -> None:
        """Count the new tokens as stored; call it after the forward pass."""


class AppendStep:
    """New tokens at the end of several prefixes, side by side in one row `[1, N]`: no padding.

    Each prefix gets at least one new token.
    """

    def __init__(
        self,
        prefixes: Sequence[Prefix],
        tokens: Sequence[Sequence[int]],
        device: torch.device,
    ) -> None:
        self.prefixes = prefixes
        self._tokens = tokens
        self._known = [len(p) for p in prefixes]
        self._spans = list(pairwise(accumulate(map(len, tokens), initial=0)))
        self.input_ids = torch.tensor([[i for ids in tokens for i in ids]], device=device)
        self.position_ids = torch.cat(
            [
                torch.arange(num_known, num_known + len(ids), device=device)
                for num_known, ids in zip(self._known, tokens, strict=True)
            ]
        )[None]
        self._masks: dict[tuple[int, int | None], torch.Tensor | None] = {}

    def attend(
        self,
        layer: int,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        window: int | None,
        **how: Any,
    ) -> torch.Tensor:
        """Store keys and values of a layer; return its attention output `[1, N, H, D]`."""
        _, heads, length, size = query.shape
        output = query.new_empty(1, length, heads, size)
        for index, (prefix, (start, end)) in enumerate(
            zip(self.prefixes, self._spans, strict=True)
        ):
            num_known = self._known[index]
            prefix.write(layer, num_known, key[0, :, start:end], value[0, :, start:end])
            first = 0 if window is None else max(0, num_known - window + 1)
            keys, values = prefix.read(layer, first, num_known + end - start)
            mask = self._mask(index, first, window)
            attended = attend(query[:, :, start:end], keys[None], values[None], mask, **how)
            output[:, start:end] = attended.transpose(1, 2)
        return output

    def commit(self) -> None:
        """Count the new tokens as stored; call it after the forward pass."""
        for prefix, ids in zip(self.prefixes, self._tokens, strict=True):
            prefix.ids += tuple(ids)

    def _mask(self, index: int, first: int, window: int | None) -> torch.Tensor | None:
        """Return which keys from `first` on each new token sees, `[S, keys]`; None is causal."""
        if (index, window) not in self._masks:
            num_known, (start, end) = self._known[index], self._spans[index]
            mask = None
            if num_known or (window is not None and end - start > window):
                keys = torch.arange(first, num_known + end - start, device=self.input_ids.device)
                queries = self.position_ids[0, start:end, None]
                mask = keys <= queries
                if window is not None:
                    mask &= queries - keys < window
            self._masks[index, window] = mask
        return self._masks[index, window]


class RowStep:
    """S new tokens of every row, padded on the left, behind the prefixes that the rows continue.

    `cache` holds the rows' own tokens. By row, `groups` has the number of its group, and `forks` the tokens of
    its prefix that it sees.
    """

    def __init__(
        self,
        cache: RowCache,
        tokens: Sequence[Sequence[int]],
        prefixes: SharedPrefixes,
        groups: Sequence[int],
        forks: Sequence[int],
    ) -> None:
        self._cache = cache
        device, lengths = cache.lengths.device, cache.lengths
        width = max(map(len, tokens))
        padded = [[0] * (width - len(ids)) + list(ids) for ids in tokens]
        self.input_ids = torch.tensor(padded, device=device)
        self._counts_R = torch.tensor([len(ids) for ids in tokens], device=device)
        index_RS = torch.arange(width, device=device)[None] - (width - self._counts_R)[:, None]
        is_real_RS = index_RS >= 0
        columns_RS = lengths[:, None] + index_RS
        self._columns_RS = torch.where(is_real_RS, columns_RS, cache.capacity)
        self._num_own = int((lengths + self._counts_R).max())
        self._seen_RS = torch.where(is_real_RS, columns_RS, 0)
        self._forks_R = torch.tensor(forks, device=device)
        self.position_ids = torch.where(is_real_RS, self._forks_R[:, None] + columns_RS, 0)
        self._reads = prefixes.reads(groups, forks, width)
        self._num_shared = max((read.num_tokens for read in self._reads), default=0)
        self._masks: dict[int | None, RowMask] = {}

    def attend(
        self,
        layer: int,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        window: int | None,
        **how: Any,
    ) -> torch.Tensor:
        """Store keys and values of a layer; return its attention output `[R, S, H, D]`."""
        self._cache.write(layer, key, value, self._columns_RS)
        own = self._cache.read(layer, self._num_own)
        shared = [(read, read.of_layer(layer)) for read in self._reads]
        mask = self._mask(window, query.shape[1] // key.shape[1], query.dtype)
        return row_attention(query, own, shared, mask, **how)

    def commit(self) -> None:
        """Count the new tokens as stored; call it after the forward pass."""
        self._cache.lengths = self._cache.lengths + self._counts_R

    def _mask(self, window: int | None, repeat: int, dtype: torch.dtype) -> RowMask:
        if window not in self._masks:
            device = self.input_ids.device
            own = torch.arange(self._num_own, device=device)
            shared = torch.arange(self._num_shared, device=device)
            seen_own = own[None, None] <= self._seen_RS[:, :, None]
            seen_shared = (shared[None] < self._forks_R[:, None])[:, None].expand(
                -1, self.input_ids.shape[1], -1
            )
            if window is not None:
                at = self.position_ids[:, :, None]
                seen_own = seen_own & (at - self._forks_R[:, None, None] - own < window)
                seen_shared = seen_shared & (at - shared < window)
            seen = torch.cat((seen_shared, seen_own), dim=-1)
            self._masks[window] = RowMask(seen, self._num_shared, repeat, dtype)
        return self._masks[window]


def prefix_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,  # noqa: ARG001 - transformers' signature
    *,
    prefix_step: PrefixStep,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Return the attention output `[B, S, H, D]` of one layer, and no weights.

    The signature is that of transformers' attention functions; the mask follows from the step,
    not from `attention_mask`.

    Raises:
        ValueError: attention sinks (`s_aux`), which are not computed here.
    """
    if s_aux is not None:
        raise ValueError("attention sinks have no shared prefixes")
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    window = window_of(module, sliding_window)
    output = prefix_step.attend(
        module.layer_idx, query, key, value, window, scale=scale, softcap=softcap
    )
    return output, None


AttentionInterface.register(IMPLEMENTATION, prefix_attention)


@contextmanager
def prefix_implementation(model: Any) -> Iterator[None]:
    """Let the model use this attention while the block runs."""
    config = model.config
    before = config._attn_implementation
    config._attn_implementation = IMPLEMENTATION
    try:
        yield
    finally:
        config._attn_implementation = before


def run_step(model: Any, step: PrefixStep, logits_to_keep: int | torch.Tensor = 1) -> torch.Tensor:
    """Return the logits `[B, positions, V]` of a step at some positions, and store its new tokens.

    The model is under `prefix_implementation`. `logits_to_keep` is the number of last positions, or the
    positions themselves.
    """
    output = model(
        input_ids=step.input_ids,
        position_ids=step.position_ids,
        use_cache=False,
        logits_to_keep=logits_to_keep,
        prefix_step=step,
    )
    step.commit()
    logits: torch.Tensor = output.logits
    return logits
