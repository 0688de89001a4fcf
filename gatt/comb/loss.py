"""The loss: the LM head and the objectives only where there is a target, a piece at a time.

Shapes: B rows, T tokens, N supervised tokens, K of them that need a reference, H hidden size, V vocabulary,
M metrics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch

from gatt.comb.attention.backend import IMPLEMENTATION, Backend, CombAttention
from gatt.comb.collator import RowGeometry, of_reference
from gatt.comb.comb import IGNORE
from gatt.comb.head import Head, causal_lm, replaced
from gatt.comb.objectives.base import ObjectiveTokens, Units
from gatt.comb.objectives.table import Objectives
from gatt.errors import TrainingError

DEFAULTS: Final = Objectives()
UNDIVIDED: Final = Units()


@dataclass(frozen=True)
class BatchLoss:
    """What the supervised tokens of a batch cost."""

    loss: torch.Tensor
    """Over all objectives, in nats, with a graph: the cost of each unit divided by the step's number of it."""
    sums: dict[str, torch.Tensor]
    """By objective: how many units, then the sums of its metrics (`Objective.metrics`), `[1 + M]`."""


def batch_loss(
    model: Any,
    batch: Mapping[str, torch.Tensor],
    backend: Backend = "split",
    *,
    lengths: Sequence[int] = (),
    objectives: Objectives = DEFAULTS,
    reference_KH: torch.Tensor | None = None,
    step: Units = UNDIVIDED,
) -> BatchLoss:
    """Return the loss of a batch of `GattCollator`; without a supervised token zero, with a graph.

    No logits are kept: the gradient of a piece is computed in the forward pass, right behind its loss.
    All of it happens within the model's forward, so that what wraps the model (DDP, FSDP, autocast)
    covers it. The forward takes `logits_to_keep` as a tensor of positions. `reference_KH` is
    `reference_hidden` of the model without its adapter, where an objective of the batch needs it; the sums
    are divided by `step`.

    Raises:
        ValueError: a packed row for a model without `enable_comb_attention`.
        TrainingError: a model that ignores `logits_to_keep`.
    """
    targets = SupervisedTokens.of(batch)
    base, head = causal_lm(model), Head(model)
    forward = base.forward
    labels_N, numbers_N, pairs_N = (
        targets.picked(batch, name) for name in ("labels", "objectives", "pairs")
    )
    reads_N = objectives.reads_reference(batch).flatten()[targets.places_N]

    def summed(hidden_BKH: torch.Tensor) -> dict[str, torch.Tensor]:
        hidden_NH = targets.pick(model, hidden_BKH)
        by_unit: dict[str, torch.Tensor] = {}
        sums: dict[str, torch.Tensor] = {}
        for number, objective in objectives:
            is_own_N = numbers_N == number
            # The first one is always there, so that a batch without target stays in the graph.
            if number and not is_own_N.any():
                continue
            reference = None if reference_KH is None else reference_KH[is_own_N[reads_N]]
            tokens = ObjectiveTokens(
                labels_N[is_own_N], pairs_N[is_own_N], hidden_NH[is_own_N], reference, head
            )
            cost = objective.cost(tokens)
            for unit, value in cost.by_unit.items():
                by_unit[unit] = by_unit[unit] + value if unit in by_unit else value
            units = getattr(objective.units(tokens.pairs_N), objective.unit)
            sums[objective.name] = torch.cat([cost.sums_M.new_tensor([units]), cost.sums_M])
        parts = [value / getattr(step, unit) for unit, value in by_unit.items()]
        return {"loss": sum(parts[1:], parts[0]), **sums}

    def scored(**inputs: Any) -> dict[str, torch.Tensor]:
        return head.in_place(forward, inputs, summed)

    with replaced(base, scored):
        sums = model(**targets.inputs(model, batch, backend, lengths))
    return BatchLoss(sums.pop("loss"), sums)


def reference_hidden(
    model: Any,
    batch: Mapping[str, torch.Tensor],
    backend: Backend = "split",
    *,
    lengths: Sequence[int] = (),
    objectives: Objectives = DEFAULTS,
) -> torch.Tensor:
    """Return what the LM head reads at the tokens whose objective needs a reference, `[K, H]`.

    The model reads the batch, or what a teacher reads in its place.
    """
    batch = of_reference(batch)
    labels_BT = batch["labels"].masked_fill(~objectives.reads_reference(batch), IGNORE)
    targets = SupervisedTokens.of({**batch, "labels": labels_BT})
    inputs = targets.inputs(model, batch, backend, lengths)
    return Head(model).in_place(model, inputs, lambda hidden: targets.pick(model, hidden))


def supervised_logits(
    model: Any, batch: Mapping[str, torch.Tensor], backend: Backend = "split"
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return logits `[N, V]` and labels `[N]` of all supervised tokens of a batch, in order, at once.

    Arguments and errors are those of `batch_loss`.
    """
    targets, head = SupervisedTokens.of(batch), Head(model).module
    scored = head.forward
    with replaced(head, lambda hidden: scored(targets.pick(model, hidden)[None])):
        logits_NV = model(**targets.inputs(model, batch, backend)).logits[0]
    return logits_NV, batch["labels"].flatten()[targets.places_N]


@dataclass(frozen=True)
class SupervisedTokens:
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
    def of(cls, batch: Mapping[str, torch.Tensor]) -> SupervisedTokens:
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

    def picked(self, batch: Mapping[str, torch.Tensor], name: str) -> torch.Tensor:
        """Return a vector of the batch at the supervised tokens `[N]`; zeros where the batch has none."""
        if name not in batch:
            return torch.zeros_like(self.places_N)
        return batch[name].flatten()[self.places_N]

    def inputs(
        self,
        model: Any,
        batch: Mapping[str, torch.Tensor],
        backend: Backend,
        lengths: Sequence[int] = (),
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
            "comb_attention": CombAttention(RowGeometry.from_batch(batch), backend, lengths),
            # Any 4-D mask keeps transformers from making one of its own; nothing reads it.
            "attention_mask": self.kept.new_ones((1, 1, 1, 1), dtype=torch.bool),
        }

    def pick(self, model: Any, hidden: torch.Tensor) -> torch.Tensor:
        """Return the hidden states `[N, H]` at supervised positions, of those that reach the LM head.

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
