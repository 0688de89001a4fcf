"""The rows of a run as a table: combs are written once, and put together to rows when they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc

from gatt.comb.collator import combs_to_features
from gatt.comb.comb import IGNORE, Comb
from gatt.train.config import TrainConfig
from gatt.train.data.packing import is_packed, packed_rows
from gatt.train.data.samples import RowReport

SCHEMA: Final = pa.schema(
    {
        **dict.fromkeys(("input_ids", "labels", "forks", "lengths"), pa.list_(pa.int32())),
        "objectives": pa.list_(pa.int8()),
        **dict.fromkeys(("partners", "teachers"), pa.list_(pa.bool_())),
    }
)
"""The columns of `gatt.comb.collator.combs_to_features`."""
COMBS_PER_BLOCK: Final = 256
"""Combs that are held in memory until they are written."""
NUM_TOKENS: Final = "num_tokens"
"""The column of `row_lengths`."""


def rows_in(
    source: str | pa.Buffer, report: RowReport, config: TrainConfig, world_size: int
) -> Any:
    """Return the rows of what `write_combs` wrote, as a `datasets.Dataset`; the report gets their numbers.

    Rows without loss are appended until an epoch is a whole number of optimiser
    steps on all processes: else Accelerate's `even_batches` would train the
    first rows of the epoch twice. `row_lengths` reads how long the rows are.
    """
    from datasets import Dataset, Features, List, Value

    combs = (Dataset.from_file if isinstance(source, str) else Dataset.from_buffer)(source)
    lengths = _student_lengths(combs.data)
    report.rows_a_step = config.gradient_accumulation_steps
    if report.layout == "comb" and is_packed(config):
        groups, report.rows_a_step = packed_rows(lengths, config)
    else:
        groups = [[number] for number in range(len(combs))]
    step = world_size * config.per_device_train_batch_size * report.rows_a_step
    report.num_rows, report.num_padding_rows = len(groups), -len(groups) % step
    num_tokens = [sum(lengths[number] for number in group) for group in groups]
    numbers = Dataset.from_dict(
        {
            "combs": [*groups, *[[]] * report.num_padding_rows],
            NUM_TOKENS: [*num_tokens, *[1] * report.num_padding_rows],
        },
        Features({"combs": List(Value("int64")), NUM_TOKENS: Value("int64")}),
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

    # Put together when they are read.
    return numbers.with_transform(read)


def row_lengths(rows: Any) -> list[int]:
    """Return how many tokens the student reads of each row of `rows_in`, without putting rows together."""
    lengths: list[int] = rows.data.column(NUM_TOKENS).to_pylist()
    return lengths


def _student_lengths(combs: pa.Table) -> list[int]:
    """Return how many tokens the student reads of each row of combs."""
    whole: list[int] = pc.list_value_length(combs.column("input_ids")).to_pylist()
    if not pc.any(pc.list_flatten(combs.column("teachers"))).as_py():
        return whole
    parts = zip(*(combs.column(name).to_pylist() for name in ("lengths", "teachers")), strict=True)
    return [
        num - sum(length for length, is_read in zip(*part, strict=True) if is_read)
        for num, part in zip(whole, parts, strict=True)
    ]


def store_combs(combs: Iterable[Comb], sink: BinaryIO) -> None:
    """Write combs one block after the other, one comb or a pair of plain ones a row."""
    columns = (combs_to_features(together) for together in _pairs(combs))
    with pa.ipc.new_stream(sink, SCHEMA) as stream:
        while block := list(islice(columns, COMBS_PER_BLOCK)):
            stream.write_batch(pa.RecordBatch.from_pylist(block, schema=SCHEMA))


def _pairs(combs: Iterable[Comb]) -> Iterator[list[Comb]]:
    """Yield each comb with its partner where it has one: they are trained together."""
    together: list[Comb] = []
    for comb in combs:
        if together and not comb.is_partner:
            yield together
            together = []
        together.append(comb)
    if together:
        yield together
