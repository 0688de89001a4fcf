"""What an objective is: a name, what it needs, and its cost from the logits of a piece of its tokens.

A segment of a comb carries the name of its objective. A new objective is a class in a file of its own, a line
in `gatt.comb.objectives.table` and a name in `gatt.train.config`; `Targets`, the one of the paper, stands here.
The logits of all tokens are never held together: they are computed a piece at a time.

Shapes: N supervised tokens of one objective, P tokens of a piece, H hidden size, V vocabulary, M metrics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, NamedTuple

import torch
from torch.nn import functional

from gatt.comb.head import Head

PIECE: Final = 2**22
"""Logits of one piece: 16 MiB in float32, of which a soft cap and the KL divergence hold some ten copies."""


class Units(NamedTuple):
    """What the cost of an optimiser step is a mean over."""

    tokens: int | torch.Tensor = 1
    pairs: int | torch.Tensor = 1


@dataclass(frozen=True)
class Cost:
    """What an objective returns for its tokens in a batch."""

    by_unit: dict[str, torch.Tensor]
    """Sums with a graph, by the field of `Units` whose number they are divided by."""
    sums_M: torch.Tensor
    """Of the objective's metrics, over its units, without a graph."""


class Objective(ABC):
    """What supervised tokens cost; settings are given to its constructor."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """What is learned by it, for logs, cards and `gatt show`."""
    metrics: ClassVar[tuple[str, ...]]
    """Names, as they are logged, of means over its units."""
    shown: ClassVar[Mapping[str, str]] = {}
    """Those of them that the line of a step shows, and how."""
    unit: ClassVar[str] = "tokens"
    """What its metrics are means over, a field of `Units`."""
    needs_reference: ClassVar[bool] = False
    """Whether it compares with the model without its adapter, at the same tokens with labels."""
    has_teacher: ClassVar[bool] = False
    """Whether that model reads the sampling view before them, as the teacher did."""
    compares_with_start: bool = False
    """Whether that model has the adapter that training starts from, instead of none."""
    needs_pairs: ClassVar[bool] = False
    """Whether it compares the target of a turn with a rejected reply, its partner branch."""
    learns_own_replies: ClassVar[bool] = False
    """Whether the dialogue's own replies cost as well, where they are the history."""

    @classmethod
    def of(cls, config: Any) -> Objective:  # noqa: ARG003
        """Return the objective with the settings of a run, a `gatt.train.config.TrainConfig`."""
        return cls()

    def units(self, pairs_N: torch.Tensor) -> Units:
        """Return how many of each unit its tokens add to the means of a step; `pairs_N` of its tokens."""
        return Units(len(pairs_N), 0)

    @abstractmethod
    def cost(self, tokens: ObjectiveTokens) -> Cost:
        """Return the summed cost of its tokens; none of them gives zeros with a graph."""


class Targets(Objective):
    """Cross-entropy (Llama 2, arXiv:2307.09288, section 3.3)."""

    name = "targets"
    summary = "cross-entropy of the targets"
    metrics = ("mean_token_accuracy",)
    shown: ClassVar = {"mean_token_accuracy": "accuracy {:.3f}"}

    def cost(self, tokens: ObjectiveTokens) -> Cost:
        """Return the summed cross-entropy, and how many labels the model finds likeliest."""

        def taught(piece: Piece) -> tuple[torch.Tensor, torch.Tensor]:
            correct = (piece.logits_PV.detach().argmax(-1) == piece.labels_P).sum()
            return cross_entropy(piece.logits_PV, piece.labels_P), correct

        loss, correct_1 = tokens.in_pieces(taught, 1)
        return Cost({"tokens": loss}, correct_1)


def cross_entropy(logits_PV: torch.Tensor, labels_P: torch.Tensor) -> torch.Tensor:
    """Return the summed cross-entropy, in float32 at least."""
    return functional.cross_entropy(at_least_float32(logits_PV), labels_P, reduction="sum")


def piece_places(head: Head, num_tokens: int) -> Iterator[slice]:
    """Yield the place of each piece among so many tokens."""
    size = max(PIECE // head.num_logits, 1)
    for start in range(0, num_tokens, size):
        yield slice(start, start + size)


@dataclass(frozen=True)
class Piece:
    """Some of the tokens of an objective, with their logits."""

    logits_PV: torch.Tensor
    labels_P: torch.Tensor
    place: slice
    """Where they stand among all N."""
    _reference: Callable[[], torch.Tensor]

    def reference_PV(self) -> torch.Tensor:
        """Return the logits of the model without its adapter, without a graph."""
        return self._reference()


@dataclass(frozen=True)
class ObjectiveTokens:
    """The supervised tokens of one objective in a batch, in order."""

    labels_N: torch.Tensor
    pairs_N: torch.Tensor
    """k from 1 at the tokens of the first reply of pair k, -k at those of its partner; else 0."""
    hidden_NH: torch.Tensor
    reference_NH: torch.Tensor | None
    """Hidden states of the model without its adapter, for an objective that needs them."""
    head: Head

    def where(self, is_kept_N: torch.Tensor) -> ObjectiveTokens:
        """Return some of the tokens."""
        reference = None if self.reference_NH is None else self.reference_NH[is_kept_N]
        return replace(
            self,
            labels_N=self.labels_N[is_kept_N],
            pairs_N=self.pairs_N[is_kept_N],
            hidden_NH=self.hidden_NH[is_kept_N],
            reference_NH=reference,
        )

    def in_pieces(
        self, cost: Callable[[Piece], tuple[torch.Tensor, torch.Tensor]], num_sums: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a cost and M sums over all pieces; of no token zeros, the cost with a graph.

        `cost` returns those of one piece, its cost with a gradient with respect to the logits. The gradient of
        a piece is computed right behind its cost, within `Head.in_place`, where the head's weights are at hand.
        """

        def of_piece(hidden_PH: torch.Tensor, place: slice) -> tuple[torch.Tensor, torch.Tensor]:
            return cost(self._piece(hidden_PH, place))

        weights = [weight for weight in self.head.module.parameters() if weight.requires_grad]
        places = list(piece_places(self.head, len(self.hidden_NH)))
        summed: tuple[torch.Tensor, torch.Tensor] = _Pieces.apply(  # type: ignore[no-untyped-call]
            of_piece, places, num_sums, self.hidden_NH, *weights
        )
        return summed

    @torch.no_grad()
    def log_probs(self, *, is_reference: bool = False) -> torch.Tensor:
        """Return the log-probability `[N]` of each label, in float32 at least, without a graph."""
        parts = [self.labels_N.new_zeros(0, dtype=torch.float32)]
        for place in piece_places(self.head, len(self.labels_N)):
            piece = self._piece(self.hidden_NH[place], place, is_reference=is_reference)
            parts.append(log_probs(piece.logits_PV, piece.labels_P))
        return torch.cat(parts)

    def _piece(self, hidden_PH: torch.Tensor, place: slice, *, is_reference: bool = False) -> Piece:
        def reference() -> torch.Tensor:
            assert self.reference_NH is not None
            with torch.no_grad():
                # FSDP casts what a forward returns.
                hidden = self.reference_NH[place].to(hidden_PH.dtype)
                return self.head(hidden, is_adapted=False)

        logits_PV = reference() if is_reference else self.head(hidden_PH)
        return Piece(logits_PV, self.labels_N[place], place, reference)


class _Pieces(torch.autograd.Function):
    """A cost summed over pieces, each with its gradient before the next: their logits are never kept."""

    @staticmethod
    def forward(
        ctx: Any,
        cost: Callable[[torch.Tensor, slice], tuple[torch.Tensor, torch.Tensor]],
        places: Sequence[slice],
        num_sums: int,
        hidden_NH: torch.Tensor,
        *weights: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the cost and its sums."""
        needs_gradient = any(ctx.needs_input_grad)
        gradients = [torch.zeros_like(x) for x in (hidden_NH, *weights) if needs_gradient]
        total = torch.zeros((), device=hidden_NH.device)
        sums_M = torch.zeros(num_sums, device=hidden_NH.device)
        for place in places:
            with torch.set_grad_enabled(needs_gradient):
                hidden_PH = hidden_NH[place].detach().requires_grad_(needs_gradient)
                value, numbers_M = cost(hidden_PH, place)
            if needs_gradient:
                added = torch.autograd.grad(value, (hidden_PH, *weights), allow_unused=True)
                sums = (gradients[0][place], *gradients[1:])
                for total_gradient, gradient in zip(sums, added, strict=True):
                    if gradient is not None:
                        total_gradient += gradient
            total, sums_M = total + value.detach(), sums_M + numbers_M
        ctx.save_for_backward(*gradients)
        ctx.mark_non_differentiable(sums_M)
        return total, sums_M

    @staticmethod
    def backward(ctx: Any, *upstream: torch.Tensor) -> tuple[Any, ...]:
        """Return the gradients of the hidden states and of the head's weights."""
        return None, None, None, *(gradient * upstream[0] for gradient in ctx.saved_tensors)


def at_least_float32(logits: torch.Tensor) -> torch.Tensor:
    """Return logits in float32, or as they are where they are wider."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def log_probs(logits_PV: torch.Tensor, labels_P: torch.Tensor) -> torch.Tensor:
    """Return the log-probability `[P]` of each label, in float32 at least."""
    logits_PV = at_least_float32(logits_PV)
    return logits_PV.gather(-1, labels_P[:, None])[:, 0] - logits_PV.logsumexp(-1)
