"""The evaluator of a training run is found by its name; its settings and counts."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from gatt.config.load import load_config
from gatt.data.training_marks import TrainedOn
from gatt.errors import ConfigError
from gatt.train.config import TrackConfig, TrainConfig
from gatt.train.tracking.evaluators import GROUP, Counts, make_train_evaluator

NOTHING = TrainedOn(frozenset(), frozenset())


def config(evaluator: str) -> TrainConfig:
    return TrainConfig(
        samples=(Path("s.jsonl"),), output_dir=Path("out"), track=TrackConfig(evaluator=evaluator)
    )


def known(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    entries = [EntryPoint(name, value, GROUP) for name, value in values.items()]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: entries)


def test_an_unknown_evaluator_names_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, adherence="eval.rollout.during_training:make_evaluator")
    with pytest.raises(
        ConfigError,
        match=r"^track\.evaluator: no evaluator 'adherenec', did you mean 'adherence'\? "
        r"\(known: adherence\)$",
    ):
        make_train_evaluator(config("adherenec"), NOTHING)


@pytest.mark.parametrize("value", ["eval.not_there:make", "eval.rollout.during_training:not_there"])
def test_an_evaluator_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    known(monkeypatch, mine=value)
    with pytest.raises(
        ConfigError, match=r"^track\.evaluator: 'mine' cannot be loaded: .*not_there"
    ):
        make_train_evaluator(config("mine"), NOTHING)


def test_it_is_made_of_the_run_and_its_dialogues(monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, mine=f"{__name__}:told_of")
    monkeypatch.setattr(EntryPoint, "load", lambda self: lambda *given: given)
    found: Any = make_train_evaluator(config("mine"), NOTHING)
    assert found == (config("mine"), NOTHING)


def test_the_undecided_are_in_no_rate() -> None:
    assert Counts(3, 3, 3).rate == 0.5
    assert Counts(0, 0, 5).rate is None


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("track.every_steps=0", r"track: every_steps is 0: expected at least 1"),
        ("track.num_dialogues=0", r"track: num_dialogues is 0: expected at least 1"),
        ("track.turns=[]", r"track: turns is \[\]: expected rising turns from 1 on, or null"),
        ("track.turns=[2, 1]", r"track: turns is \[2, 1\]: expected rising turns"),
        ("track.turns=[0]", r"track: turns is \[0\]: expected rising turns"),
    ],
)
def test_settings_out_of_range(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config(TrainConfig, None, ["samples=[s]", "output_dir=o", override])
