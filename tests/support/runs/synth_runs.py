"""What tests of `gatt synth` share: a small run that starts in milliseconds, and its engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from data_synth.config import SynthConfig, TeacherConfig
from data_synth.pipeline import run_synth
from data_synth.run_folder import SynthResult
from gatt.data.catalog.choice import InstructionConfig
from gatt.generation.base import Generation, GenerationRequest
from gatt.generation.config import EngineConfig
from gatt.sources.config import SourceConfig
from tests.support.runs.stages import RecordingEngine, write_dialogues, write_model
from tests.support.texts.small_catalog import write_catalog

GOOD = (
    "On Sunday I play tennis and like gardening.",
    "The racket of my old tennis coach stood behind some gardening tools.",
    "Rain stopped our tennis, so gardening had to wait as well.",
    "My neighbour prefers gardening, while I take every chance of tennis.",
)


def synth_config(folder: Path, **changes: Any) -> SynthConfig:
    """Return a run of 10 samples of 3 turns in batches of 3; what it reads is written to `folder`."""
    catalog = write_catalog(folder / "catalog", "tennis", "gardening")
    config = SynthConfig(
        output_dir=folder / "out",
        num_samples=10,
        plain_fraction=0.2,
        part=None,
        source=SourceConfig(
            name="jsonl", path=str(write_dialogues(folder / "d.jsonl")), min_turns=3, max_turns=3
        ),
        instructions=InstructionConfig(catalog=(str(catalog),), num_entries=(1.0,)),
        teacher=TeacherConfig(
            mode="sample",
            compose=False,
            engine=EngineConfig(model=str(write_model(folder / "model"))),
        ),
        batch_samples=3,
    )
    return replace(config, **changes)


def varied_reply(request: GenerationRequest) -> str | Generation:
    """Accepted, rejected, blank or cut: fixed by the key, so equal whenever it is asked."""
    kind = sum(request.key.encode()) % 5
    turn = int(request.key.split("/")[1])
    if kind == 0:
        return Generation("We went home to", "length", 9)
    said = GOOD[turn % len(GOOD)]
    return ["", f"We stayed inside on day {turn}.", said, said][kind - 1]


def make(config: SynthConfig, **settings: int) -> tuple[SynthResult, RecordingEngine]:
    """Run a configuration with `varied_reply`; return its result and the engine with its calls."""
    engine = RecordingEngine(varied_reply, **settings)
    return run_synth(config, lambda: engine), engine
