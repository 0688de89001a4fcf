"""Training rows on disk: an Arrow file of combs that is mapped into memory, and the rows packed of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc

from gatt.comb.collator import combs_to_features
from gatt.comb.comb import IGNORE, Comb

SCHEMA: Final = pa.schema(
    {
        **dict.fromkeys(("input_ids", "labels", "forks", "lengths"), pa.list_(pa.int32())),
        "by_kl": pa.list_(pa.bool_()),
    }
)
"""The columns of `gatt.comb.collator.combs_to_features`."""
COMBS_PER_BLOCK: Final = 256
"""Combs that are held in memory until they are written."""


def store_combs(combs: Iterable[Comb], sink: BinaryIO) -> None:
    """Write combs one block after the other."""
    columns = (combs_to_features([comb]) for comb in combs)
    with pa.ipc.new_stream(sink, SCHEMA) as stream:
        while block := list(islice(columns, COMBS_PER_BLOCK)):
            stream.write_batch(pa.RecordBatch.from_pylist(block, schema=SCHEMA))


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

    def row(group: Sequence[int]) -> Mapping[str, Any]:
        found = combs[group]
        joined = {name: list(chain.from_iterable(found[name])) for name in SCHEMA.names}
        return joined if group else padding

    def read(batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        rows = [row(group) for group in batch["combs"]]
        return {name: [row[name] for row in rows] for name in SCHEMA.names}

    return numbers.with_transform(read)
