"""`gatt synth verify`: whether the files of a run hold what its plan says, line by line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from data_synth.plan.plan import sample_id
from data_synth.shards.fingerprint import RunMark, read_mark
from data_synth.shards.shard import WHOLE, Shard, found_shards
from gatt.data.sample import GattSample
from gatt.errors import DataError, StoreError, VerifierError
from gatt.runs.input_file import open_bytes
from gatt.verifiers import check_all
from gatt.verifiers.spec import VerifierSpec

MOST_NAMED: Final = 8
"""Most missing samples that one line names."""


@dataclass
class VerifyCounts:
    """What was looked at."""

    num_files: int = 0
    num_samples: int = 0
    num_targets: int = 0


def verify_run(
    folder: Path,
    counts: VerifyCounts,
    *,
    recheck: bool = False,
    on_sample: Callable[[int], None] = lambda num: None,  # noqa: ARG005
) -> Iterator[str]:
    """Yield every problem of a run's files, a line each; none for a sound and complete run.

    Memory does not grow with the length of the files.

    Args:
        folder: the run's.
        counts: gets what was looked at.
        recheck: whether to run the verifiers again on every target.
        on_sample: hears of samples that are done.

    Raises:
        StoreError: no run there at all.
    """
    shards = found_shards(folder)
    if WHOLE.path(folder).exists():
        shards.insert(0, WHOLE)
    elif not shards:
        raise StoreError(f"{folder}: no samples in it: expected an output_dir of `gatt synth`")
    marks: dict[Shard, RunMark] = {}
    for shard in shards:
        try:
            marks[shard] = read_mark(folder, shard)
        except StoreError as error:
            yield str(error)
    first = next(iter(marks.values()), None)
    for shard, mark in marks.items():
        if first is not None and mark.fingerprint != first.fingerprint:
            yield (
                f"{shard.path(folder)}: fingerprint {mark.fingerprint!r}, expected "
                f"{first.fingerprint!r} as in the run's other files"
            )
    if WHOLE not in shards:
        num = max(shard.num_shards for shard in shards)
        for number in range(1, num + 1):
            if Shard(number, num) not in shards:
                yield f"{Shard(number, num).path(folder)}: missing, expected all {num} shards"
    for shard, mark in marks.items():
        counts.num_files += 1
        path = shard.path(folder)
        yield from _file_problems(path, shard, mark, counts, recheck, on_sample)


def _file_problems(
    path: Path,
    shard: Shard,
    mark: RunMark,
    counts: VerifyCounts,
    recheck: bool,
    on_sample: Callable[[int], None],
) -> Iterator[str]:
    order = _Order(shard, mark)
    try:
        stream = open_bytes(path)
    except OSError as error:
        yield f"{path}: cannot read: {error.strerror}: expected a file of samples"
        return
    with stream:
        for number, line in enumerate(stream, start=1):
            where = f"{path} line {number}"
            if not line.endswith(b"\n"):
                yield f"{where}: torn: start the same command again, which cuts it off"
                break
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                yield f"{where}: broken JSON ({error}), expected one sample a line"
                continue
            counts.num_samples += 1
            on_sample(1)
            try:
                sample = GattSample.from_dict(row)
            except DataError as error:
                yield f"{where}: {error}"
                continue
            counts.num_targets += sample.num_targets
            for problem in chain(
                order.problems(sample.id), _sample_problems(sample, mark, recheck)
            ):
                yield f"{where}: sample {sample.id!r}{problem}"
    if missing := order.missing():
        yield f"{path}: {missing}"


class _Order:
    """Which planned samples have come by; a byte for each of the run."""

    def __init__(self, shard: Shard, mark: RunMark) -> None:
        self._size = (mark.num_samples, mark.batch_samples)
        self._shard = shard
        self._seen = bytearray(mark.num_samples)
        self._last = -1

    def problems(self, name: str) -> Iterator[str]:
        index = int(name[1:]) if re.fullmatch(r"s\d{6,}", name) else -1
        num_samples, batch_samples = self._size
        is_planned = 0 <= index < num_samples and sample_id(index) == name
        if (
            not is_planned
            or index // batch_samples % self._shard.num_shards != self._shard.number - 1
        ):
            yield ": not planned for this file"
            return
        if self._seen[index]:
            yield " stands there twice"
        elif index < self._last:
            yield f" stands behind {sample_id(self._last)!r}, expected the order of the plan"
        self._seen[index] = 1
        self._last = max(self._last, index)

    def missing(self) -> str:
        left = (i for i in self._shard.indices(*self._size) if not self._seen[i])
        some = [sample_id(index) for index in islice(left, MOST_NAMED)]
        num = len(some) + sum(1 for _ in left)
        if not num:
            return ""
        more = f" and {num - len(some)} more" if num > len(some) else ""
        num_planned = self._shard.num_samples(*self._size)
        return f"{num} of {num_planned} planned samples missing: {', '.join(some)}{more}"


def _sample_problems(sample: GattSample, mark: RunMark, recheck: bool) -> Iterator[str]:
    teacher = mark.settings["teacher"]["engine"]["model"]
    for key, expected in (("seed", mark.settings["seed"]), ("teacher", teacher)):
        if (found := sample.provenance.get(key)) != expected:
            yield f": {key} {found!r} in its provenance, expected {expected!r}"
    yield from _switch_problems(sample, mark.settings.get("switch"))
    versions = mark.settings["verifiers"]
    for target in sample.targets:
        instruction = sample.instruction_at(target.turn)
        if target.reply is None or instruction is None:
            continue
        kinds = [(spec.kind, versions.get(spec.kind)) for spec in instruction.verifiers]
        stored = [dict(verdict) for verdict in target.verdicts]
        where = f", turn {target.turn}"
        if [(v.get("verifier"), v.get("version")) for v in stored] != kinds:
            yield f"{where}: its verdicts are not those of the instruction's verifiers"
        elif any(v.get("status") != "pass" for v in stored):
            yield f"{where}: a target that a verifier did not pass"
        elif recheck:
            again = _again(instruction.verifiers, target.reply, stored)
            yield from (f"{where}{problem}" for problem in again)


def _switch_problems(sample: GattSample, settings: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the changes of the instruction that the run could not have drawn.

    Args:
        sample: of the run.
        settings: its `switch`; None for a run without changes.
    """
    if sample.switches is None or settings is None:
        if settings is not None:
            yield ": no key 'switches', but its run draws changes"
        elif sample.switches is not None:
            yield ": key 'switches', but its run draws no changes"
        return
    for switch in sample.switches:
        where = f": switch at turn {switch.turn}"
        last = settings["max_turn"] or sample.dialogue.num_turns
        if not settings[switch.kind]:
            yield f"{where}: {switch.kind!r}, which its run does not draw"
        if not settings["min_turn"] <= switch.turn <= last:
            yield f"{where}, expected turns {settings['min_turn']} to {last}"


def _again(
    specs: Sequence[VerifierSpec], reply: str, stored: list[dict[str, Any]]
) -> Iterator[str]:
    """Yield what the verifiers say now where it differs from what they said."""
    try:
        verdicts = check_all(specs, reply)
    except VerifierError as error:
        yield f": {error}"
        return
    for verdict, before in zip(verdicts, stored, strict=True):
        if verdict.as_dict() != before:
            yield (
                f": verifier {verdict.verifier!r} says {verdict.status} ({verdict.evidence}), the file "
                f"says {before.get('status')} ({before.get('evidence')})"
            )
