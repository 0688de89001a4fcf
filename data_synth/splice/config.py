"""Configuration of `gatt synth splice`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

from gatt.data.catalog.switch_draw import SwitchConfig
from gatt.data.switches import SWITCH_KINDS
from gatt.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class SpliceSwitch(SwitchConfig):
    """Which changes are made, in which proportion, and at which turns. Every sample has one.

    Raises:
        ConfigError: a value out of its range.
    """

    replace: float = 1.0
    """Weight of samples where another instruction replaces the first. Needs samples of one dialogue under
    instructions that have no entry in common."""
    add: float = 0.0
    """Weight of samples where an entry is added. Needs samples under an instruction, and under the same
    instruction with one more entry at its end."""
    cancel: float = 0.0
    """Weight of samples where the instruction is cancelled. Needs samples under an
    instruction and without any: `gatt synth --plain_fraction=1` makes those."""

    def _check_chances(self) -> None:
        weights = [getattr(self, kind) for kind in SWITCH_KINDS]
        if not min(weights) >= 0 or not 0 < sum(weights) < math.inf:
            told = ", ".join(f"{k} {getattr(self, k):g}" for k in SWITCH_KINDS)
            raise ConfigError(f"{told}: expected weights from 0, one of them above 0")


@dataclass(frozen=True, kw_only=True)
class SpliceConfig:
    """Samples with changes, made from samples without changes.

    Raises:
        ConfigError: a value out of its range.
    """

    samples: tuple[Path, ...]
    """Files of samples, as `gatt synth` writes them; samples with changes are passed over."""
    output_dir: Path
    """Folder of `samples.jsonl`, its card and its resolved configuration."""
    num_samples: int = 200
    """Samples to make: every pair is used once before any is used again, then at another turn."""
    seed: int = 0
    """Fixes the pairs, the turns of change and the words of the announcements."""
    switch: SpliceSwitch = field(default_factory=SpliceSwitch)
    """The changes."""
    catalog: tuple[str, ...] = ()
    """Folders of the catalogue that the samples were made with; empty: the shipped catalogue."""
    terse_probability: float = 0.5
    """Probability of the terse wording of what is added or cancelled."""

    def __post_init__(self) -> None:
        if not self.samples:
            raise ConfigError("samples is empty: expected files that `gatt synth` wrote")
        if self.num_samples < 1:
            raise ConfigError(f"num_samples is {self.num_samples}: expected at least 1")
        if not 0 <= self.terse_probability <= 1:
            raise ConfigError(
                f"terse_probability is {self.terse_probability}: expected a share from 0 to 1"
            )
