"""The work of an evaluation, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from eval.run import evaluate
from gatt.generation.scripted import ScriptedEngine
from gatt.runs.progress import Bar
from tests.support.runs.case_files import case_config, write_case_file


def test_what_a_step_answered_counts_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One by one, the first of a step would have taken all of its time, and the time left be absurd.
    shown: list[int] = []

    @contextmanager
    def recorded(label: str, total: int, *, unit: str, done: int) -> Iterator[Bar]:
        yield SimpleNamespace(advance=shown.append)
        assert (label, unit, done + sum(shown)) == ("eval", "turns", total)

    monkeypatch.setattr("eval.run.progress_bar", recorded)
    rule = {"kind": "terms", "any_of": ["tea"]}
    told = {"text": "Mention tea.", "family": "behaviour", "verifiers": [rule]}
    cases = [{"id": f"c{n}", "user_turns": ["Hi!", "And?"], "instruction": told} for n in range(5)]
    config = case_config(tmp_path, write_case_file(tmp_path, cases), batch_cases=2)
    evaluate(config, lambda: ScriptedEngine(lambda _: "Some tea?"))
    assert shown == [2, 2, 2, 2, 1, 1]
