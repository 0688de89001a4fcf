"""The loss: LM head, cross-entropy and KL divergence only where there is a target, a piece at a time.

Shapes: B rows, T tokens, N supervised tokens, P tokens of a piece, H hidden size, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch.nn import functional

from gatt.comb.attention.backend import IMPLEMENTATION, Backend, CombAttention
from gatt.comb.collator import RowGeometry
from gatt.comb.comb import IGNORE
from gatt.comb.head import Head, causal_lm, replaced
from gatt.errors import TrainingError

PIECE: Final = 2**22
"""Logits of one piece: 16 MiB in float32, of which a soft cap and the KL divergence hold some ten copies."""

Cost = Callable[[torch.Tensor, slice], tuple[torch.Tensor, torch.Tensor]]
"""Takes the hidden states `[P, H]` of a piece and its place among all; returns the summed cost, which has
a gradient, and a count, which has none."""


@dataclass(frozen=True)
class BatchLoss:
    """Sums over the supervised tokens of a batch."""

    loss: torch.Tensor
    """Cross-entropy, and the weighted KL divergence of tokens that are learned by it: in nats, with a graph."""
    kl: torch.Tensor
    """KL divergence without its weight."""
    num_correct: torch.Tensor
    """Tokens learned by cross-entropy that the model finds likeliest, and how many such tokens there are:"""
    num_taught: int
    num_kl: int


def batch_loss(
    model: Any,
    batch: Mapping[str, torch.Tensor],
    backend: Backend = "split",
    *,
    base_KH: torch.Tensor | None = None,
    kl_coef: float = 1.0,
) -> BatchLoss:
    """Return the summed loss of a batch; without a supervised token zero, with a graph.

    No logits are kept: the gradient of a piece is computed in the forward pass, right behind its loss.
    All of it happens within the model's forward, so that what wraps the model (DDP, FSDP, autocast)
    covers it.

    Args:
        model: a causal LM of transformers, or what wraps one (PEFT, DDP). Its forward takes
            `logits_to_keep` as a tensor of positions. Packed rows need `enable_comb_attention` first.
        batch: of `gatt.comb.collator.GattCollator`, on the model's device.
        backend: what computes the attention of packed rows.
        base_KH: `hidden_by_kl` of the model without its adapter, where the batch has `by_kl`.
        kl_coef: weight of the KL divergence.

    Raises:
        ValueError: a packed row for a model without that attention.
        TrainingError: a model that ignores `logits_to_keep`.
    """
    targets = Targets.of(batch)
    base, head = causal_lm(model), Head(model)
    forward = base.forward
    labels_N = batch["labels"].flatten()[targets.places_N]
    by_kl_N = torch.zeros_like(labels_N, dtype=torch.bool)
    if base_KH is not None:
        by_kl_N = batch["by_kl"].flatten()[targets.places_N]
    taught_N = labels_N[~by_kl_N]

    def taught(hidden_PH: torch.Tensor, piece: slice) -> tuple[torch.Tensor, torch.Tensor]:
        logits_PV, labels_P = head(hidden_PH), taught_N[piece]
        correct = (logits_PV.detach().argmax(-1) == labels_P).sum()
        return cross_entropy(logits_PV, labels_P), correct

    def held(hidden_PH: torch.Tensor, piece: slice) -> tuple[torch.Tensor, torch.Tensor]:
        assert base_KH is not None
        with torch.no_grad():
            # FSDP casts what a forward returns.
            base_PV = head(base_KH[piece].to(hidden_PH.dtype), is_adapted=False)
        kl = kl_to_base(head(hidden_PH), base_PV)
        return kl_coef * kl, kl.detach()

    def summed(hidden_BKH: torch.Tensor) -> dict[str, torch.Tensor]:
        hidden_NH = targets.pick(model, hidden_BKH)
        loss, num_correct = _in_pieces(taught, head, hidden_NH[~by_kl_N])
        kl = torch.zeros_like(loss)
        if base_KH is not None:
            kl_loss, kl = _in_pieces(held, head, hidden_NH[by_kl_N])
            loss = loss + kl_loss
        return {"loss": loss, "kl": kl, "num_correct": num_correct}

    def scored(**inputs: Any) -> dict[str, torch.Tensor]:
        return head.in_place(forward, inputs, summed)

    with replaced(base, scored):
        sums = model(**targets.inputs(model, batch, backend))
    return BatchLoss(**sums, num_taught=len(taught_N), num_kl=len(labels_N) - len(taught_N))


def hidden_by_kl(
    model: Any, batch: Mapping[str, torch.Tensor], backend: Backend = "split"
) -> torch.Tensor:
    """Return what the LM head reads at the tokens that are learned by the KL divergence, `[K, H]`."""
    by_kl_BT = batch.get("by_kl", torch.zeros_like(batch["labels"], dtype=torch.bool))
    labels_BT = batch["labels"].masked_fill(~by_kl_BT, IGNORE)
    targets = Targets.of({**batch, "labels": labels_BT})
    inputs = targets.inputs(model, batch, backend)
    return Head(model).in_place(model, inputs, lambda hidden: targets.pick(model, hidden))


def supervised_logits(
    model: Any, batch: Mapping[str, torch.Tensor], backend: Backend = "split"
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return logits `[N, V]` and labels `[N]` of all supervised tokens of a batch, in order, at once.

    Arguments and errors are those of `batch_loss`.
    """
    targets, head = Targets.of(batch), Head(model).module
    scored = head.forward
    with replaced(head, lambda hidden: scored(targets.pick(model, hidden)[None])):
        logits_NV = model(**targets.inputs(model, batch, backend)).logits[0]
    return logits_NV, batch["labels"].flatten()[targets.places_N]


def cross_entropy(logits_PV: torch.Tensor, labels_P: torch.Tensor) -> torch.Tensor:
    """Return the summed cross-entropy, in float32 at least."""
    return functional.cross_entropy(_at_least_float32(logits_PV), labels_P, reduction="sum")


def kl_to_base(logits_PV: torch.Tensor, base_PV: torch.Tensor) -> torch.Tensor:
    """Return the summed KL divergence KL(base || model), in nats, in float32 at least.

    The forward direction, as in distillation (Hinton et al., arXiv:1503.02531), with the model
    without its adapter as the teacher: it covers all that the base model would say. No gradient
    reaches its logits.
    """
    own_PV, held_PV = (_at_least_float32(x).log_softmax(-1) for x in (logits_PV, base_PV.detach()))
    # What the base never says, at -inf, adds nothing.
    return (held_PV.exp() * (held_PV - own_PV).masked_fill(held_PV == -math.inf, 0)).sum()


def _at_least_float32(logits: torch.Tensor) -> torch.Tensor:
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


@dataclass(frozen=True)
class Targets:
    """The supervised tokens of a batch, and where the hidden states stand that predict them."""

    places_N: torch.Tensor
    """Index of each in any `[B, T]` of the batch when flattened, rising."""
    rows_N: torch.Tensor
    columns_N: torch.Tensor
    """Row and index among `kept` of the hidden state that predicts it."""
    kept: torch.Tensor
    """Positions whose hidden states are needed: at least one, so that a batch without target stays in the
    graph, for which DDP waits."""

    @classmethod
    def of(cls, batch: Mapping[str, torch.Tensor]) -> Targets:
        """Return those of a packed row, by its `source`, or of padded rows, each by the token before."""
        labels_BT = batch["labels"]
        if "source" in batch:
            places = (labels_BT[0] != IGNORE).nonzero()[:, 0]
            rows, sources = torch.zeros_like(places), batch["source"][0][places]
        else:
            rows, sources = (labels_BT[:, 1:] != IGNORE).nonzero(as_tuple=True)
            places = rows * labels_BT.shape[1] + sources + 1
        kept, columns = torch.unique(sources, return_inverse=True)
        return cls(places, rows, columns, kept if len(kept) else kept.new_zeros(1))

    def inputs(
        self, model: Any, batch: Mapping[str, torch.Tensor], backend: Backend
    ) -> dict[str, Any]:
        """Return what the model's forward takes.

        Raises:
            ValueError: a packed row for a model without its attention.
        """
        shared = {"input_ids": batch["input_ids"], "logits_to_keep": self.kept, "use_cache": False}
        if "source" not in batch:
            return {**shared, "attention_mask": batch["attention_mask"]}
        implementation = causal_lm(model).config._attn_implementation
        if implementation != IMPLEMENTATION:
            raise ValueError(
                f"a packed row for a model with attention {implementation!r}, which would mix its "
                "tokens: call enable_comb_attention on the model first"
            )
        return {
            **shared,
            "position_ids": batch["position_ids"],
            "comb_attention": CombAttention(RowGeometry.from_batch(batch), backend),
            # Any 4-D mask keeps transformers from making one of its own; nothing reads it.
            "attention_mask": self.kept.new_ones((1, 1, 1, 1), dtype=torch.bool),
        }

    def pick(self, model: Any, hidden: torch.Tensor) -> torch.Tensor:
        """Return the hidden states `[N, H]` of those that the model hands to its LM head.

        Raises:
            TrainingError: they are not those of `kept`.
        """
        if hidden.shape[1] != len(self.kept):
            raise TrainingError(
                f"{type(causal_lm(model)).__name__} scored {hidden.shape[1]} positions where "
                f"{len(self.kept)} were asked for: its forward ignores logits_to_keep, so it cannot be "
                "trained here"
            )
        return hidden[self.rows_N, self.columns_N]


def _in_pieces(
    cost: Cost, head: Head, hidden_NH: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the sums of a cost and of its count over all pieces."""
    weights = [weight for weight in head.module.parameters() if weight.requires_grad]
    size = max(PIECE // head.num_logits, 1)
    summed: tuple[torch.Tensor, torch.Tensor] = _Pieces.apply(cost, size, hidden_NH, *weights)  # type: ignore[no-untyped-call]
    return summed


class _Pieces(torch.autograd.Function):
    """A cost summed over pieces, each with its gradient before the next: their logits are never kept."""

    @staticmethod
    def forward(
        ctx: Any, cost: Cost, size: int, hidden_NH: torch.Tensor, *weights: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the sums of cost and count."""
        needs_gradient = any(ctx.needs_input_grad)
        gradients = [torch.zeros_like(x) for x in (hidden_NH, *weights) if needs_gradient]
        total, count = (torch.zeros((), device=hidden_NH.device) for _ in range(2))
        for start in range(0, len(hidden_NH), size):
            piece = slice(start, start + size)
            with torch.set_grad_enabled(needs_gradient):
                hidden_PH = hidden_NH[piece].detach().requires_grad_(needs_gradient)
                value, number = cost(hidden_PH, piece)
            if needs_gradient:
                found = torch.autograd.grad(value, (hidden_PH, *weights), allow_unused=True)
                parts: Sequence[torch.Tensor] = (gradients[0][piece], *gradients[1:])
                for part, gradient in zip(parts, found, strict=True):
                    if gradient is not None:
                        part += gradient
            total, count = total + value.detach(), count + number
        ctx.save_for_backward(*gradients)
        ctx.mark_non_differentiable(count)
        return total, count

    @staticmethod
    def backward(ctx: Any, *upstream: torch.Tensor) -> tuple[Any, ...]:
        """Return the gradients of the hidden states and of the head's weights."""
        return None, None, *(gradient * upstream[0] for gradient in ctx.saved_tensors)
