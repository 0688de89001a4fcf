"""What a file of samples holds, counted without building them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from data_synth.filters import NO_ROOM
from gatt.errors import StoreError
from gatt.runs.store import read_records


@dataclass
class RowCounts:
    """Sums over the rows of a file."""

    num_samples: int = 0
    num_turns: int = 0
    num_targets: int = 0
    num_long: int = 0
    """Samples with turns for which the teacher's context has no room."""
    num_long_turns: int = 0


def count_rows(path: Path) -> RowCounts:
    """Return the sums over a file's rows.

    Raises:
        StoreError: the file cannot be read, or has a row that is no sample.
    """
    found = RowCounts()
    for row in read_records(path):
        found.num_samples += 1
        turns = row.get("turns")
        if not isinstance(turns, list) or not all(isinstance(t, dict) for t in turns):
            raise StoreError(
                f"{path}: sample {found.num_samples}, {row.get('id')!r}, has no list of turns: expected "
                "what `gatt synth` wrote: delete that line and those behind it, and start again"
            )
        found.num_turns += len(turns)
        found.num_targets += sum(bool(turn.get("reply")) for turn in turns)
        num_long = sum(turn.get("reason") == NO_ROOM for turn in turns)
        found.num_long += bool(num_long)
        found.num_long_turns += num_long
    return found


def no_room(found: RowCounts, limit: int | None = None) -> str:
    """Return what to say of dialogues that are too long for the teacher.

    Args:
        found: at least one turn of one.
        limit: tokens of its context, where they are known.
    """
    size = f" of {limit} tokens" if limit else ""
    return (
        f"{found.num_long_turns} turns of {found.num_long} dialogues have no target: they are too long "
        f"for the teacher's context{size}: set a smaller teacher.context_turns or source.max_turns, or "
        "take a teacher with a longer context"
    )
