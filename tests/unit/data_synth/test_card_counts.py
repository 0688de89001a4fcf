"""What the card counts of refused draws."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from data_synth.card import write_card
from data_synth.config import SynthConfig
from gatt.data.sample import GattSample, TurnTarget
from gatt.sources import SourceReport
from tests.support.runs.stages import dialogue


def sample(name: str, *targets: TurnTarget) -> GattSample:
    return GattSample(name, dialogue(0, len(targets)), None, targets)


SAMPLES = (
    sample(
        "s0",
        TurnTarget(1, "It rains.", kind="sampled", attempts=1),
        TurnTarget(2, "It snows.", kind="hinted", attempts=3, refused=("cut", "rejected")),
        TurnTarget(3, None, "repeats_target", attempts=2, refused=("cut", "repeats_target")),
    ),
    sample("s1", TurnTarget(1, "it RAINS!", kind="sampled", attempts=1)),
)


def card(folder: Path, rows: Sequence[dict[str, object]]) -> str:
    path = folder / "samples.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    write_card(SynthConfig(output_dir=folder), path, SourceReport("test", 2, 2))
    return (folder / "README.md").read_text(encoding="utf-8")


def test_refused_draws_are_counted_over_all_attempts_and_zeros_are_shown(tmp_path) -> None:
    text = card(tmp_path, [s.as_dict() for s in SAMPLES])
    assert "| cut | the length limit cut the reply | 2 | 0 |" in text
    assert "| rejected | a verifier rejected it | 1 | 0 |" in text
    assert "| repeats_target | nearly the same as another target of its sample | 1 | 1 |" in text
    assert "| degenerate | loops, repeats or holds no words | 0 | 0 |" in text


def test_a_reason_that_is_no_longer_known_is_counted_too(tmp_path) -> None:
    old = sample("s0", TurnTarget(1, None, "bored"), TurnTarget(2, "It rains."))
    assert "| bored |  | 0 | 1 |" in card(tmp_path, [old.as_dict()])
