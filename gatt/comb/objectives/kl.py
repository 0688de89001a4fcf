"""The objective `kl`: nothing but to answer as the model without its adapter does."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import torch

from gatt.comb.objectives.base import Cost, Objective, ObjectiveTokens, Piece, at_least_float32


class Kl(Objective):
    """KL divergence from the model without its adapter, over the tokens of the targets."""

    name = "kl"
    summary = "the KL divergence from the model without the adapter"
    metrics = ("plain_kl",)
    shown: ClassVar = {"plain_kl": "plain_kl {:.3f}"}
    needs_reference = True
    learns_own_replies = True

    def __init__(self, coef: float = 1.0) -> None:
        self.coef = coef
        """Weight of a token against one of a target."""

    @classmethod
    def of(cls, config: Any) -> Kl:
        """Return the objective with `plain_kl_coef` of a run."""
        return cls(config.plain_kl_coef)

    def cost(self, tokens: ObjectiveTokens) -> Cost:
        """Return the weighted divergence, and the divergence without its weight, in nats."""

        def held(piece: Piece) -> tuple[torch.Tensor, torch.Tensor]:
            divergence = kl(piece.reference_PV(), piece.logits_PV)
            return self.coef * divergence, divergence.detach()

        loss, kl_1 = tokens.in_pieces(held, 1)
        return Cost({"tokens": loss}, kl_1)


def kl(said_PV: torch.Tensor, model_PV: torch.Tensor) -> torch.Tensor:
    """Return the summed KL divergence KL(said || model) of logits, in nats, in float32 at least.

    With the model without its adapter as `said` it is the forward direction, as in distillation (Hinton et
    al., arXiv:1503.02531): it covers all that the base model would say.
    """
    said_PV, model_PV = (at_least_float32(x).log_softmax(-1) for x in (said_PV, model_PV))
    # What is never said, at -inf, adds nothing.
    return (said_PV.exp() * (said_PV - model_PV).masked_fill(said_PV == -math.inf, 0)).sum()
