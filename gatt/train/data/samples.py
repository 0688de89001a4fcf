"""The samples of a training run: one file or several, each sample once and under an id of its own."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gatt.data.sample import GattSample, read_samples
from gatt.errors import ContentError, DataError

LeaveOut = Callable[[Path, int, ContentError], None]
"""Is given a line whose sample cannot be used; see `gatt.data.sample.read_samples`."""


def read_all_samples(
    paths: Sequence[Path], leave_out: LeaveOut | None = None
) -> Iterator[GattSample]:
    """Yield the samples of all files; those with a text that cannot be used are left out.

    Every run of `gatt synth` counts its samples from 0: an id that an earlier
    file has too gets the number of its file, counted from 1 ("s000000.2"), or
    the next number that makes an id that no sample before it has. Arguments and errors are those
    of `samples_by_file`.
    """
    ids: set[str] = set()
    for file_number, sample in samples_by_file(paths, leave_out):
        if sample.id in ids:
            free = (f"{sample.id}.{n}" for n in itertools.count(file_number))
            sample = replace(sample, id=next(name for name in free if name not in ids))
        ids.add(sample.id)
        yield sample


def samples_by_file(
    paths: Sequence[Path], leave_out: LeaveOut | None = None
) -> Iterator[tuple[int, GattSample]]:
    """Yield the samples of all files under their own ids, each with the number of its file, from 1.

    Raises:
        DataError: broken samples, two with one id in a file, or one sample in two files.
    """
    by_content: dict[bytes, str] = {}
    for file_number, path in enumerate(paths, start=1):
        of_file: dict[str, str] = {}
        for number, sample in enumerate(read_samples(path, leave_out), start=1):
            place = f"{path} sample {number}"
            if sample.id in of_file:
                raise DataError(
                    f"{place}: id {sample.id!r} is that of {of_file[sample.id]} already: expected "
                    "ids that differ; remove one of the two"
                )
            content = hashlib.sha256(json.dumps(sample.as_dict()).encode()).digest()
            if content in by_content:
                raise DataError(
                    f"{place}: the same as {by_content[content]}: expected each sample once; "
                    "remove one of the two"
                )
            of_file[sample.id] = by_content[content] = place
            yield file_number, sample
