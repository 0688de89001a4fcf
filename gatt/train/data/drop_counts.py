"""Samples and targets that are left out of training: how many, and why. No torch here."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from gatt.data.sample import GattSample
from gatt.errors import ContentError

log = logging.getLogger(__name__)


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
