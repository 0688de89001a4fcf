"""The loss: LM head, cross-entropy and KL divergence only where there is a target.

Shapes: B rows, T tokens, N supervised tokens, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from gatt.comb.attention.backend import IMPLEMENTATION, Backend, CombAttention
from gatt.comb.collator import RowGeometry
from gatt.comb.comb import IGNORE
from gatt.errors import TrainingError

HALVES = (torch.bfloat16, torch.float16)
LOSS_CHUNK = 512
"""Tokens whose cross-entropy is computed at once where memory is short."""
KL_CHUNK = 64
"""Tokens whose distributions are held at once; the rest of the KL divergence is computed anew backward."""


def supervised_logits(
    model: Any,
    batch: Mapping[str, torch.Tensor],
    backend: Backend = "split",
    *,
    in_order: bool = True,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return logits `[N, V]` and labels `[N]` of the supervised tokens of a batch (`scored_tokens`)."""
    logits_NV, places_N = scored_tokens(model, batch, backend, in_order=in_order)
    return logits_NV, batch["labels"].flatten()[places_N]


def scored_tokens(
    model: Any,
    batch: Mapping[str, torch.Tensor],
    backend: Backend = "split",
    *,
    in_order: bool = True,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return logits `[N, V]` of the supervised tokens of a batch, and their places `[N]` in it.

    A place is the index in any `[B, T]` of the batch when flattened.

    A batch with `source` is one packed row `[1, T]`; else rows `[B, T]` with
    right padding, where each token is predicted by the one before it. Without
    any supervised token, N is 0 and the logits still hang on the graph.

    Args:
        model: a causal LM of transformers (or PEFT around it) whose forward
            takes `logits_to_keep` as a tensor of positions, and whose LM head is its
            output embedding. Packed rows need
            `gatt.comb.attention.backend.enable_comb_attention` first.
        batch: of `gatt.comb.collator.GattCollator`, on the model's device.
        backend: what computes the attention of packed rows.
        in_order: in the order of the tokens; else in any, which spares a copy of
            the logits in the forward and one of their gradient in the backward pass.

    Raises:
        ValueError: a packed row for a model without that attention.
        TrainingError: a model that pays no heed to `logits_to_keep`.
    """
    labels_BT = batch["labels"]
    inputs: dict[str, Any]
    if "source" in batch:
        # DistributedDataParallel hides the attributes of what it wraps.
        implementation = getattr(model, "module", model).config._attn_implementation
        if implementation != IMPLEMENTATION:
            raise ValueError(
                f"a packed row for a model with attention {implementation!r}, which would mix its "
                "tokens: call enable_comb_attention on the model first"
            )
        supervised = (labels_BT[0] != IGNORE).nonzero()[:, 0]
        sources = batch["source"][0][supervised]
        inputs = {
            "position_ids": batch["position_ids"],
            "comb_attention": CombAttention(RowGeometry.from_batch(batch), backend),
            # Any 4-D mask keeps transformers from making one of its own; nothing reads it.
            "attention_mask": torch.ones(1, 1, 1, 1, dtype=torch.bool, device=labels_BT.device),
        }
        places_N = supervised
    else:
        rows, sources = (labels_BT[:, 1:] != IGNORE).nonzero(as_tuple=True)
        inputs = {"attention_mask": batch["attention_mask"]}
        places_N = rows * labels_BT.shape[1] + sources + 1
    # One position at least, so that a batch without target stays in the graph (DDP waits for it).
    kept, index = torch.unique(sources, return_inverse=True)
    if not len(kept):
        kept = torch.zeros(1, dtype=torch.long, device=labels_BT.device)
    inputs |= {"input_ids": batch["input_ids"], "logits_to_keep": kept, "use_cache": False}
    if len(labels_BT) > 1:
        with _head_at(model, rows, index, len(kept)):
            return model(**inputs).logits[0], places_N
    output = model(**inputs)
    _check_kept(model, output.logits.shape[1], len(kept))
    if len(kept) == len(sources) and not in_order:
        return output.logits[0], torch.empty_like(places_N).scatter_(0, index, places_N)
    return output.logits[0, index], places_N


def _check_kept(model: Any, num_found: int, num_kept: int) -> None:
    if num_found != num_kept:
        model = getattr(model, "module", model)
        model = model.get_base_model() if hasattr(model, "get_base_model") else model
        raise TrainingError(
            f"{type(model).__name__} scored {num_found} positions where {num_kept} "
            "were asked for: its forward pays no heed to logits_to_keep, so it cannot be trained here"
        )


@contextmanager
def _head_at(
    model: Any, rows_N: torch.Tensor, columns_N: torch.Tensor, num_kept: int
) -> Iterator[None]:
    """Let the LM head score one position of one row each, in place of all rows at all columns.

    Rows of a batch end at different columns, and `logits_to_keep` is one list for all.
    """
    head = getattr(model, "module", model).get_output_embeddings()

    def pick(_: Any, hidden: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        _check_kept(model, hidden[0].shape[1], num_kept)
        return (hidden[0][rows_N, columns_N][None], *hidden[1:])

    handle = head.register_forward_pre_hook(pick)
    try:
        yield
    finally:
        handle.remove()


def summed_kl(logits_NV: torch.Tensor, base_NV: torch.Tensor) -> torch.Tensor:
    """Return the summed KL divergence KL(base || model), in nats, in float32 at least.

    The forward direction, as in distillation (Hinton et al., arXiv:1503.02531), with the model
    without its adapter as the teacher: it covers all that the base model would say.

    Args:
        logits_NV: of the model that is trained.
        base_NV: of the one it is held to; no gradient reaches them.
    """
    return _by_parts(_kl, KL_CHUNK, logits_NV, base_NV.detach())


def _kl(own_KV: torch.Tensor, held_KV: torch.Tensor) -> torch.Tensor:
    own_KV, held_KV = (_at_least_float32(x).log_softmax(-1) for x in (own_KV, held_KV))
    # What the base never says, at -inf, adds nothing.
    return (held_KV.exp() * (held_KV - own_KV).masked_fill(held_KV == -math.inf, 0)).sum()


def summed_loss(logits_NV: torch.Tensor, labels_N: torch.Tensor) -> torch.Tensor:
    """Return the summed cross-entropy, in float32 at least: zero (with a graph) for N = 0.

    On a GPU, and where logits of half precision have to be widened, a part at a time and
    anew in the backward pass: with a large vocabulary they are what takes the memory.
    """
    is_at_once = logits_NV.dtype not in HALVES and not logits_NV.is_cuda
    if is_at_once or len(logits_NV) <= LOSS_CHUNK:
        return _cross_entropy(logits_NV, labels_N)
    return _by_parts(_cross_entropy, LOSS_CHUNK, logits_NV, labels_N)


def _by_parts(
    cost: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    size: int,
    logits_NV: torch.Tensor,
    others_N: torch.Tensor,
) -> torch.Tensor:
    """Return the sum of a cost over parts of the tokens, each computed anew in the backward pass."""
    total = torch.zeros((), device=logits_NV.device)
    for own_KV, other_K in zip(
        torch.split(logits_NV, size), torch.split(others_N, size), strict=True
    ):
        total = total + (
            checkpoint(cost, own_KV, other_K, use_reentrant=False, preserve_rng_state=False)
            if own_KV.requires_grad
            else cost(own_KV, other_K)
        )
    return total


def _cross_entropy(logits_NV: torch.Tensor, labels_N: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(_at_least_float32(logits_NV), labels_N, reduction="sum")


def _at_least_float32(logits: torch.Tensor) -> torch.Tensor:
    return logits.float() if logits.dtype in HALVES else logits
