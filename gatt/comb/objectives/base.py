"""What an objective is: a name, what it needs, and its cost from the logits of a piece of its tokens.

A segment of a comb carries the name of its objective. A new objective is a class in a file of its own and a
line in `gatt.comb.objectives.table`.

Shapes: N supervised tokens of one objective, M metrics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch

from gatt.comb.pieces import ObjectiveTokens


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
