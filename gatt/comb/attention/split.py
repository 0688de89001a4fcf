"""Split attention: SDPA over blocks of queries and the keys that they may see.

A branch sees its part of the trunk and itself, never another branch. So the
trunk is one causal product, and neighbouring branches share a product with the
trunk up to their furthest fork. Nothing T x T is made, and what a block
forbids inside itself is a small mask that all layers share.

Shapes: T tokens of the row, H query heads, K key/value heads, D head size, Q
queries and S keys of a block.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

from gatt.comb.collator import TRUNK, RowGeometry

_PLANLESS: Final = [
    SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH
]  # fmt: skip
"""Kernels that need no plan for each new shape. On recent GPUs torch would take cuDNN's, which plans every
pair of lengths for about a second; blocks of a packed row and prefixes of a conversation have ever new ones."""
QUERIES_PER_BLOCK = 64
"""Branches are taken together until a block has so many queries: fewer waste less on pairs that
the mask forbids, more keep the matrix product busy."""
MOST_QUERIES_PER_BLOCK = 256
"""Queries of a block that has a mask: a longer branch is cut, and so is a trunk that needs one."""


@dataclass(frozen=True)
class Block:
    """Queries `[start, end)` of a row, and the keys that they see: of the trunk, and of their own part."""

    start: int
    end: int
    trunk_start: int
    trunk_end: int
    """The trunk keys `[trunk_start, trunk_end)`; empty for a block of the trunk itself."""
    own_start: int
    """The other keys are `[own_start, end)`."""
    mask: torch.Tensor | None
    """Added to the scores, `[Q, S]`: 0 or -inf; None is plainly causal."""

    def keys(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return the block's keys or values `[1, K, S, D]` of those of the row."""
        own = tensor[:, :, self.own_start : self.end]
        if self.trunk_start == self.trunk_end:
            return own
        return torch.cat((tensor[:, :, self.trunk_start : self.trunk_end], own), dim=2)


def plan_blocks(
    geometry: RowGeometry,
    dtype: torch.dtype,
    window: int | None = None,
    *,
    has_masks_only: bool = False,
) -> tuple[Block, ...]:
    """Return the blocks of a row, whose queries are all its tokens, once each and in order.

    `dtype` is that of the scores, `window` that of a layer with a sliding window. With `has_masks_only`
    no block is plainly causal, for a kernel that makes the scores of a whole block.
    """
    # One copy from the device, since each waits for it.
    vectors = torch.stack((geometry.document_ids, geometry.branch_ids, geometry.visible))
    documents, branches, visible = vectors.tolist()
    tokens = list(zip(documents, branches, strict=True))
    bounds = [0, *(i for i in range(1, len(tokens)) if tokens[i] != tokens[i - 1]), len(tokens)]
    blocks: list[Block] = []
    group: list[int] = []
    trunk = 0

    def add(start: int, end: int, trunk_start: int, trunk_end: int, own_start: int) -> None:
        device = geometry.document_ids.device
        queries = torch.arange(start, end, device=device)
        spans = ((trunk_start, trunk_end), (own_start, end))
        keys = torch.cat([torch.arange(*span, device=device) for span in spans])
        seen = geometry.sees(queries[:, None], keys[None, :], window)
        mask = torch.zeros(seen.shape, dtype=dtype, device=device).masked_fill_(~seen, -torch.inf)
        blocks.append(Block(start, end, trunk_start, trunk_end, own_start, mask))

    def flush() -> None:
        """Add the branches of the group: together, or one that is long in pieces."""
        if not group:
            return
        start, end = group[0], group[-1]
        forks = [visible[head] for head in group[:-1]]
        trunk_end = trunk + max(forks)
        # What no query's window reaches is left out.
        first = 0 if window is None else max(0, min(forks) - window + 1)
        step = MOST_QUERIES_PER_BLOCK if len(forks) == 1 else end - start
        for head in range(start, end, step):
            tail = min(head + step, end)
            add(head, tail, min(trunk + first, trunk_end), trunk_end, start)
        group.clear()

    for start, end in pairwise(bounds):
        if branches[start] != TRUNK:
            if group and end - group[0] > MOST_QUERIES_PER_BLOCK:
                flush()
            group.extend([start, end] if not group else [end])
            if end - group[0] >= QUERIES_PER_BLOCK:
                flush()
            continue
        flush()
        trunk = start
        is_whole = window is None or end - start <= window
        if is_whole and not has_masks_only:
            blocks.append(Block(start, end, start, start, start, None))
            continue
        for head in range(start, end, MOST_QUERIES_PER_BLOCK):
            tail = min(head + MOST_QUERIES_PER_BLOCK, end)
            reach = start if window is None else max(start, head - window + 1)
            add(head, tail, start, start, reach)
    flush()
    return tuple(blocks)


def split_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    blocks: tuple[Block, ...],
    *,
    scale: float,
    softcap: float | None = None,
) -> torch.Tensor:
    """Return the attention output `[1, T, H, D]` of one layer; see `CombAttention.attend`.

    Nothing quadratic in T is kept for the backward pass. The blocks have masks only where there is a
    softcap.
    """
    if query.device.type == "cpu" and softcap is None:
        output: torch.Tensor = _FlashBlocks.apply(query, key, value, blocks, scale)  # type: ignore[no-untyped-call]
        return output

    def output_of(block: Block, query: torch.Tensor, *kept: torch.Tensor) -> torch.Tensor:
        keys, values = (block.keys(tensor) for tensor in kept)
        queries = query[:, :, block.start : block.end]
        return attend(queries, keys, values, block.mask, scale=scale, softcap=softcap)

    # Recomputed, or every block would keep a copy of its keys, and of its scores where the device has
    # no kernel for a mask.
    outputs = [checkpoint(output_of, b, query, key, value, use_reentrant=False) for b in blocks]
    return torch.cat(outputs, dim=2).transpose(1, 2)


class _FlashBlocks(torch.autograd.Function):
    """The blocks by torch's flash kernel for CPU, with one buffer for each gradient.

    Composed of differentiable parts, every block would keep a copy of its keys
    and hand back a gradient as long as the row.
    """

    @staticmethod
    def forward(
        ctx: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        blocks: tuple[Block, ...],
        scale: float,
    ) -> torch.Tensor:
        """Return the output `[1, T, H, D]`."""
        _, heads, length, size = query.shape
        output = query.new_empty((1, length, heads, size))
        sums = []
        for block in blocks:
            out, log_sum = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
                query[:, :, block.start : block.end], block.keys(key), block.keys(value),
                0.0, block.mask is None, attn_mask=block.mask, scale=scale,
            )  # fmt: skip
            output[:, block.start : block.end] = out.transpose(1, 2)
            sums.append(log_sum)
        ctx.save_for_backward(query, key, value, output, *sums)
        ctx.blocks, ctx.scale = blocks, scale
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[Any, ...]:
        """Return the gradients of query, key and value."""
        query, key, value, output, *sums = ctx.saved_tensors
        gradient = gradients[0].transpose(1, 2)
        output = output.transpose(1, 2)
        grad_query = torch.empty_like(query)
        grad_key, grad_value = torch.zeros_like(key), torch.zeros_like(value)
        for block, log_sum in zip(ctx.blocks, sums, strict=True):
            queries, own = slice(block.start, block.end), slice(block.own_start, block.end)
            grads = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
                gradient[:, :, queries], query[:, :, queries], block.keys(key),
                block.keys(value), output[:, :, queries], log_sum,
                0.0, block.mask is None, attn_mask=block.mask, scale=ctx.scale,
            )  # fmt: skip
            grad_query[:, :, queries] = grads[0]
            num_trunk = block.trunk_end - block.trunk_start
            trunk = slice(block.trunk_start, block.trunk_end)
            for whole, part in ((grad_key, grads[1]), (grad_value, grads[2])):
                whole[:, :, trunk] += part[:, :, :num_trunk]
                whole[:, :, own] += part[:, :, num_trunk:]
        return grad_query, grad_key, grad_value, None, None


def soft_capped(scores: torch.Tensor, softcap: float) -> torch.Tensor:
    """Return scores that stay between -softcap and softcap (Gemma 2, arXiv:2408.00118, section 2)."""
    return softcap * torch.tanh(scores / softcap)


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    *,
    scale: float,
    softcap: float | None = None,
) -> torch.Tensor:
    """Return the attention output `[B, H, S, D]`; without a mask it is causal.

    `query` is `[B, H, S, D]`, `key` and `value` are `[B, K, L, D]`, where K divides H. The mask is bool, or
    added to the scores, of a shape that goes with `[B, H, S, L]`. No kernel has a `softcap` (`soft_capped`):
    all scores are then held at once.
    """
    repeat = query.shape[1] // key.shape[1]
    if repeat > 1 and (query.is_cuda or softcap is not None):
        # Only one of the kernels takes grouped heads, and that one neither a mask nor float32.
        key, value = (t.repeat_interleave(repeat, dim=1) for t in (key, value))
    if softcap is None:
        kernels: AbstractContextManager[Any] = (
            sdpa_kernel(_PLANLESS) if query.is_cuda else nullcontext()
        )
        with kernels:
            return scaled_dot_product_attention(
                query, key, value, attn_mask=mask, is_causal=mask is None, scale=scale,
                enable_gqa=key.shape[1] < query.shape[1],
            )  # fmt: skip
    scores = soft_capped(query @ key.transpose(-1, -2) * scale, softcap)
    if mask is None:
        mask = scores.new_ones(scores.shape[-2:], dtype=torch.bool).tril()
    if mask.dtype == torch.bool:
        # Finite, since a padded query sees nothing.
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    else:
        scores = scores + mask
    precise = torch.promote_types(scores.dtype, torch.float32)
    return scores.softmax(-1, dtype=precise).to(query.dtype) @ value
