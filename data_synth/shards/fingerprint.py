"""What the samples of a run depend on, as every file of the run carries it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data_synth.config import SynthConfig
from data_synth.filters import FILTERS_VERSION
from data_synth.plan.plan import Plan
from data_synth.shards.shard import WHOLE, Shard, found_shards
from gatt.config.load import config_dict, fingerprint
from gatt.data.catalog.switch_leakage import LEAKS_VERSION
from gatt.errors import StoreError
from gatt.runs.store import RecordStore, differences, meta_path, read_meta
from gatt.verifiers import verifier_versions

KIND = "sample"


@dataclass(frozen=True)
class RunMark:
    """Settings, weights, verifiers and plan: equal marks give equal samples."""

    settings: Mapping[str, Any]
    """As JSON takes it, the plan's digest and number of turns under `plan`."""

    @property
    def fingerprint(self) -> str:
        """16 hex digits that equal marks share."""
        return fingerprint(self.settings)

    @property
    def num_samples(self) -> int:
        """Samples of the whole run."""
        return int(self.settings["num_samples"])

    @property
    def batch_samples(self) -> int:
        """Samples of a batch."""
        return int(self.settings["batch_samples"])

    @property
    def num_turns(self) -> int:
        """Turns of all samples."""
        return int(self.settings["plan"]["num_turns"])

    def describe(self, shard: Shard) -> dict[str, Any]:
        """Return what the store of a shard says of itself."""
        return {**self.settings, "shard": str(shard)}

    def store(self, folder: Path, shard: Shard) -> RecordStore:
        """Return the store of a shard's samples, not yet open."""
        return RecordStore(
            shard.path(folder),
            fingerprint=self.fingerprint,
            kind=KIND,
            describe=self.describe(shard),
        )


def run_mark(config: SynthConfig, plan: Plan, teacher_weights: str) -> RunMark:
    """Return the mark of a configuration whose plan is made.

    Args:
        config: the whole of it.
        plan: its samples.
        teacher_weights: digest of the teacher's weights; empty where there are none to digest.

    Raises:
        ModelError: the teacher's adapter cannot be read.
    """
    made = {"digest": plan.digest, "num_turns": plan.num_turns(range(len(plan)))}
    return RunMark(fingerprinted(config) | {"teacher_weights": teacher_weights, "plan": made})


def read_mark(folder: Path, shard: Shard) -> RunMark:
    """Return the mark that the file of a shard carries.

    Raises:
        StoreError: none, a broken one, or one of another shard.
    """
    path = shard.path(folder)
    if path.exists() and not meta_path(path).exists():
        raise StoreError(
            f"{meta_path(path)}: missing, expected what `gatt synth` wrote there: copy it from where the "
            "samples were made; those of `gatt synth splice` and of elsewhere are of no run and need none"
        )
    meta = read_meta(path)
    describe = meta.get("describe")
    try:
        settings = dict(describe)  # type: ignore[arg-type] # whatever stood in the file
        named = settings.pop("shard")
        mark = RunMark(settings)
        is_ours = meta["kind"] == KIND and mark.fingerprint == meta["fingerprint"]
        is_ours = is_ours and min(mark.num_samples, mark.batch_samples, mark.num_turns) > 0
    except (KeyError, TypeError, ValueError):
        is_ours = False
    if not is_ours:
        raise StoreError(
            f"{meta_path(path)}: broken or of another version, expected what `gatt synth` wrote there: "
            "delete it with its rows and make them again"
        )
    if named != str(shard):
        raise StoreError(
            f"{path}: is shard {named} by {meta_path(path).name}, expected {shard} by its name: "
            "give the files back their names"
        )
    return mark


def refuse_other_run(folder: Path, shard: Shard, mark: RunMark) -> None:
    """Refuse to work in a folder that holds files of another run; a shard's own file is its store's.

    Raises:
        StoreError: names such a file and what differs; or a file that says of no run.
    """
    others = [s for s in (WHOLE, *found_shards(folder)) if s != shard]
    for other in (s for s in others if s.path(folder).exists()):
        found = read_mark(folder, other)
        if found.fingerprint != mark.fingerprint:
            raise StoreError(
                f"{other.path(folder)}: belongs to another run than the one that is asked for"
                f"{differences(found.settings, mark.settings)}: expected one run in a folder: take its "
                "settings or another output_dir"
            )


def refuse_other_config(path: Path, config: SynthConfig, mark: RunMark) -> None:
    """Refuse a configuration that is not the one of a run's files.

    Weights are not looked at, nor settings that only one of two versions knows.

    Raises:
        StoreError: names what differs.
    """
    ours = json.loads(json.dumps(_decisive(config)))
    theirs = _common(mark.settings, ours)
    ours = _common(ours, mark.settings)
    if ours != theirs:
        raise StoreError(
            f"{path}: is of another run than the samples{differences(theirs, ours)}: copy it from a "
            "machine that made a shard"
        )


def fingerprinted(config: SynthConfig) -> dict[str, Any]:
    """Return what decides the samples: not where they go, nor the machine's own limits.

    `batch_samples` decides as well: it says which samples are computed together
    and to which shard they belong. What `EngineConfig.decisive` leaves out can
    change the last bits of a local model's arithmetic, as another machine does,
    and never which stream a reply is drawn from.

    Raises:
        ModelError: the teacher's adapter cannot be read.
    """
    engine, adapter = config.teacher.engine, config.teacher.adapter
    weights = engine.adapter_digest(adapter) if adapter else ""
    rules: dict[str, Any] = {"verifiers": verifier_versions(), "filters": FILTERS_VERSION}
    if config.switch is not None:
        rules["leaks"] = LEAKS_VERSION
    return _decisive(config) | rules | {"adapter_weights": weights}


def _decisive(config: SynthConfig) -> dict[str, Any]:
    """Return what of the configuration itself decides the samples."""
    settings = config_dict(config)
    del settings["output_dir"], settings["ray"]
    if config.switch is None:
        # Runs of before there were changes go on.
        del settings["switch"]
    settings["teacher"]["engine"] = config_dict(config.teacher.engine.decisive())
    return settings


def _common(value: Any, other: object) -> Any:
    """Return a value without the keys, at any depth, that the other has not."""
    if not isinstance(value, Mapping) or not isinstance(other, Mapping):
        return value
    return {key: _common(item, other[key]) for key, item in value.items() if key in other}
