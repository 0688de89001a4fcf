"""Samples as a data set repository: parquet files and the card."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from gatt.commands.export.redaction import public_value
from gatt.commands.push.layout import Layout
from gatt.commands.templates import filled
from gatt.data.sample import read_samples
from gatt.errors import DataError
from gatt.models.adapter import one_line
from gatt.runs.secrets import key_in
from gatt.runs.store import meta_path

ROWS_A_FILE: Final = 10_000
_LICENSES: Final = {"chitchat": "mit"}
"""Licences of the dialogues that come with `gatt`."""
_AS_JSON: Final = 'Read it with `datasets.load_dataset("json", data_files="samples.jsonl")`.'


def lay_out_dataset(layout: Layout) -> None:
    """Fill the folder.

    Raises:
        DataError: no samples there, broken ones, or ones with an access key.
    """
    samples = layout.config.folder / "samples.jsonl"
    if not samples.is_file():
        raise DataError(f"{samples.parent}: no {samples.name}: expected a folder of `gatt synth`")
    if (path := meta_path(samples)).is_file():
        layout.read(path)
    num_rows = write_parquet(samples, layout)
    card = layout.card()
    source = samples.with_name("source.json")
    name = layout.read(source).get("source") if source.is_file() else None
    card.data.license = card.data.license or _LICENSES.get(str(name))
    card.data.task_categories = ["text-generation"]
    card.data.configs = [{"config_name": "default", "data_files": "data/train-*.parquet"}]
    body = card.text.strip() or f"# GAtt samples\n\n{num_rows} samples of `gatt synth`."
    card.text = filled(
        "push/dataset.md.j2",
        body=body.replace(_AS_JSON, "").replace("One JSON line a sample:", "One row a sample:"),
        place=layout.config.repo_id or "FOLDER",
        license=card.data.license,
    )
    layout.write_card(card)


def write_parquet(samples: Path, layout: Layout) -> int:
    """Write samples as parquet files of the same column types, and return their number.

    Rows and their order are those of the JSONL file; only their provenance loses
    local paths.

    Raises:
        DataError: broken samples, one with an access key, or values of a key that differ in type.
    """
    import pyarrow as pa
    from datasets import Dataset

    def groups() -> Iterator[list[dict[str, Any]]]:
        rows = _rows(samples, layout)
        while group := list(islice(rows, ROWS_A_FILE)):
            yield group

    folder, num_rows = layout.target / "data", 0
    folder.mkdir()
    try:
        # A key may be absent, null or empty in all rows of one file and not of another.
        schemas = [pa.schema(list(pa.array(rows).type)) for rows in groups()]
        columns = pa.struct(list(pa.unify_schemas(schemas, promote_options="permissive")))
        for number, rows in enumerate(groups()):
            table = pa.Table.from_struct_array(pa.array(rows, type=columns))
            Dataset(table).to_parquet(folder / f"train-{number:05d}.parquet")
            num_rows += len(rows)
    except (pa.ArrowException, UnicodeEncodeError, OverflowError) as error:
        raise DataError(
            f"{samples}: its values have no common column types ({one_line(error)}): expected samples of "
            "`gatt synth`"
        ) from None
    return num_rows


def _rows(samples: Path, layout: Layout) -> Iterator[dict[str, Any]]:
    for sample in read_samples(samples):
        row = sample.as_dict()
        if (place := key_in(row)) is not None:
            raise DataError(
                f"{samples}: sample {sample.id!r}, {place}: looks like an access key or password: take the "
                "sample out, and change the key if it is one"
            )
        # Parquet knows no object without keys.
        yield row | {"provenance": public_value(row["provenance"], *layout.private) or None}
