"""Dialogues from any data set that `datasets` can load: a hub id, a folder, a Parquet file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from gatt.data.dialogue import Dialogue
from gatt.errors import ConfigError, DataError
from gatt.sources.base import SourceReport
from gatt.sources.config import SourceConfig
from gatt.sources.jsonl import COLUMNS, parse_row

FILE_BUILDERS = {".parquet": "parquet", ".json": "json", ".jsonl": "json", ".arrow": "arrow"}
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
"""Endings behind those of `FILE_BUILDERS`, which `datasets` unpacks."""


def read(config: SourceConfig, report: SourceReport) -> Iterator[Dialogue]:
    """Yield the dialogues of a data set.

    Rows of other people's data that break the contract of a dialogue are
    counted and left out. A row without an `id` is named by its position.

    Args:
        config: `path` is a hub id, a folder saved by `save_to_disk` or of data files, or one file; the seed
            shuffles a stream before `max_rows` cuts it.
        report: gets the counts.

    Raises:
        ConfigError: a configuration of what has none.
        DataError: not found, no network, no such configuration, split or column.
    """
    path = os.path.expanduser(config.path or "")
    rows = _open(path, config.config_name, config.split, config.streaming)
    found = _column(path, rows.column_names, config.column)
    # The position is taken before the shuffle: it names the row, whatever the seed.
    numbered: Iterable[tuple[int, dict[str, Any]]]
    if config.streaming:
        rows = rows.map(lambda row, index: {**row, _POSITION: index}, with_indices=True)
        rows = rows.shuffle(seed=config.seed, buffer_size=min(config.max_rows or 1, 10_000))
        numbered = ((row.pop(_POSITION), row) for row in rows)
    else:
        numbered = enumerate(rows)
    yield from _parse(path, islice(numbered, config.max_rows), found, report)


_POSITION = "__position"


def _parse(
    path: str,
    numbered: Iterable[tuple[int, dict[str, Any]]],
    column: str,
    report: SourceReport,
) -> Iterator[Dialogue]:
    stem = _unpacked(Path(path)).stem
    seen: set[str] = set()
    for index, row in numbered:
        report.num_read += 1
        identity = f"{stem}-{index}" if row.get("id") in (None, "") else row["id"]
        try:
            dialogue = parse_row({"id": identity, "messages": row[column]})
        except DataError as error:
            report.dropped["broken row"] += 1
            report.first_problem = report.first_problem or f"row {index}: {error}"
            continue
        if dialogue.id in seen:
            report.dropped["repeated id"] += 1
            continue
        seen.add(dialogue.id)
        yield dialogue


def _open(path: str, config_name: str | None, split: str, streaming: bool) -> Any:
    """Return the split as a `datasets` object.

    Raises:
        ConfigError: a configuration of a saved folder or a file, which have none.
        DataError: in one line, whatever `datasets` raised.
    """
    # Takes a second to import: only for those who use it.
    import datasets

    local = Path(path)
    is_saved = any((local / f).is_file() for f in ("dataset_dict.json", "state.json"))
    builder = FILE_BUILDERS.get(_unpacked(local).suffix) if local.is_file() else None
    if config_name is not None and (is_saved or builder is not None):
        what = "a folder of `save_to_disk`" if is_saved else "a single file"
        raise ConfigError(
            f"source 'hub': {path} is {what} and has no configurations: expected no config_name, "
            f"found {config_name!r}"
        )
    try:
        if is_saved:
            loaded = datasets.load_from_disk(path)
            if isinstance(loaded, datasets.DatasetDict):
                loaded = loaded[split]
            return loaded.to_iterable_dataset() if streaming else loaded
        if builder is not None:
            return datasets.load_dataset(builder, data_files=path, split=split, streaming=streaming)
        return datasets.load_dataset(path, name=config_name, split=split, streaming=streaming)
    except Exception as error:  # `datasets` lets through errors of many libraries
        said = " ".join(str(error).split())[:300]
        raise DataError(
            f"data set {path!r}, split {split!r}, configuration {config_name!r}: cannot be loaded "
            f"({type(error).__name__}: {said}): expected a local folder or file, or an id of the hub, which "
            "needs the network, with that split and configuration"
        ) from error


def _unpacked(path: Path) -> Path:
    """Return a file's path as if it were not compressed."""
    return path.with_suffix("") if path.suffix in COMPRESSIONS else path


def _column(path: str, names: list[str] | None, column: str | None) -> str:
    known = names or []
    wanted = (column,) if column is not None else COLUMNS
    for candidate in wanted:
        if candidate in known:
            return candidate
    raise DataError(
        f"data set {path!r} has no column {' or '.join(map(repr, wanted))}: "
        f"found {', '.join(known) or 'none'}"
    )
