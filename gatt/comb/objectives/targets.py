"""The objective `targets`: the cross-entropy of the sampled replies, as published."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch.nn import functional

from gatt.comb.objectives.base import Cost, Objective
from gatt.comb.pieces import ObjectiveTokens, Piece, at_least_float32


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
