"""Dialogues from any data set that `datasets` can load: a hub id, a folder, a file."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final

from gatt.data.dialogue import Dialogue
from gatt.errors import ConfigError, DataError
from gatt.sources.base import SourceReport
from gatt.sources.config import SourceConfig
from gatt.sources.files import read_rows
from gatt.sources.normalise import COLUMNS
from gatt.sources.rows import Row, dialogues_of, unpacked

FILE_BUILDERS: Final = {
    ".parquet": "parquet", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".arrow": "arrow",
    ".csv": "csv", ".tsv": "csv",
}  # fmt: skip
_POSITION: Final = "__position"
_MOST_CHECKED: Final = 10_000
"""Rows of each local file that are read to explain an error."""


def read(config: SourceConfig, report: SourceReport) -> Iterator[Dialogue]:
    """Yield the dialogues of a data set.

    Rows of other people's data that are no dialogue are counted and left out, up to `max_lost`. A row
    without an id is named by its position.

    `path` is a hub id, a folder saved by `save_to_disk` or of data files, or one file; the seed shuffles a
    stream before `max_rows` cuts it.

    Raises:
        ConfigError: a configuration of what has none.
        DataError: not found, no network, no such configuration, split or column; more lost rows than
            `max_lost`.
    """
    path = os.path.expanduser(config.path or "")
    is_whole_file = config.split == "train" and not config.streaming and not config.config_name
    # `datasets` ends at the first broken or blank line of JSON.
    is_own = is_whole_file and Path(path).is_file()
    rows = read_rows(Path(path)) if is_own else _rows(path, config)
    yield from dialogues_of(islice(rows, config.max_rows), config, report)


def _rows(path: str, config: SourceConfig) -> Iterator[Row]:
    """Yield the rows of a split; a row's number is taken before the shuffle, so that no seed renames it."""
    loaded = _open(path, config.config_name, config.split, config.streaming)
    _refuse_column(path, loaded.column_names, config.column)
    if config.streaming:
        loaded = loaded.map(lambda row, index: {**row, _POSITION: index}, with_indices=True)
        loaded = loaded.shuffle(seed=config.seed, buffer_size=min(config.max_rows or 1, 10_000))
    with _told(path, config.config_name, config.split):
        # A stream is read only here.
        for index, row in enumerate(loaded):
            number = row.pop(_POSITION, index) + 1
            yield Row(number, f"row {number}", row)


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
    builder = FILE_BUILDERS.get(unpacked(local).suffix) if local.is_file() else None
    if config_name is not None and (is_saved or builder is not None):
        what = "a folder of `save_to_disk`" if is_saved else "a single file"
        raise ConfigError(
            f"source 'hub': {path} is {what} and has no configurations: expected no config_name, "
            f"found {config_name!r}"
        )
    with _told(path, config_name, split):
        if is_saved:
            loaded = datasets.load_from_disk(path)
            if isinstance(loaded, datasets.DatasetDict):
                loaded = loaded[split]
            return loaded.to_iterable_dataset() if streaming else loaded
        if builder is not None:
            return datasets.load_dataset(builder, data_files=path, split=split, streaming=streaming)
        return datasets.load_dataset(path, name=config_name, split=split, streaming=streaming)


@contextmanager
def _told(path: str, config_name: str | None, split: str) -> Iterator[None]:
    """Turn what `datasets` raises into one line, and keep its log from repeating it.

    Raises:
        DataError: names the file and what is wrong with it, where it is one of a local folder.
    """
    logger = logging.getLogger("datasets")
    level_before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    except Exception as error:  # `datasets` lets through errors of many libraries
        _refuse_broken_file(Path(path))
        said = " ".join(str(error).split())[:300]
        raise DataError(
            f"data set {path!r}, split {split!r}, configuration {config_name!r}: cannot be loaded "
            f"({type(error).__name__}: {said}): expected a local folder or file, or an id of the hub, which "
            "needs the network, with that split and configuration"
        ) from error
    finally:
        logger.setLevel(level_before)


def _refuse_broken_file(path: Path) -> None:
    """Refuse a local folder or file by the first of its files that cannot be read.

    Raises:
        DataError: names the file, and the line where it is known.
    """
    files = [path] if path.is_file() else sorted(path.rglob("*")) if path.is_dir() else []
    for file in files:
        if file.is_file() and unpacked(file).suffix in FILE_BUILDERS:
            for row in islice(read_rows(file), _MOST_CHECKED):
                if row.problem is not None:
                    raise DataError(
                        f"{file} {row.place}: broken JSON ({row.problem}): mend or delete the line, or read "
                        "the file alone with source.name=jsonl, which counts such lines"
                    )


def _refuse_column(path: str, names: list[str] | None, column: str | None) -> None:
    """Refuse a data set without the column of messages, before anything is read.

    Raises:
        DataError: names the columns that there are; a stream may not know them.
    """
    wanted = (column,) if column is not None else COLUMNS
    if names is not None and not set(wanted) & set(names):
        raise DataError(
            f"data set {path!r} has no column {' or '.join(map(repr, wanted))}: "
            f"found {', '.join(names) or 'none'}: name the one with the messages with source.column"
        )
