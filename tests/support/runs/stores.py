"""A record store of samples, as the tests open it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gatt.runs.store import RecordStore


def open_store(path: Path, fingerprint: str = "f1", **kwargs: Any) -> RecordStore:
    return RecordStore(path, fingerprint=fingerprint, kind="sample", **kwargs)


def fill(path: Path, rows: list[dict[str, Any]]) -> None:
    with open_store(path) as store:
        for row in rows:
            store.append(row)
