"""The folder of a run: the names of its files, and what is refused there."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from data_synth.plan.plan import sample_id
from gatt.errors import StoreError
from gatt.runs.store import RecordStore

SAMPLES_FILE: Final = "samples.jsonl"
CARD_FILE: Final = "README.md"
CONFIG_FILE: Final = "config.yaml"
SOURCE_FILE: Final = "source.json"


def refuse_foreign(folder: Path) -> None:
    """Refuse a new run in a folder whose files it would overwrite or leave unused.

    Raises:
        StoreError: no samples there, but a file that a run writes beside them.
    """
    if (folder / SAMPLES_FILE).exists():
        return
    for name in (CARD_FILE, CONFIG_FILE, SOURCE_FILE):
        if (folder / name).exists():
            raise StoreError(
                f"{folder / name}: exists without samples beside it, expected an empty folder, since "
                "a run writes files of this name: choose another output_dir"
            )


def num_stored(store: RecordStore, num_samples: int) -> int:
    """Return the number of rows in a store, which must be the first samples of the plan.

    Args:
        store: of the samples, open.
        num_samples: of the whole plan.

    Raises:
        StoreError: a row that is not the planned one.
    """
    number = 0
    for number, row in enumerate(store, start=1):
        expected = sample_id(number - 1) if number <= num_samples else None
        if row.get("id") != expected:
            raise StoreError(
                f"{store.path}: row {number} is sample {row.get('id')!r}, expected "
                f"{repr(expected) if expected else 'no further one'}: cut the file off before that "
                "row and start again, missing samples are made anew"
            )
    return number
