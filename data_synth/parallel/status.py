"""`gatt synth status`: how far a run is, read from its files alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from data_synth.shards.fingerprint import read_mark
from data_synth.shards.row_counts import count_rows
from data_synth.shards.shard import WHOLE, Shard, found_shards
from gatt.errors import StoreError
from gatt.runs.lock import lock_note, lock_path
from gatt.runs.nesting import parse_json


@dataclass(frozen=True)
class ShardStatus:
    """How far one file is."""

    shard: Shard
    num_planned: int
    num_samples: int
    num_turns: int
    num_targets: int
    holder: str | None
    """Who has it open, such as `pid 12 on host`; None is nobody."""
    samples_a_second: float | None
    """Of the process that has it open or had it last; None if it made none."""

    @property
    def num_missing(self) -> int:
        """Samples still to be made."""
        return self.num_planned - self.num_samples

    @property
    def seconds_left(self) -> float | None:
        """Time that its holder still needs; None where nobody works on it or the rate is unknown."""
        if not self.num_missing:
            return 0.0
        if self.holder is None or not self.samples_a_second:
            return None
        return self.num_missing / self.samples_a_second


@dataclass(frozen=True)
class RunStatus:
    """How far a run is."""

    folder: Path
    num_planned: int
    shards: tuple[ShardStatus, ...]
    """Those that have a file; the whole run stands alone."""
    num_shards: int

    @property
    def num_samples(self) -> int:
        """Samples that stand in files."""
        return sum(shard.num_samples for shard in self.shards)

    @property
    def seconds_left(self) -> float | None:
        """Time until the last shard is done; None where that cannot be told."""
        left = [shard.seconds_left for shard in self.shards]
        if len(self.shards) < self.num_shards or None in left:
            return None
        return max(seconds for seconds in left if seconds is not None)


def run_status(folder: Path) -> RunStatus:
    """Return how far the run of a folder is.

    Nothing is locked or changed, so that a run in progress can be looked at
    from any machine that sees the folder.

    Raises:
        StoreError: no run there, files of several runs, or a broken one.
    """
    shards = [WHOLE] if WHOLE.path(folder).exists() else found_shards(folder)
    if not shards:
        raise StoreError(f"{folder}: no samples in it: expected an output_dir of `gatt synth`")
    marks = {shard: read_mark(folder, shard) for shard in shards}
    mark = marks[shards[0]]
    strange = [s for s in shards if marks[s].fingerprint != mark.fingerprint]
    strange += [s for s in shards if s.num_shards != shards[0].num_shards]
    if strange:
        raise StoreError(
            f"{strange[0].path(folder)}: belongs to another run or division than "
            f"{shards[0].path(folder).name}: move away what does not belong together"
        )
    size = (mark.num_samples, mark.batch_samples)
    found = tuple(_shard_status(folder, s, s.num_samples(*size)) for s in shards)
    return RunStatus(folder, mark.num_samples, found, shards[0].num_shards)


def _shard_status(folder: Path, shard: Shard, num_planned: int) -> ShardStatus:
    path = shard.path(folder)
    found = count_rows(path)
    num_samples = found.num_samples
    holder, num_before = _holder(path)
    rate = None
    if num_before is not None and num_samples > num_before:
        # The lock's file was written when the work began, the rows' at the last of them.
        seconds = path.stat().st_mtime - lock_path(path).stat().st_mtime
        rate = (num_samples - num_before) / seconds if seconds > 0 else None
    return ShardStatus(
        shard, num_planned, num_samples, found.num_turns, found.num_targets, holder, rate
    )


def _holder(path: Path) -> tuple[str | None, int | None]:
    """Return who holds a file, and how many rows it had when its last holder began."""
    try:
        is_held, text = lock_note(path)
    except OSError as error:
        raise StoreError(f"{lock_path(path)}: cannot read: {error.strerror}") from error
    pid, _, note = text.partition("\n")
    try:
        found = parse_json(note)
        host, num = str(found["host"]), int(found["num_records"])
    except (ValueError, TypeError, KeyError):
        # It is being opened at this very moment, or by something else.
        return (f"pid {pid or 'unknown'}" if is_held else None), None
    return (f"pid {pid} on {host}" if is_held else None), num
