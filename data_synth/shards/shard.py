"""Shards of a run: disjoint sets of planned batches, each with a file of its own.

A run's folder holds `samples.jsonl`, or, while several processes work on it,
`shards/00002-of-00008.jsonl` and so on, from which `gatt synth merge` makes it.
Batch b (counted from 0) belongs to shard b mod n; the rows of every file stand
in the order of the plan, so a file that was cut off anywhere is a beginning.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from data_synth.plan.plan import sample_id
from gatt.errors import ConfigError, StoreError
from gatt.runs.lock import free_lock, take_lock

SAMPLES_FILE = "samples.jsonl"
CONFIG_FILE = "config.yaml"
SHARDS_FOLDER = "shards"
BEGIN_SECONDS: Final = 10.0
"""Time for the shards that begin at once to do so one after the other."""

_LOOK_SECONDS: Final = 0.02
_NAME = re.compile(r"(\d{5,})-of-(\d{5,})\.jsonl")


@dataclass(frozen=True, order=True)
class Shard:
    """Shard `number` (from 1) of `num_shards`; 1 of 1 is the whole run.

    Raises:
        ConfigError: no shard of that number.
    """

    number: int = 1
    num_shards: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.num_shards:
            raise ConfigError(
                f"shard {self.number}/{self.num_shards}: expected K/N with K from 1 to N, such as 2/8"
            )

    def __str__(self) -> str:
        return f"{self.number}/{self.num_shards}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Return the shard of `2/8`.

        Raises:
            ConfigError: not of that form, or no such shard.
        """
        found = re.fullmatch(r"(\d+)/(\d+)", text)
        if found is None:
            raise ConfigError(f"shard {text!r}: expected K/N with K from 1 to N, such as 2/8")
        return cls(int(found[1]), int(found[2]))

    @property
    def is_whole(self) -> bool:
        """Whether this is all of the run."""
        return self.num_shards == 1

    def path(self, folder: Path) -> Path:
        """Return the file of the shard's samples."""
        if self.is_whole:
            return folder / SAMPLES_FILE
        return folder / SHARDS_FOLDER / f"{self.number:05d}-of-{self.num_shards:05d}.jsonl"

    def batches(self, num_samples: int, batch_samples: int) -> Iterator[range]:
        """Yield the shard's batches, each as the places of its samples in the plan."""
        step = batch_samples * self.num_shards
        for start in range((self.number - 1) * batch_samples, num_samples, step):
            yield range(start, min(start + batch_samples, num_samples))

    def indices(self, num_samples: int, batch_samples: int) -> Iterator[int]:
        """Yield the places of the shard's samples in the plan, in order."""
        for batch in self.batches(num_samples, batch_samples):
            yield from batch

    def num_samples(self, num_samples: int, batch_samples: int) -> int:
        """Return how many of the run's samples are the shard's."""
        return sum(len(batch) for batch in self.batches(num_samples, batch_samples))


WHOLE = Shard()


def found_shards(folder: Path) -> list[Shard]:
    """Return the shards that have a file in a run's folder, in order."""
    names = (_NAME.fullmatch(path.name) for path in (folder / SHARDS_FOLDER).glob("*.jsonl"))
    return sorted(Shard(int(name[1]), int(name[2])) for name in names if name)


def refuse_foreign(folder: Path, names: Iterable[str]) -> None:
    """Refuse to begin in a folder that holds somebody else's files, which a run would write over.

    Args:
        folder: of the run.
        names: of the files that a run writes beside its samples.

    Raises:
        StoreError: one of them stands there, and no samples or shards.
    """
    if (folder / SAMPLES_FILE).exists() or (folder / SHARDS_FOLDER).exists():
        return
    for name in names:
        if (folder / name).exists():
            raise StoreError(
                f"{folder / name}: stands there, and no samples beside it: expected an empty folder, since "
                "a run writes files of this name; choose another output_dir"
            )


def refuse_mixture(folder: Path, shard: Shard) -> None:
    """Refuse to begin a file in a folder whose work is divided in another way.

    Raises:
        StoreError: shards of another number, or shards beside a whole run.
    """
    others = {s.num_shards for s in found_shards(folder)} - {shard.num_shards}
    place = folder / SHARDS_FOLDER
    is_merged = (folder / SAMPLES_FILE).exists()
    if others and not (shard.is_whole and is_merged):
        num = min(others)
        raise StoreError(
            f"{place}: holds shards of {num}, expected {_work(shard)}: go on with --workers {num} or "
            f"--shard K/{num}, join them with `gatt synth merge {folder}`, or delete the folder"
        )
    if is_merged and not shard.is_whole and not shard.path(folder).exists():
        raise StoreError(
            f"{folder / SAMPLES_FILE}: stands there already, expected {_work(shard)}: go on without "
            "--shard and --workers, or delete it"
        )


@contextmanager
def beginning(folder: Path, shard: Shard) -> Iterator[None]:
    """Let no other shard of the folder begin, nor be merged, while the block runs.

    Two that begin at once would not see each other, and the later one would
    overwrite what describes the earlier. A whole run has its own file's lock.

    Raises:
        StoreError: the folder cannot be written, or is being merged.
    """
    if shard.is_whole:
        yield
        return
    path = WHOLE.path(folder)
    end = time.monotonic() + BEGIN_SECONDS
    while True:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = take_lock(path)
            break
        except OSError as error:
            raise StoreError(
                f"{path}: cannot lock: {error.strerror}: mend it and start again"
            ) from error
        except StoreError:
            if time.monotonic() > end:
                raise
            time.sleep(_LOOK_SECONDS)
    try:
        yield
    finally:
        free_lock(lock)


def num_planned_rows(path: Path, rows: Iterable[Mapping[str, Any]], indices: Iterator[int]) -> int:
    """Return the number of rows, having seen that they are the first planned ones.

    Args:
        path: of the file, for the error.
        rows: of the file.
        indices: places of the file's samples in the plan, in order.

    Raises:
        StoreError: a row that is not the planned one.
    """
    number = 0
    for number, row in enumerate(rows, start=1):
        index = next(indices, None)
        expected = None if index is None else sample_id(index)
        if row.get("id") != expected:
            raise StoreError(
                f"{path}: row {number} is sample {row.get('id')!r}, expected "
                f"{repr(expected) if expected else 'no further one'}: cut the file off before that "
                "row and start again, what is missing is made anew"
            )
    return number


def _work(shard: Shard) -> str:
    return "none" if shard.is_whole else f"those of {shard.num_shards}"
