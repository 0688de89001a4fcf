"""The objective `distil`: what the model would say if it had just read the instruction.

Context distillation (Snell et al., arXiv:2209.15189; on the student's own replies arXiv:2602.12275 and
2601.19897): teacher and student are one model. The teacher is the model without its adapter, which reads
the sampling view; the student reads the training view; both read the same reply. Each token costs the
divergence of their distributions over the whole vocabulary, so nothing of the teacher is stored.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from gatt.comb.objectives.base import Cost, Objective, ObjectiveTokens, Piece
from gatt.comb.objectives.kl import kl


class Distil(Objective):
    """KL divergence between teacher and student, over the tokens of the targets."""

    name = "distil"
    summary = "the KL divergence from the model that reads the instruction on every turn"
    metrics = ("distil_kl",)
    shown: ClassVar = {"distil_kl": "distil_kl {:.3f}"}
    needs_reference = True
    has_teacher = True

    def __init__(self, direction: str = "forward", coef: float = 1.0) -> None:
        self.direction = direction
        """`forward`: KL(teacher || student), `reverse`: KL(student || teacher)."""
        self.coef = coef
        """Weight of a token against one of another objective."""

    @classmethod
    def of(cls, config: Any) -> Distil:
        """Return the objective with the settings `distil` of a run."""
        return cls(config.distil.direction, config.distil.coef)

    def cost(self, tokens: ObjectiveTokens) -> Cost:
        """Return the weighted divergence, and the divergence without its weight, in nats."""

        def apart(piece: Piece) -> tuple[torch.Tensor, torch.Tensor]:
            own_PV, teacher_PV = piece.logits_PV, piece.reference_PV()
            is_forward = self.direction == "forward"
            divergence = kl(teacher_PV, own_PV) if is_forward else kl(own_PV, teacher_PV)
            return self.coef * divergence, divergence.detach()

        loss, kl_1 = tokens.in_pieces(apart, 1)
        return Cost({"tokens": loss}, kl_1)
