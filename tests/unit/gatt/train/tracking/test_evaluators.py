"""The evaluator of a training run is found by its name; its settings and counts."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("mien", "eval.run:run", "no evaluator 'mien', did you mean 'mine'.*known: mine"),
        ("mine", "eval.not_there:make", "'mine' cannot be loaded: .*not_there"),
        ("mine", "eval.run:not_there", "'mine' cannot be loaded: .*not_there"),
    ],
)
def test_an_evaluator_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    known(monkeypatch, mine=value)
    with pytest.raises(ConfigError, match=rf"track\.evaluator: {message}"):
        make_train_evaluator(config(name), NOTHING)


def test_it_is_made_of_the_run_and_its_dialogues(monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, mine=f"{__name__}:told_of")
    monkeypatch.setattr(EntryPoint, "load", lambda self: lambda *given: given)
    found: Any = make_train_evaluator(config("mine"), NOTHING)
    assert found == (config("mine"), NOTHING)


def test_the_undecided_are_in_no_rate() -> None:
    assert Counts(3, 3, 3).rate == 0.5
    assert Counts(0, 0, 5).rate is None
