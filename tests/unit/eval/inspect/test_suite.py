"""Suites for Inspect, up to Inspect itself: settings, verdicts and rates."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from eval.inspect import suite as inspect_suite
from eval.inspect.suite import judged, prepared, rates_of
from gatt.errors import ConfigError
from tests.support.runs.case_files import QUESTION
from tests.support.runs.case_files import tea_case as case
from tests.support.runs.case_files import tea_suite as suite


def run_of(folder: Path, *cases: dict[str, Any], **settings: Any) -> inspect_suite.Prepared:
    return prepared({"suite": suite(folder, *cases), "arm": "once"} | settings)


def said(*texts: str) -> list[dict[str, Any]]:
    """Return the replies to turns from 1 on, and to the probe at turn 3."""
    rows = [
        {"turn": turn, "kind": "turn", "user": f"{turn}?", "text": text, "finish": "stop", "num_tokens": 3}
        for turn, text in enumerate(texts, start=1)
    ]  # fmt: skip
    if len(texts) > 2:
        asked = {"turn": 3, "kind": "probe", "user": QUESTION, "text": "Tea."}
        rows.insert(2, asked | {"finish": "stop", "num_tokens": 3})
    return rows


def test_the_same_case_rolled_out_again_is_another_roll_out(tmp_path) -> None:
    run = run_of(tmp_path, case("a"))
    (one,) = run.cases.values()
    found = rates_of([judged(run, one, said(*[text] * 4)) for text in ("Tea.", "No.")])
    assert (found["adherence"], found["survival_turn_4"]) == (0.5, 0.5)


def test_turns_that_were_never_answered_are_undecided(tmp_path) -> None:
    run = run_of(tmp_path, case("a"))
    (one,) = run.cases.values()
    samples = judged(run, one, said("Tea.", "Tea."))
    assert [s.status for s in samples][2:] == ["undecided"] * 3
    assert [(s.turn, s.kind, s.user) for s in samples][2:] == [
        (3, "turn", "Question 3 of a?"), (3, "probe", QUESTION), (4, "turn", "Question 4 of a?"),
    ]  # fmt: skip
    why = "no reply: a limit of Inspect ended the sample before"
    assert {s.verdicts[0].evidence for s in samples[2:]} == {why}
    assert rates_of([samples])["adherence"] == 1.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"suite": "behavior"}, r"^no suite 'behavior', did you mean 'behaviour'\? \(shipped: .*$"),
        ({"arm": "base"}, "^arm is 'base': expected one of once, reminder$"),
        ({"engine.model": "x"}, r"^'engine\.model' cannot be set under Inspect, .*$"),
        ({"turn": [1]}, r"unknown key 'turn', did you mean 'turns'\?$"),
        ({"turns": [2, 1]}, r"turns is \[2, 1\]: expected rising turns from 1 on"),
        (
            {"suite": "none", "source": {"name": "questions"}},
            "^source.name is 'questions': no model",
        ),
    ],
)
def test_what_cannot_be_used_is_one_line(settings, message) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        prepared({"suite": "behaviour", "arm": "once"} | settings)
    assert "\n" not in str(caught.value)


def test_without_inspect_the_import_says_what_to_install(monkeypatch) -> None:
    path = Path(inspect_suite.__file__).with_name("task.py")
    spec = spec_from_file_location("without_inspect", path)
    assert spec is not None
    assert spec.loader is not None
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(
        ImportError, match=r"needs Inspect, found none: pip install 'ghost-att.*\[inspect\]'"
    ):
        spec.loader.exec_module(module_from_spec(spec))
