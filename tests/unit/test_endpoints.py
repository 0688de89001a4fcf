"""`gatt synth` and `gatt eval` over two endpoints, one of which breaks: as over one that never does."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from data_synth import pipeline
from data_synth.config import SynthConfig
from data_synth.pipeline import run_synth
from eval.records.samples import ROLLOUTS_FILE
from eval.run import evaluate
from gatt.generation.config import EngineConfig
from tests.support.runs.case_files import dialogue_config
from tests.support.runs.synth_runs import synth_config
from tests.support.servers.faulty_server import (
    MODEL,
    FaultyServer,
    Script,
    settings,
    shorten_pauses,
)


def breaks_later(num_right: int) -> Script:
    """Return a script that answers rightly at first and is broken from then on."""
    asked_before = itertools.count()
    return lambda asked: "ok" if next(asked_before) < num_right else "503"


def engine(*servers: FaultyServer) -> EngineConfig:
    server = settings(*(s.url for s in servers), max_retries=3)
    return EngineConfig(model=MODEL, server=server)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_pauses(monkeypatch)
    monkeypatch.setattr(pipeline, "provenance", lambda: {"commit": None})


def both_ways(make: Callable[..., bytes], num_right: int) -> None:
    """Check that what is made over two endpoints, one of which breaks, is what one makes."""
    with FaultyServer() as one:
        expected = make("one", one)
    with FaultyServer(breaks_later(num_right)) as broken, FaultyServer() as other:
        assert make("two", broken, other) == expected
    assert broken.faults["ok"] == num_right
    assert broken.faults["503"] > 0
    assert other.faults["ok"] == one.faults["ok"] - num_right


def test_synthesis_goes_on_with_the_endpoint_that_is_left(tmp_path: Path) -> None:
    config = synth_config(tmp_path, plain_fraction=1.0)

    def samples(name: str, *servers: FaultyServer) -> bytes:
        teacher = replace(config.teacher, engine=engine(*servers))
        made: SynthConfig = replace(config, teacher=teacher, output_dir=tmp_path / name)
        return run_synth(made).samples.read_bytes()

    both_ways(samples, 4)


def test_an_evaluation_goes_on_with_the_endpoint_that_is_left(tmp_path: Path) -> None:
    def rows(name: str, *servers: FaultyServer) -> bytes:
        config = dialogue_config(tmp_path, output_dir=tmp_path / name, engine=engine(*servers))
        evaluate(config)
        return (config.output_dir / ROLLOUTS_FILE).read_bytes()

    both_ways(rows, 5)
