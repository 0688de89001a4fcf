"""`gatt synth merge`: complete shards become one file, in the order of the plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from data_synth.config import SynthConfig
from data_synth.pipeline import SOURCE_FILE, SynthResult, close_run
from data_synth.shards.fingerprint import RunMark, read_mark, refuse_other_config
from data_synth.shards.shard import (
    CONFIG_FILE,
    SHARDS_FOLDER,
    WHOLE,
    Shard,
    found_shards,
    num_planned_rows,
)
from gatt.config.load import load_config
from gatt.errors import StoreError
from gatt.runs.atomic_file import atomic_stream, atomic_write_json
from gatt.runs.input_file import open_bytes, read_text
from gatt.runs.lock import free_lock, take_lock
from gatt.runs.nesting import parse_json
from gatt.runs.store import meta_path, read_records
from gatt.sources import SourceReport

_SHOWN: Final = 8
"""Most problems that one line names."""


def merge_shards(folder: Path) -> SynthResult:
    """Write `samples.jsonl` and its card from the shards of a run's folder.

    The file equals that of one process byte for byte. It is written beside and
    put in place at the end, so that no reader sees half of it; the shards stay.
    Memory does not grow with the number of samples.

    Raises:
        StoreError: a shard is missing, incomplete, in use or of another run; no
            configuration beside them; or the disk refuses.
        DataError: not one target in any sample.
    """
    shards = _all_shards(folder)
    marks = {shard: read_mark(folder, shard) for shard in shards}
    mark = marks[shards[0]]
    _refuse_strangers(folder, marks)
    config, report = _description(folder)
    refuse_other_config(folder / CONFIG_FILE, config, mark)
    with ExitStack() as stack:
        for shard in (WHOLE, *shards):
            try:
                stack.callback(free_lock, take_lock(shard.path(folder)))
            except OSError as error:
                raise StoreError(
                    f"{shard.path(folder)}: cannot lock: {error.strerror}: mend it and merge again"
                ) from error
        _refuse_incomplete(folder, mark, shards)
        _refuse_another_run(folder, mark)
        _write(folder, mark, shards)
    return close_run(config, report, mark.num_samples)


def _all_shards(folder: Path) -> list[Shard]:
    """Return every shard of the run; all of them have files."""
    shards = found_shards(folder)
    place = folder / SHARDS_FOLDER
    if not shards:
        raise StoreError(f"{place}: no shard in it, expected those of `gatt synth --shard K/N`")
    counts = sorted({shard.num_shards for shard in shards})
    if len(counts) > 1:
        raise StoreError(
            f"{place}: holds shards of {' and of '.join(map(str, counts))}, expected those of one "
            "number: move the others away"
        )
    numbers = {shard.number for shard in shards}
    missing = [str(n) for n in range(1, counts[0] + 1) if n not in numbers]
    if missing:
        raise StoreError(
            f"{place}: no shard {_few(missing)} of {counts[0]}, expected all of them: run `gatt synth` "
            f"with --shard K/{counts[0]} for each of them, or copy them here"
        )
    return shards


def _refuse_strangers(folder: Path, marks: Mapping[Shard, RunMark]) -> None:
    (first, mark), *others = marks.items()
    strange = [str(s) for s, other in others if other.fingerprint != mark.fingerprint]
    if strange:
        raise StoreError(
            f"{folder / SHARDS_FOLDER}: shards {_few(strange)} belong to another run than {first} "
            f"(fingerprint {mark.fingerprint!r}): move away what does not belong together"
        )


def _refuse_incomplete(folder: Path, mark: RunMark, shards: Sequence[Shard]) -> None:
    size = (mark.num_samples, mark.batch_samples)
    lacking = []
    for shard in shards:
        path = shard.path(folder)
        num = num_planned_rows(path, read_records(path), shard.indices(*size))
        if num < (num_planned := shard.num_samples(*size)):
            lacking.append(f"{shard} ({num} of {num_planned} samples)")
    if lacking:
        raise StoreError(
            f"{folder / SHARDS_FOLDER}: incomplete: shards {_few(lacking)}: run `gatt synth` with "
            "--shard for each of them again, it goes on where it stopped"
        )


def _refuse_another_run(folder: Path, mark: RunMark) -> None:
    if not WHOLE.path(folder).exists():
        return
    found = read_mark(folder, WHOLE).fingerprint
    if found != mark.fingerprint:
        raise StoreError(
            f"{WHOLE.path(folder)}: belongs to another run: fingerprint {found!r}, expected "
            f"{mark.fingerprint!r}: move it away"
        )


def _description(folder: Path) -> tuple[SynthConfig, SourceReport]:
    """Return what every machine of the run wrote beside its shards."""
    path = folder / SOURCE_FILE
    try:
        raw: dict[str, Any] = parse_json(read_text(path))
        counts = {key: Counter(raw[key]) for key in ("dropped", "changed")}
        report = SourceReport(**{**raw, **counts})
    except (OSError, ValueError, TypeError, KeyError):
        raise StoreError(
            f"{path}: missing or broken: copy it, and {CONFIG_FILE}, from a machine that made a shard"
        ) from None
    config = load_config(SynthConfig, folder / CONFIG_FILE)
    # The folder may have been moved since.
    return replace(config, output_dir=folder), report


def _write(folder: Path, mark: RunMark, shards: Sequence[Shard]) -> None:
    path = WHOLE.path(folder)
    # First what the rows belong to: rows alone would be nobody's.
    atomic_write_json(meta_path(path), mark.store(folder, WHOLE).meta)
    with ExitStack() as stack:
        streams = [stack.enter_context(open_bytes(s.path(folder))) for s in shards]
        out = stack.enter_context(atomic_stream(path))
        for number, batch in enumerate(WHOLE.batches(mark.num_samples, mark.batch_samples)):
            lines = filter(bytes.strip, streams[number % len(streams)])
            for line in islice(lines, len(batch)):
                out.write(line if line.endswith(b"\n") else line + b"\n")


def _few(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
