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
from tests.support.runs.case_files import tea_case as case
from tests.support.runs.case_files import tea_suite as suite


def run_of(folder: Path, *cases: dict[str, Any], **settings: Any) -> inspect_suite.PreparedSuite:
    return prepared({"suite": suite(folder, *cases), "arm": "once"} | settings)


def test_the_same_case_rolled_out_again_is_another_roll_out(tmp_path) -> None:
    run = run_of(tmp_path, case("a"))
    (one,) = run.cases.values()
    rest = {"kind": "turn", "finish": "stop", "num_tokens": 3}
    said = [[{"turn": t, "text": text, **rest} for t in range(1, 5)] for text in ("Tea.", "No.")]
    found = rates_of([judged(run, one, replies) for replies in said])
    assert (found["keeps"], found["survival_turn_4"]) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"arm": "base"}, "^arm is 'base': expected one of once, reminder$"),
        ({"engine.model": "x"}, r"^'engine\.model' cannot be set under Inspect, .*$"),
        ({"turn": [1]}, r"unknown key 'turn', did you mean 'turns'\?$"),
        ({"suite": "none", "source": {"name": "questions"}}, "^source.name is 'questions': no model"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_one_line(settings, message) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        prepared({"suite": "behaviour", "arm": "once"} | settings)
    assert "\n" not in str(caught.value)


def test_without_inspect_the_import_says_what_to_install(monkeypatch) -> None:
    path = Path(inspect_suite.__file__).with_name("task.py")
    spec = spec_from_file_location("without_inspect", path)
    assert spec.loader is not None
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(
        ImportError, match=r"needs Inspect, found none: pip install 'ghost-att.*\[inspect\]'"
    ):
        spec.loader.exec_module(module_from_spec(spec))
