"""A cost over many tokens, computed a piece at a time: the logits of all tokens are never held together.

Shapes: N tokens, P tokens of a piece, H hidden size, M sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import torch

from gatt.comb.head import Head

PIECE: Final = 2**22
"""Logits of one piece: 16 MiB in float32, of which a soft cap and the KL divergence hold some ten copies."""

PieceCost = Callable[[torch.Tensor, slice], tuple[torch.Tensor, torch.Tensor]]
"""Takes the hidden states `[P, H]` of a piece and its place among all; returns the summed cost, which has
a gradient, and sums `[M]` to log, which have none."""


def pieces(head: Head, num_tokens: int) -> Iterator[slice]:
    """Yield the place of each piece among so many tokens."""
    size = max(PIECE // head.num_logits, 1)
    for start in range(0, num_tokens, size):
        yield slice(start, start + size)


def summed(
    cost: PieceCost, head: Head, hidden_NH: torch.Tensor, num_sums: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a cost and its sums `[M]` over all pieces; of no token zeros, the cost with a graph.

    The gradient of a piece is computed in the forward pass, right behind its cost, and only within
    `Head.in_place`: there the weights of the head are at hand.
    """
    weights = [weight for weight in head.module.parameters() if weight.requires_grad]
    places = list(pieces(head, len(hidden_NH)))
    found: tuple[torch.Tensor, torch.Tensor] = _Pieces.apply(  # type: ignore[no-untyped-call]
        cost, places, num_sums, hidden_NH, *weights
    )
    return found


class _Pieces(torch.autograd.Function):
    """A cost summed over pieces, each with its gradient before the next: their logits are never kept."""

    @staticmethod
    def forward(
        ctx: Any,
        cost: PieceCost,
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
