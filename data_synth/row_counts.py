"""Counts over the samples of a run."""

from __future__ import annotations

from dataclasses import dataclass

from data_synth.filters import NO_ROOM
from gatt.data.sample import GattSample


@dataclass
class RowCounts:
    """Sums over samples."""

    num_samples: int = 0
    num_turns: int = 0
    num_targets: int = 0
    num_long: int = 0
    """Samples with a turn for which the teacher's context has no room."""
    num_long_turns: int = 0

    def add(self, sample: GattSample) -> None:
        """Count one sample."""
        num_long = sum(target.reason == NO_ROOM for target in sample.targets)
        self.num_samples += 1
        self.num_turns += len(sample.targets)
        self.num_targets += sample.num_targets
        self.num_long += bool(num_long)
        self.num_long_turns += num_long

    def no_room(self, limit: int | None = None) -> str:
        """Return a sentence on the dialogues that are too long for the teacher; there must be one.

        Args:
            limit: tokens of the teacher's context, if known.
        """
        size = f" of {limit} tokens" if limit else ""
        return (
            f"{self.num_long_turns} turns of {self.num_long} dialogues have no target: they are too long "
            f"for the teacher's context{size}: set a smaller teacher.context_turns or source.max_turns, or "
            "take a teacher with a longer context"
        )
