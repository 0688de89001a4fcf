"""The simulation of a Ray run: its clock, its deaths, and the table that it wrote into a page."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any

import pytest
from simulate_cluster import PIECES_A_WORKER, Planner, Setting, lines, simulated

from tests.support.texts.doc_pages import ROOT

WORKERS = 16
QUICK = Planner(1e-9, 0.0, 0.0, 0.0)
PIECE = Setting("pieces of 8 s", [8.0], 1, 1)


def run(planner: Planner, death_hours: float = 1e9) -> dict[str, Any]:
    args = Namespace(seed=0, death_hours=death_hours, load_seconds=8.0)
    return simulated(PIECE, planner, WORKERS, args)


def test_workers_are_busy_where_planning_is_quick() -> None:
    found = run(QUICK)
    assert found["workers_busy"] == pytest.approx(1)
    assert found["planner_busy"] < 1e-6
    # A piece of 20 targets every 8 seconds and worker.
    assert found["targets_a_second"] == pytest.approx(WORKERS * 20 / 8)


def test_planning_is_the_limit_where_it_takes_longer_than_a_worker_s_share() -> None:
    # One second of planning a piece: eight workers are kept busy, half of them.
    found = run(Planner(0.25, 0.25, 0.25, 0.25))
    assert found["most_workers"] == 8
    assert found["planner_busy"] == pytest.approx(1, abs=0.05)
    assert found["workers_busy"] == pytest.approx(0.5, abs=0.05)
    assert found["targets_a_second"] == pytest.approx(20, rel=0.05)


def test_the_piece_of_a_dead_worker_is_made_again() -> None:
    found = run(QUICK, death_hours=100 / 3600)
    # About one of twelve and a half: nothing is lost, but time is.
    assert 5 < found["deaths"] < PIECES_A_WORKER * WORKERS / 5
    assert 0.6 < found["workers_busy"] < 0.95


def test_the_page_has_the_table_of_the_stored_runs() -> None:
    stored = json.loads((ROOT / "results" / "pipeline" / "cluster.json").read_text())
    told = lines(stored["runs"], Namespace(workers=stored["settings"]["workers"]))
    assert told in (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
