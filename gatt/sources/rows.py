"""From rows to dialogues, the same for `jsonl` and `hub`: ids, counts, and a limit of lost rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from gatt.data.dialogue import Dialogue, parse_dialogue
from gatt.errors import DataError
from gatt.sources.base import SourceReport
from gatt.sources.config import SourceConfig
from gatt.sources.message import LostRowError
from gatt.sources.normalise import normalise
from gatt.sources.reasons import BROKEN_EXPECT, BROKEN_JSON, LOST, REPEATED_ID, advice

COMPRESSIONS: Final = (".gz", ".bz2", ".xz", ".zst")
"""Endings behind the one that says what a file holds."""
_MOST_SHOWN: Final = 3


class Row(NamedTuple):
    """One row of a source."""

    number: int
    """From 1, blank lines left out: it names a dialogue without an id."""
    place: str
    """Where it stands, for messages."""
    value: object
    problem: str | None = None
    """Why it is no JSON."""


def dialogues_of(
    rows: Iterable[Row], config: SourceConfig, report: SourceReport
) -> Iterator[Dialogue]:
    """Yield the dialogues of rows; a row without an id is named after the source and its number.

    `report` gets what was read, changed and dropped, with an example for each reason.

    Raises:
        DataError: after the last row: more than `max_lost` rows are lost; with the counts, the first
            of them, and what helps against the most frequent reason.
    """
    path = config.path or ""
    stem = unpacked(Path(path)).stem
    first_places: dict[str, str] = {}
    first_lost: list[str] = []
    for row in rows:
        report.num_read += 1
        try:
            if row.problem is not None:
                raise LostRowError(BROKEN_JSON, row.problem)
            identity, messages, changes = normalise(row.value, config.column)
            identity = identity or f"{stem}-{row.number}"
            first = first_places.setdefault(identity, row.place)
            if first != row.place:
                raise LostRowError(REPEATED_ID, f"{identity[:80]!r} stands in {first} already")
            dialogue = parse_dialogue({"id": identity, "messages": messages})
        except DataError as error:
            # Roles and texts are in order by now: `expect` alone is passed on as it is.
            reason = error.reason if isinstance(error, LostRowError) else BROKEN_EXPECT
            said = f"{row.place}: {error}"
            report.drop(reason, said)
            if reason in LOST and len(first_lost) < _MOST_SHOWN:
                first_lost.append(said)
            continue
        for reason, detail in changes.items():
            report.change(reason, f"{row.place}, {detail}")
        yield dialogue
    lost = {reason: count for reason, count in report.dropped.most_common() if reason in LOST}
    num_lost, limit = sum(lost.values()), config.most_lost
    if limit is not None and num_lost > limit:
        counts = ", ".join(f"{reason}: {count}" for reason, count in lost.items())
        raise DataError(
            f"{path}: {num_lost} of {report.num_read} rows are lost ({counts}), expected at most {limit} "
            f"(max_lost); first: {'; '.join(first_lost)}: {advice(lost)}, or allow them: "
            f"source.max_lost={num_lost}"
        )


def unpacked(path: Path) -> Path:
    """Return a file's path as if it were not compressed."""
    return path.with_suffix("") if path.suffix in COMPRESSIONS else path
