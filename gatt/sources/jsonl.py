"""Dialogues from any JSONL file in messages or ShareGPT form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gatt.data.dialogue import Dialogue, read_dialogues
from gatt.data.hash_split import Part
from gatt.sources.base import SourceReport, SourceRequest
from gatt.sources.rows import parse_row


def read(
    request: SourceRequest,  # noqa: ARG001 - part of the readers' contract
    report: SourceReport,
    part: Part | None = None,  # noqa: ARG001 - part of the readers' contract
    *,
    path: str | Path,
) -> Iterator[Dialogue]:
    """Yield the dialogues of a file.

    The file is the user's own, so a broken line is an error and not a count.

    Raises:
        DataError: with file and line; see `gatt.data.dialogue.read_dialogues`.
    """
    for dialogue in read_dialogues(Path(path), parse=parse_row):
        report.num_read += 1
        yield dialogue
