"""What is measured while a model trains, and that training does not notice."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from gatt.data.training_marks import read_marks
from gatt.errors import ConfigError, GenerationError
from gatt.generation.base import Engine
from gatt.train.config import LoraSettings, TrackConfig
from gatt.train.run import train
from gatt.train.tracking import AdherenceTracker, Counts
from tests.support.models.tiny import sample
from tests.support.models.tracked import SHORT, tracked_config, write_suite

WEIGHTS = "adapter_model.safetensors"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_suite(tmp_path, [SHORT, None])


class Told:
    """An evaluator that gives the rates of a list at turn 3, one a measurement."""

    num_cases = 10

    def __init__(self, passed: Iterator[int | None]) -> None:
        self.passed = passed
        self.num_asked = 0

    def measure(
        self, engine: Engine, adapter: str, *, part: int, num_parts: int
    ) -> Mapping[int, Counts]:
        assert (part, num_parts, adapter) == (0, 1, "default")
        self.num_asked += 1
        passed = next(self.passed)
        if passed is None:
            raise GenerationError("the engine is gone")
        return {1: Counts(10, 0), 3: Counts(passed, 10 - passed)}


def told(monkeypatch: pytest.MonkeyPatch, *passed: int | None) -> Told:
    evaluator = Told(iter(passed))
    monkeypatch.setattr("gatt.train.tracking.make_train_evaluator", lambda *_: evaluator)
    return evaluator


def test_training_is_the_same_to_the_bit_with_and_without_it(tmp_path, model, suite) -> None:
    # Dropout draws from the generator that sampling would move.
    changes: Any = {"gradient_checkpointing": True, "lora": LoraSettings(lora_dropout=0.3)}
    tracked = train(tracked_config(tmp_path, model, suite, **changes))
    plain_config = tracked_config(
        tmp_path, model, suite, output_dir=tmp_path / "plain", track=None, **changes
    )
    plain = train(plain_config)
    assert tracked.best_step is not None
    assert plain.best_adapter is None
    assert not (tmp_path / "plain" / "best_adapter").exists()
    assert (tracked.adapter / WEIGHTS).read_bytes() == (plain.adapter / WEIGHTS).read_bytes()
    assert tracked.train_loss == plain.train_loss


def test_rates_go_to_the_log_and_to_tensorboard(
    tmp_path: Path, model: Path, suite: Path, monkeypatch: Any, caplog: Any
) -> None:
    told(monkeypatch, 8, 3)
    with caplog.at_level(logging.INFO, logger="gatt"):
        result = train(tracked_config(tmp_path, model, suite, report_to="tensorboard"))
    lines = [r.getMessage() for r in caplog.records if "adherence" in r.getMessage()]
    assert [line.partition("  (")[0] for line in lines] == [
        "step 2/4  adherence  turn 1: 100%  turn 3: 80%",
        "step 4/4  adherence  turn 1: 100%  turn 3: 30%",
    ]
    events = EventAccumulator(str(result.output_dir / "logs"))
    events.Reload()
    points = events.Scalars("eval/adherence/turn_3")
    assert [(p.step, round(p.value, 4)) for p in points] == [(2, 0.8), (4, 0.3)]
    # The line of training that is due at the same step is written all the same.
    assert [p.step for p in events.Scalars("train/loss")] == [1, 2, 3, 4]


def test_the_best_adapter_is_that_of_its_step(tmp_path, model, suite, monkeypatch) -> None:
    told(monkeypatch, 4, 8, 8, 3)
    track = TrackConfig(suite=str(suite), every_steps=1, turns=(1, 3))
    config = tracked_config(tmp_path, model, suite, track=track, save_steps=1, save_total_limit=9)
    result = train(config)
    # Of equals the earlier one stays.
    assert (result.best_step, result.best_adherence) == (2, 0.8)
    best = result.best_adapter
    assert best == config.output_dir / "best_adapter"
    at = config.output_dir / "checkpoint-2" / WEIGHTS
    assert (best / WEIGHTS).read_bytes() == at.read_bytes()
    assert (best / WEIGHTS).read_bytes() != (result.adapter / WEIGHTS).read_bytes()
    found = json.loads((best / "tracked.json").read_text(encoding="utf-8"))
    assert found["adherence"] == {"1": 1.0, "3": 0.8}
    card = (best / "README.md").read_text(encoding="utf-8")
    assert "step 2 adhered best at turn 3 (suite suite.yaml, 10 cases, reference history)" in card
    assert "| adherence at turn 3 | 80% |" in card
    assert sample(0, 2).dialogue in read_marks(best)
    # Found done, it is told again.
    assert train(config).best_step == 2


def test_nothing_to_decide_is_refused_before_a_model_is_loaded(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gatt.train.run.load_model", None)
    with pytest.raises(ConfigError, match=r"track\.suite"):
        train(tracked_config(tmp_path, model, write_suite(tmp_path, [None])))


def test_an_interrupted_run_keeps_its_best_and_measures_what_is_left(
    tmp_path: Path, model: Path, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    track = TrackConfig(suite=str(suite), every_steps=1, turns=(1, 3))
    settings = {"track": track, "save_steps": 1, "lora": LoraSettings(lora_dropout=0.3)}
    told(monkeypatch, 4, 8, 5, 6)
    whole = train(tracked_config(tmp_path, model, suite, output_dir=tmp_path / "whole", **settings))
    config = tracked_config(tmp_path, model, suite, **settings)
    told(monkeypatch, 4, 8, None)
    with pytest.raises(GenerationError, match="the engine is gone"):
        train(config)
    evaluator = told(monkeypatch, 5, 6)
    resumed = train(config)
    assert evaluator.num_asked == 2
    assert (resumed.best_step, resumed.best_adherence) == (2, 0.8)
    for name in ("adapter", "best_adapter"):
        found = (config.output_dir / name / WEIGHTS).read_bytes()
        assert found == (whole.output_dir / name / WEIGHTS).read_bytes()
    told(monkeypatch, 1, 1, 1, 1)
    again = tracked_config(tmp_path, model, suite, resume=False, **settings)
    assert train(again).best_adherence == 0.1


@pytest.mark.parametrize("other", [{"history": "own"}, {"num_cases": 8}, {"adherence": {"1": 1.0}}])
def test_a_best_that_was_measured_otherwise_is_not_held_against_the_later_ones(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, other: dict[str, Any]
) -> None:
    measured = {"step": 2, "suite": "s", "history": "reference", "num_cases": 10, "turn": 3}
    accelerator = SimpleNamespace(state=SimpleNamespace())
    trainer: Any = SimpleNamespace(accelerator=accelerator, log_beside=lambda *_: None)
    kept: list[Mapping[str, Any]] = []
    counts = {1: Counts(10, 0), 3: Counts(2, 8)}
    for record, is_held in (({}, True), (other, False)):
        whole = {**measured, "adherence": {"1": 1.0, "3": 0.9}, **record}
        (tmp_path / "tracked.json").write_text(json.dumps(whole), encoding="utf-8")
        tracker = AdherenceTracker(
            trainer, Told(iter(())), TrackConfig(suite="s"), tmp_path, kept.append
        )
        tracker._counts = lambda *_: counts  # type: ignore[method-assign]
        tracker.on_train_begin()
        tracker.measure(4)
        assert [record["step"] for record in kept] == [4] * (not is_held)
        assert ("under other settings" in caplog.text) != is_held


def test_the_undecided_are_in_no_rate() -> None:
    assert Counts(3, 3, 3).rate == 0.5
    assert Counts(0, 0, 5).rate is None
