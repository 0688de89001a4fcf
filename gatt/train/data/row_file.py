"""Training rows on disk: an Arrow file of combs that is mapped into memory, and the rows packed of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc

from gatt.comb.collator import combs_to_features
from gatt.comb.comb import IGNORE, Comb
from gatt.runs.atomic_file import atomic_stream

SCHEMA: Final = pa.schema(
    {
        **dict.fromkeys(("input_ids", "labels", "forks", "lengths"), pa.list_(pa.int32())),
        "by_kl": pa.list_(pa.bool_()),
    }
)
"""The columns of `gatt.comb.collator.combs_to_features`."""
COMBS_PER_BLOCK: Final = 256
"""Combs that are held in memory until they are written."""


@dataclass
class CombWriter:
    """Writes combs one after the other."""

    stream: pa.ipc.RecordBatchStreamWriter
    _waiting: list[Mapping[str, Any]] = field(default_factory=list)

    def add(self, comb: Comb) -> None:
        """Write a comb, at once or with some of those that follow."""
        self._waiting.append(combs_to_features([comb]))
        if len(self._waiting) == COMBS_PER_BLOCK:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if self._waiting:
            self.stream.write_batch(pa.RecordBatch.from_pylist(self._waiting, schema=SCHEMA))
            self._waiting = []


@contextmanager
def writing_combs(sink: BinaryIO) -> Iterator[CombWriter]:
    """Yield a writer; when the block ends without an error all that it was given is in `sink`."""
    with pa.ipc.new_stream(sink, SCHEMA) as stream:
        writer = CombWriter(stream)
        yield writer
        writer.flush()


@contextmanager
def comb_file(path: Path) -> Iterator[CombWriter]:
    """Yield the writer of a file, which takes its place at the end.

    Raises:
        StoreError: it cannot be written.
    """
    with atomic_stream(path) as sink, writing_combs(sink) as writer:
        yield writer


def combs_in(source: Path | pa.Buffer) -> Any:
    """Return the combs of a file, or of what was written into memory, as a `datasets.Dataset`."""
    from datasets import Dataset

    return (
        Dataset.from_file(str(source)) if isinstance(source, Path) else Dataset.from_buffer(source)
    )


def comb_lengths(combs: Any) -> list[int]:
    """Return the number of tokens of each comb."""
    found: list[int] = pc.list_value_length(combs.data.column("input_ids")).to_pylist()
    return found


def packed_rows(combs: Any, groups: Sequence[Sequence[int]]) -> Any:
    """Return a `datasets.Dataset` with one row a group of combs, put together when it is read.

    Args:
        combs: of `combs_in`.
        groups: numbers of the combs of each row; none at all make a row of one token without loss.
    """
    from datasets import Dataset, Features, List, Value

    numbers = Dataset.from_dict(
        {"combs": [list(group) for group in groups]}, Features({"combs": List(Value("int64"))})
    )
    # Any token will do, but one that the model has: a padding token may be added behind its embeddings.
    padding = combs_to_features([Comb(tuple(combs[0]["input_ids"][:1]), (IGNORE,))])

    def read(batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        rows: list[Mapping[str, Any]] = []
        for group in batch["combs"]:
            found = combs[group]
            rows.append(
                {name: list(chain.from_iterable(found[name])) for name in SCHEMA.names}
                if group
                else padding
            )
        return {name: [row[name] for row in rows] for name in SCHEMA.names}

    return numbers.with_transform(read)
