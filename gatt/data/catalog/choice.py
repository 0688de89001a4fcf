"""The configuration of the instructions: which entries are drawn, and how they are combined."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gatt.data.catalog.read import Catalog, load_catalog
from gatt.data.instruction import Entry, Instruction, Split, compose, draw_entries
from gatt.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class InstructionChoice:
    """Which catalogue entries may be drawn, and how they are combined. The splits are not in it.

    Raises:
        ConfigError: a value out of its range.
    """

    catalog: tuple[str, ...] = ()
    """Catalogue files or folders of them; empty takes the shipped catalogue. Python files that a catalogue
    names under `verifiers` are run."""
    families: tuple[str, ...] = ()
    """Families to draw from; empty takes all."""
    values: tuple[str, ...] = ()
    """Draw only entries with these values or ids; empty takes all."""
    exclude: tuple[str, ...] = ()
    """Entries that are never drawn, by value or id, such as languages that the model does not speak."""
    num_entries: tuple[float, ...] = (0.7, 0.2, 0.1)
    """Chances that an instruction has one, two or three entries."""
    terse_probability: float = 0.5
    """Chance of the shortened wording ("Figure: Napoleon.")."""

    def __post_init__(self) -> None:
        if (
            not 1 <= len(self.num_entries) <= 3
            or not min(self.num_entries) >= 0
            or not 0 < sum(self.num_entries) < math.inf
        ):
            raise ConfigError(
                f"num_entries is {list(self.num_entries)}: expected one to three chances, not all zero"
            )
        if not 0 <= self.terse_probability <= 1:
            raise ConfigError(
                f"terse_probability is {self.terse_probability}: expected a share from 0 to 1"
            )

    def load(self) -> Catalog:
        """Return the catalogue of the configured folders."""
        return load_catalog(*(Path(folder).expanduser() for folder in self.catalog))

    def select(self, catalog: Catalog, splits: Sequence[Split]) -> tuple[Entry, ...]:
        """Return the entries of the chosen families and values in some splits (empty: all).

        Raises:
            CatalogError: unknown family, split or value, or none left.
        """
        return catalog.select(self.families, splits, self.values, self.exclude)


@dataclass(frozen=True, kw_only=True)
class InstructionConfig(InstructionChoice):
    """Which catalogue entries are drawn, from which splits, and how they are put together.

    Raises:
        ConfigError: a value out of its range.
    """

    splits: tuple[Split, ...] = ("train",)
    """Splits to draw from; held-out ones are for evaluation."""

    def pool(self, catalog: Catalog) -> tuple[Entry, ...]:
        """Return the entries that may be drawn.

        Raises:
            CatalogError: unknown family, split or value, or none left.
        """
        return self.select(catalog, self.splits)

    def draw(self, catalog: Catalog, pool: Sequence[Entry], rng: random.Random) -> Instruction:
        """Return one instruction, composed of entries of the pool that do not conflict.

        Raises:
            CatalogError: the pool holds no such combination.
        """
        sizes = range(1, len(self.num_entries) + 1)
        size = rng.choices(sizes, weights=self.num_entries)[0]
        entries = draw_entries(pool, size, catalog.conflicts, rng)
        return compose(entries, rng, self.terse_probability)
