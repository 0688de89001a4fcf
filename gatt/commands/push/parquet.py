"""Samples as parquet files with declared types; what is read back equals what went in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gatt.commands.export.redaction import Private, public_value
from gatt.commands.push.features import sample_features
from gatt.data.sample import read_samples
from gatt.errors import DataError
from gatt.runs.secrets import key_in

if TYPE_CHECKING:
    from datasets import Features

ROWS_A_FILE: Final = 50_000
_ROWS_A_GROUP: Final = 1_000
"""Rows in memory together."""


def write_parquet(samples: Path, folder: Path, private: tuple[Private, ...] = ()) -> int:
    """Write samples as `train-00000-of-0000N.parquet` and read them back to compare.

    Rows are those of the JSONL file, in order; only where files lie on this
    machine is cut down in their provenance.

    Args:
        samples: the file of `gatt synth`.
        folder: where the parquet files go.
        private: folders and servers that are cut out of the provenance too.

    Returns:
        The number of rows.

    Raises:
        DataError: broken samples, or one with a key or a type that the features do not declare.
    """
    num_rows, has_switches, is_spliced = 0, False, False
    for sample in read_samples(samples):
        num_rows += 1
        has_switches = has_switches or sample.switches is not None
        is_spliced = is_spliced or "spliced" in sample.provenance
    features = sample_features(has_switches=has_switches, is_spliced=is_spliced)
    num_files = -(-num_rows // ROWS_A_FILE)
    folder.mkdir(parents=True, exist_ok=True)
    rows, paths = _rows(samples, private), []
    for number in range(num_files):
        path = folder / f"train-{number:05d}-of-{num_files:05d}.parquet"
        _write(path, islice(rows, ROWS_A_FILE), features, samples)
        paths.append(path)
    _compare(_rows(samples, private), _read(paths), samples)
    return num_rows


def _rows(samples: Path, private: tuple[Private, ...]) -> Iterator[dict[str, Any]]:
    for sample in read_samples(samples):
        row = sample.as_dict()
        if (place := key_in(row)) is not None:
            raise DataError(
                f"{samples}: sample {sample.id!r}, {place}: looks like an access key or password: take the "
                "sample out, and change the key if it is one"
            )
        yield row | {"provenance": public_value(row["provenance"], *private)}


def _write(path: Path, rows: Iterator[dict[str, Any]], features: Features, samples: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    # It carries the features, so that `datasets` finds them again.
    schema = features.arrow_schema
    with parquet.ParquetWriter(path, schema) as writer:
        while group := list(islice(rows, _ROWS_A_GROUP)):
            try:
                writer.write_table(pa.Table.from_pylist(group, schema=schema))
            except (
                pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError, OverflowError,
            ) as error:  # fmt: skip
                said = " ".join(str(error).split())
                raise DataError(
                    f"{samples}: a sample from {group[0]['id']!r} on does not fit the declared types "
                    f"({said}): expected samples of this version of `gatt synth`"
                ) from None


def _read(paths: list[Path]) -> Iterator[dict[str, Any]]:
    from pyarrow import parquet

    for path in paths:
        for batch in parquet.ParquetFile(path).iter_batches(_ROWS_A_GROUP):
            yield from batch.to_pylist()


def _compare(
    rows: Iterator[dict[str, Any]], found: Iterator[dict[str, Any]], samples: Path
) -> None:
    for row, back in zip(rows, found, strict=True):
        if (place := _difference(row, back)) is not None:
            raise DataError(
                f"{samples}: sample {row['id']!r}, {place}: the declared types have no place for it: "
                "expected samples of this version of `gatt synth`"
            )


def _difference(one: Any, other: Any, place: str = "") -> str | None:
    """Return where two values differ; a key that one does not have is None in the other."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in {**one, **other}:
            inner = f"{place}.{key}".lstrip(".")
            if (found := _difference(one.get(key), other.get(key), inner)) is not None:
                return found
        return None
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        found_in = (_difference(a, b, f"{place}[{n}]") for n, (a, b) in pairs)
        return next((found for found in found_in if found is not None), None)
    return None if one == other else place
