"""The folder of a run: the names of its files, what it depends on, and what is refused there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from data_synth.config import SynthConfig
from data_synth.filters import FILTERS_VERSION
from data_synth.plan import sample_id
from gatt.config.load import config_dict
from gatt.data.catalog.switch_leakage import LEAKS_VERSION
from gatt.errors import StoreError
from gatt.runs.store import RecordStore
from gatt.verifiers import verifier_versions

SAMPLES_FILE: Final = "samples.jsonl"
CARD_FILE: Final = "README.md"
CONFIG_FILE: Final = "config.yaml"
SOURCE_FILE: Final = "source.json"


@dataclass(frozen=True)
class SynthResult:
    """What a run left behind."""

    samples: Path
    num_samples: int
    num_targets: int
    num_turns: int
    num_new: int
    """Samples made by this call; 0 if all were stored already."""

    def __str__(self) -> str:
        """Return one line, as the commands print it."""
        state = f"{self.num_new} new" if self.num_new else "all of them stood there already"
        return (
            f"{self.samples}: {self.num_samples} samples ({state}), {self.num_targets} targets for "
            f"{self.num_turns} turns; card: {self.samples.with_name(CARD_FILE)}"
        )


def fingerprinted(config: SynthConfig) -> dict[str, Any]:
    """Return what decides the samples: not the output folder, nor the limits of the machine.

    `batch_samples` counts, because samples of one batch are computed together. What
    `EngineConfig.decisive` leaves out can change the last bits of a local model's
    arithmetic, as another machine does, but never the random stream of a reply.

    Raises:
        ModelError: the teacher's adapter cannot be read.
    """
    settings = config_dict(config)
    del settings["output_dir"], settings["ray"]
    if config.switch is None:
        # Runs from before `switch` existed go on.
        del settings["switch"]
    else:
        settings["leaks"] = LEAKS_VERSION
    engine, adapter = config.teacher.engine, config.teacher.adapter
    settings["teacher"]["engine"] = config_dict(engine.decisive())
    settings["verifiers"] = verifier_versions()
    settings["filters"] = FILTERS_VERSION
    settings["adapter_weights"] = engine.adapter_digest(adapter) if adapter else ""
    return settings


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
    """Return the number of rows in a store, which must be the first of a plan of `num_samples`.

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
