"""Dialogues from a file of one's own: JSON lines above all, or whatever `gatt.sources.files` reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gatt.data.dialogue import Dialogue
from gatt.errors import DataError
from gatt.sources.base import SourceReport
from gatt.sources.config import SourceConfig
from gatt.sources.files import read_rows
from gatt.sources.rows import dialogues_of


def read(config: SourceConfig, report: SourceReport) -> Iterator[Dialogue]:
    """Yield the dialogues of a file.

    The file is the user's own: a row that is lost is an error, unless `max_lost` allows it.

    Raises:
        DataError: see `gatt.sources.files.read_rows` and `gatt.sources.rows.dialogues_of`; also for a file
            without a row.
    """
    path = Path(config.path or "").expanduser()
    if path.is_dir():
        raise DataError(f"{path}: a folder, expected a file: read it with source.name=hub")
    yield from dialogues_of(read_rows(path), config, report)
    if not report.num_read:
        raise DataError(f"{path}: no dialogue in it: expected one JSON object a line")
