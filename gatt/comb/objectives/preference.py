"""The objective `preference`: DPO over the pairs of all turns of a dialogue in one sequence.

Source: Rafailov et al., arXiv:2305.18290; `sigmoid_norm` (both replies by their length) and `sft` (RPO,
arXiv:2404.19733: cross-entropy of the chosen reply) as TRL 1.16 has them under these names. Chosen and
rejected reply are two branches at one fork, so prompt and history are read once for both, and for all
turns. The reference is the model without its adapter, or with the one that training starts from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch.nn import functional

from gatt.comb.objectives.base import (
    Cost,
    Objective,
    ObjectiveTokens,
    Piece,
    Targets,
    Units,
    log_probs,
)


class Preference(Objective):
    """What `trl.DPOTrainer` learns from rows of one turn each: a mean over pairs."""

    name = "preference"
    summary = "DPO of chosen against rejected replies"
    metrics = (
        "rewards/chosen", "rewards/rejected", "rewards/accuracies", "rewards/margins",
        "logps/chosen", "logps/rejected",
    )  # fmt: skip
    shown: ClassVar = {
        "rewards/accuracies": "preferred {:.0%}",
        "rewards/margins": "margin {:.3f}",
    }
    unit = "pairs"
    needs_reference = True
    needs_pairs = True

    def __init__(
        self,
        beta: float = 0.1,
        weights: Mapping[str, float] | None = None,
        *,
        compares_with_start: bool = False,
    ) -> None:
        self.beta = beta
        self.compares_with_start = compares_with_start
        self.weights = {"sigmoid": 1.0} if weights is None else weights
        """By loss of TRL's: `sigmoid`, `sigmoid_norm`, `sft`."""

    @classmethod
    def of(cls, config: Any) -> Preference:
        """Return the objective with the settings `preference` of a run."""
        settings = config.preference
        weights = settings.loss_weights or (1.0,) * len(settings.loss_type)
        return cls(
            settings.beta,
            dict(zip(settings.loss_type, weights, strict=True)),
            compares_with_start=settings.reference == "init_adapter",
        )

    def units(self, pairs_N: torch.Tensor) -> Units:
        """Return the pairs, and the tokens of chosen replies where these are taught as well."""
        num_taught = int((pairs_N > 0).sum()) if "sft" in self.weights else 0
        return Units(num_taught, len(torch.unique(pairs_N[pairs_N > 0])))

    def cost(self, tokens: ObjectiveTokens) -> Cost:
        """Return the cost of all pairs, and with `sft` that of the chosen tokens.

        The cost depends on whole replies, and the LM head runs on pieces. So the first pass computes all
        log-probabilities without storing logits, and from them the gradient of the cost at each one. The
        second pass computes each piece again, with its log-probabilities weighted by these gradients.
        """
        own_N = tokens.log_probs()
        ratios_N = own_N - tokens.log_probs(is_reference=True)
        pairs = _Pairs.of(tokens.pairs_N)
        with torch.enable_grad():
            leaf_N = ratios_N.requires_grad_()
            loss = self._loss(pairs, leaf_N)
            slopes_N = torch.autograd.grad(loss, leaf_N)[0]

        def sloped(piece: Piece) -> tuple[torch.Tensor, torch.Tensor]:
            own_P = log_probs(piece.logits_PV, piece.labels_P)
            # Zero, with the gradient of the loss.
            value = (slopes_N[piece.place] * (own_P - own_P.detach())).sum()
            return value, value.new_zeros(0)

        by_unit = {"pairs": loss.detach() + tokens.in_pieces(sloped, 0)[0]}
        if weight := self.weights.get("sft"):
            chosen = tokens.where(tokens.pairs_N > 0)
            by_unit["tokens"] = weight * Targets().cost(chosen).by_unit["tokens"]
        return Cost(by_unit, self._metrics(pairs, own_N, ratios_N.detach()))

    def _loss(self, pairs: _Pairs, ratios_N: torch.Tensor) -> torch.Tensor:
        """Return the summed cost of the pairs, of log-ratios to the reference."""
        total = ratios_N.sum() * 0
        if weight := self.weights.get("sigmoid"):
            margins = pairs.chosen(ratios_N) - pairs.rejected(ratios_N)
            total = total - weight * functional.logsigmoid(self.beta * margins).sum()
        if weight := self.weights.get("sigmoid_norm"):
            means = pairs.chosen(ratios_N) / pairs.num_chosen
            margins = means - pairs.rejected(ratios_N) / pairs.num_rejected
            total = total - weight * functional.logsigmoid(self.beta * margins).sum()
        return total

    def _metrics(self, pairs: _Pairs, own_N: torch.Tensor, ratios_N: torch.Tensor) -> torch.Tensor:
        chosen, rejected = (self.beta * part(ratios_N) for part in (pairs.chosen, pairs.rejected))
        values = (
            chosen, rejected, chosen > rejected, chosen - rejected,
            pairs.chosen(own_N), pairs.rejected(own_N),
        )  # fmt: skip
        return torch.stack([value.float().sum() for value in values])


class _Pairs:
    """Which tokens belong to the replies of each pair."""

    def __init__(self, chosen_KN: torch.Tensor, rejected_KN: torch.Tensor) -> None:
        self._chosen, self._rejected = chosen_KN, rejected_KN
        self.num_chosen, self.num_rejected = chosen_KN.sum(-1), rejected_KN.sum(-1)
        """Tokens of each reply `[K]`."""

    @classmethod
    def of(cls, pairs_N: torch.Tensor) -> _Pairs:
        """Return those of the pair of each token (`ObjectiveTokens.pairs_N`)."""
        numbers_K1 = torch.unique(pairs_N[pairs_N > 0])[:, None]
        return cls(pairs_N == numbers_K1, pairs_N == -numbers_K1)

    def chosen(self, values_N: torch.Tensor) -> torch.Tensor:
        """Return the sum over each chosen reply `[K]`."""
        return (self._chosen * values_N).sum(-1)

    def rejected(self, values_N: torch.Tensor) -> torch.Tensor:
        """Return the sum over each rejected reply `[K]`."""
        return (self._rejected * values_N).sum(-1)
