"""All objectives, by name. Rows of a data set hold the place in the table: add new ones at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import torch

from gatt.comb.comb import IGNORE
from gatt.comb.objectives.base import Objective, Targets, Units
from gatt.comb.objectives.distil import Distil
from gatt.comb.objectives.kl import Kl
from gatt.comb.objectives.preference import Preference

TABLE: Final[Mapping[str, type[Objective]]] = {
    objective.name: objective for objective in (Targets, Kl, Preference, Distil)
}
NUMBERS: Final[Mapping[str, int]] = {name: number for number, name in enumerate(TABLE)}
READING_REFERENCE: Final = tuple(n for o, n in NUMBERS.items() if TABLE[o].needs_reference)
"""Numbers of those that need the model without its adapter."""


@dataclass(frozen=True)
class Objectives:
    """The objectives of a run, with their settings; those that are not given have their defaults."""

    given: tuple[Objective, ...] = ()
    all: tuple[Objective, ...] = field(init=False)
    """One for each line of the table, in order."""

    def __post_init__(self) -> None:
        by_name = {objective.name: objective for objective in self.given}
        made = tuple(by_name.get(name) or made_of() for name, made_of in TABLE.items())
        object.__setattr__(self, "all", made)

    @classmethod
    def of(cls, config: Any) -> Objectives:
        """Return those of a run; `config` is a `gatt.train.config.TrainConfig`."""
        return cls(tuple(made_of.of(config) for made_of in TABLE.values()))

    def __iter__(self) -> Iterator[tuple[int, Objective]]:
        """Yield each with its number."""
        return iter(enumerate(self.all))

    def units(self, batch: Mapping[str, torch.Tensor]) -> Units:
        """Return the units of a batch that the means of a step are over."""
        is_there = batch["labels"] != IGNORE
        numbers_N, pairs_N = (
            batch[name][is_there] if name in batch else torch.zeros_like(batch["labels"][is_there])
            for name in ("objectives", "pairs")
        )
        units = [objective.units(pairs_N[numbers_N == number]) for number, objective in self]
        return Units(*(sum(counts) for counts in zip(*units, strict=True)))

    def reads_reference(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return where the objective of a token needs the model without its adapter, like `labels`."""
        labels = batch["labels"]
        if "objectives" not in batch:
            return torch.zeros_like(labels, dtype=torch.bool)
        numbers = [number for number, objective in self if objective.needs_reference]
        return torch.isin(batch["objectives"], labels.new_tensor(numbers))

    def compares_with_start(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return where it has the adapter that training starts from, `[K]` of the tokens with labels."""
        is_read = self.reads_reference(batch) & (batch["labels"] != IGNORE)
        numbers = [number for number, objective in self if objective.compares_with_start]
        if "objectives" not in batch:
            return is_read[is_read]
        return torch.isin(batch["objectives"][is_read], batch["labels"].new_tensor(numbers))
