"""A cost over the tokens of an objective, a piece at a time: the logits of all are never held together.

Shapes: N supervised tokens of one objective, P tokens of a piece, H hidden size, V vocabulary, M sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import torch

from gatt.comb.head import Head

PIECE: Final = 2**22
"""Logits of one piece: 16 MiB in float32, of which a soft cap and the KL divergence hold some ten copies."""


def pieces(head: Head, num_tokens: int) -> Iterator[slice]:
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
        """Return a cost and sums `[M]` over all pieces; of no token zeros, the cost with a graph.

        The gradient of a piece is computed in the forward pass, right behind its cost, and only within
        `Head.in_place`: there the weights of the head are at hand.

        Args:
            cost: of one piece, with a gradient with respect to its logits, and its sums, without one.
            num_sums: M.
        """

        def of_piece(hidden_PH: torch.Tensor, place: slice) -> tuple[torch.Tensor, torch.Tensor]:
            return cost(self._piece(hidden_PH, place))

        weights = [weight for weight in self.head.module.parameters() if weight.requires_grad]
        places = list(pieces(self.head, len(self.hidden_NH)))
        found: tuple[torch.Tensor, torch.Tensor] = _Pieces.apply(  # type: ignore[no-untyped-call]
            of_piece, places, num_sums, self.hidden_NH, *weights
        )
        return found

    @torch.no_grad()
    def log_probs(self, *, is_reference: bool = False) -> torch.Tensor:
        """Return the log-probability `[N]` of each label, in float32 at least, without a graph."""
        found = [self.labels_N.new_zeros(0, dtype=torch.float32)]
        for place in pieces(self.head, len(self.labels_N)):
            piece = self._piece(self.hidden_NH[place], place, is_reference=is_reference)
            found.append(log_probs(piece.logits_PV, piece.labels_P))
        return torch.cat(found)

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
                found = torch.autograd.grad(value, (hidden_PH, *weights), allow_unused=True)
                parts: Sequence[torch.Tensor] = (gradients[0][place], *gradients[1:])
                for part, gradient in zip(parts, found, strict=True):
                    if gradient is not None:
                        part += gradient
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
