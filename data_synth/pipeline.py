"""`gatt synth`: dialogues and instructions in, a resumable file of samples out."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from data_synth.card import SYSTEM_REMOVED, write_card
from data_synth.config import SynthConfig
from data_synth.plan import PlannedSample, plan_samples
from data_synth.sampling import sample_batch
from gatt.config import config_dict, fingerprint, save_config
from gatt.dialogue import Dialogue
from gatt.errors import DataError
from gatt.generation.base import Engine
from gatt.generation.config import make_engine
from gatt.progress import progress_bar
from gatt.provenance import provenance, versions
from gatt.records import RecordStore, atomic_write_json
from gatt.sample import read_samples
from gatt.sources import SourceReport
from gatt.verifiers import verifier_versions
from gatt.weights import adapter_digest, model_digest

log = logging.getLogger(__name__)

SAMPLES_FILE = "samples.jsonl"


@dataclass(frozen=True)
class SynthResult:
    """What a run left behind."""

    samples: Path
    num_samples: int
    num_targets: int
    num_turns: int
    num_new: int
    """Samples made by this call; 0 if all stood there already."""


def run_synth(config: SynthConfig, engine: Callable[[], Engine] | None = None) -> SynthResult:
    """Make the samples of a configuration, going on where an earlier call stopped.

    Args:
        config: the whole of it.
        engine: makes the teacher when it is needed; default: the configured one.
            Another one is not looked into: that its model stays the same is up to
            the caller.

    Raises:
        ConfigError: a source that cannot be had.
        CatalogError: no instruction can be drawn.
        DataError: no dialogue, or no target in any sample.
        ModelError: the teacher or its adapter cannot be had.
        StoreError: the folder belongs to another configuration or is in use.
    """
    weights = "" if engine else model_digest(config.teacher.engine.model)
    catalog = config.instructions.load()
    engine = engine or _once(lambda: _teacher(config))
    dialogues, report = load_source(config, engine, weights)
    if num_removed := report.changed[SYSTEM_REMOVED]:
        log.warning(
            "source %s: %d dialogues had a system message of their own, which was removed: the "
            "instruction takes its place; put what must hold into a catalogue entry",
            report.source,
            num_removed,
        )
    plan = plan_samples(
        dialogues,
        catalog,
        config.instructions,
        num_samples=config.num_samples,
        plain_fraction=config.plain_fraction,
        seed=config.seed,
    )
    path = config.output_dir / SAMPLES_FILE
    settings = fingerprinted(config) | {"teacher_weights": weights}
    mark = fingerprint({"settings": settings, "plan": _digest(plan)})
    num_new = 0
    with RecordStore(path, fingerprint=mark, kind="sample", describe=settings) as store:
        save_config(config, config.output_dir / "config.yaml")
        atomic_write_json(config.output_dir / "source.json", report.as_dict())
        done = store.keys("id")
        missing = [p for p in plan if p.id not in done]
        if done and missing:
            log.info("%s: going on after %d of %d samples", path, len(done), len(plan))
        stamp = _provenance(config) if missing else {}
        turns = {p.id: p.dialogue.num_turns for p in plan}
        num_done = sum(turns[name] for name in done)
        with progress_bar("synth", sum(turns.values()), unit="turns", done=num_done) as bar:
            for start in range(0, len(missing), config.batch_samples):
                batch = missing[start : start + config.batch_samples]
                samples = sample_batch(
                    engine(),
                    batch,
                    config.teacher,
                    seed=config.seed,
                    provenance=stamp,
                    on_targets=bar.advance,
                )
                for sample in samples:
                    store.append(sample.as_dict())
                    num_new += 1
                num_composed = sum(t.kind == "composed" for s in samples for t in s.targets)
                num_drawn = sum(s.num_targets for s in samples) - num_composed
                bar.advance(sum(turns[p.id] for p in batch) - num_drawn)
    return _close(config, path, report, num_new)


def load_source(
    config: SynthConfig, engine: Callable[[], Engine], teacher_weights: str = ""
) -> tuple[list[Dialogue], SourceReport]:
    """Return the dialogues of the configured source; `questions` are answered and kept first.

    Answers that are kept belong to a teacher: to its name and the digest of its weights.
    """
    if config.source.name != "questions":
        return config.source.load(config.part)
    from gatt.sources.answered import answered_questions

    source = replace(config.source, num=config.source.num or config.num_samples)
    return answered_questions(
        source.request(),
        config.part,
        engine,
        config.teacher.sampling.params(config.seed),
        config.output_dir / "dialogues.jsonl",
        f"{config.teacher.engine.model} {teacher_weights}",
    )


def fingerprinted(config: SynthConfig) -> dict[str, Any]:
    """Return what decides the samples: not where they go, nor the size of batches."""
    settings = config_dict(config)
    for key in ("output_dir", "batch_samples"):
        del settings[key]
    for key in ("device", "max_rows", "max_cache_tokens"):
        del settings["teacher"]["engine"][key]
    adapter = config.teacher.adapter
    weights = adapter_digest(Path(adapter)) if adapter else ""
    return settings | {"verifiers": verifier_versions(), "adapter_weights": weights}


def _close(config: SynthConfig, path: Path, report: SourceReport, num_new: int) -> SynthResult:
    # Before anything is refused: the card says why draws were rejected.
    write_card(config, path, report)
    num_samples = num_targets = num_turns = 0
    for sample in read_samples(path):
        num_samples += 1
        num_targets += sample.num_targets
        num_turns += len(sample.targets)
    if not num_targets:
        raise DataError(
            f"{path}: none of {num_turns} turns has a target, every draw was rejected: see the reasons "
            f"in {path.with_name('README.md')}, or allow more attempts or other families"
        )
    return SynthResult(path, num_samples, num_targets, num_turns, num_new)


def _teacher(config: SynthConfig) -> Engine:
    adapter = config.teacher.adapter
    return make_engine(config.teacher.engine, {"teacher": Path(adapter)} if adapter else None)


def _once(make: Callable[[], Engine]) -> Callable[[], Engine]:
    made: list[Engine] = []

    def get() -> Engine:
        if not made:
            made.append(make())
        return made[0]

    return get


def _provenance(config: SynthConfig) -> dict[str, Any]:
    return {
        "teacher": config.teacher.engine.model,
        "adapter": config.teacher.adapter or "",
        "sampling": config_dict(config.teacher.sampling),
        "seed": config.seed,
        "versions": {name: version or "" for name, version in versions().items()},
        "commit": (provenance()["commit"] or {}).get("id", ""),
    }


def _digest(plan: Sequence[PlannedSample]) -> str:
    sha = hashlib.sha256()
    for planned in plan:
        instruction = planned.instruction.as_dict() if planned.instruction else None
        row = [planned.id, planned.dialogue.as_dict(), instruction]
        sha.update(json.dumps(row, sort_keys=True, ensure_ascii=False).encode())
    return sha.hexdigest()
