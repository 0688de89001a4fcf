"""The samples of a run, each once and under an id of its own, and what is left out of them. No torch here."""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gatt.data.sample import GattSample, read_samples
from gatt.errors import ContentError, DataError

log = logging.getLogger(__name__)

LeaveOut = Callable[[Path, int, ContentError], None]
"""Is given a line whose sample cannot be used; see `gatt.data.sample.read_samples`."""


def read_all_samples(
    paths: Sequence[Path], leave_out: LeaveOut | None = None
) -> Iterator[GattSample]:
    """Yield the samples of all files; those with a text that cannot be used are left out.

    Every run of `gatt synth` counts its samples from 0: an id that an earlier
    file has too gets the number of its file, counted from 1 ("s000000.2"), or
    the next number that makes an id that no sample before it has.

    Raises:
        DataError: broken samples, two with one id in a file, or one sample in two files.
    """
    ids: set[str] = set()
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
            if sample.id in ids:
                free = (f"{sample.id}.{n}" for n in itertools.count(file_number))
                sample = replace(sample, id=next(name for name in free if name not in ids))
            ids.add(sample.id)
            yield sample


class Dropped:
    """Counts messages by their reason, and keeps the first of each."""

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self.counts: Counter[str] = Counter(counts)
        self.num_lines = 0
        """Lines of files that gave no sample."""
        self._first: dict[str, str] = {}

    def add(self, message: str, reason: str) -> None:
        """Count what is wrong with a sample or one of its targets, by `reason_of`."""
        self.counts[reason] += 1
        self._first.setdefault(reason, message)

    def add_line(self, path: Path, number: int, error: ContentError) -> None:
        """Count a line of a file whose sample cannot be used."""
        self.num_lines += 1
        # The place in the line stands first.
        reason = re.sub(r"^(message|turn) \d+: ", "", str(error))
        self.add(f"{path} line {number}: {error}", _bare(reason))

    def say(self) -> None:
        """Warn once for each reason, the most frequent first."""
        for reason, count in self.counts.most_common():
            log.warning("dropped %d: %s (first: %s)", count, reason, self._first[reason])

    def as_text(self) -> str:
        """Return the three most frequent reasons in parentheses, empty where nothing was dropped."""
        listed = "; ".join(f"{count}: {reason}" for reason, count in self.counts.most_common(3))
        return f" (dropped {listed})" if listed else ""


def reason_of(message: str, sample: GattSample) -> tuple[str, str]:
    """Return a message that names its sample or dialogue, and what is wrong, alike for all it befalls.

    What is wrong goes without where and what to do.
    """
    places = (f"sample {sample.id!r}", f"dialogue {sample.dialogue.id!r}")
    place = next((place for place in places if message.startswith(place)), "")
    # Behind the id, which may hold a colon, a turn may stand.
    what = message[len(place) :].partition(": ")[2] if place else message
    told = message if place else f"{places[0]}: {message}"
    return told, _bare(what)


def _bare(what: str) -> str:
    return re.sub(r"\d+", "N", what.partition(": ")[0])
