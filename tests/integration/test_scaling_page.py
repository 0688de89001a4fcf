"""The tables of docs/scaling.md are those of the script, and its operations those that were measured."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmark.flops import work_of

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "scaling_costs.py"
PAGE = ROOT / "docs" / "scaling.md"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_the_page_is_what_the_script_writes(script, tmp_path: Path, monkeypatch) -> None:
    copy = tmp_path / "scaling.md"
    text = PAGE.read_text(encoding="utf-8")
    begin = text.index(script["BEGIN"]) + len(script["BEGIN"])
    copy.write_text(text[:begin] + text[text.index(script["END"]) :], encoding="utf-8")
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--write", str(copy)])
    script["main"]()
    assert copy.read_text(encoding="utf-8") == text


def test_operations_are_those_of_the_benchmark(script) -> None:
    """The benchmark counted its own rows with the real model; here both are rebuilt from sizes."""
    found, exchange_tokens = script["measured"]()
    comb = found.comb(exchange_tokens)
    file = ROOT / "results" / "training" / "turns_20.json"
    rows = {row["name"]: row for row in json.loads(file.read_text())["contenders"]}
    assert work_of([comb]).num_tokens == rows["comb"]["tokens"]
    counted = script["operations"](comb, script["shape_of"](script["MODELS"]["135M"]))
    assert counted.training == pytest.approx(rows["comb"]["tflop"], rel=2e-3)
    rows_tflop = rows["expanded, batch 1"]["tflop"]
    assert counted.training_as_rows == pytest.approx(rows_tflop, rel=2e-3)
    # Weights are 6.74 and 69 billion, of which the embedding computes nothing.
    assert script["shape_of"](script["MODELS"]["7B"]).linear == 32 * (
        4 * 4096**2 + 3 * 4096 * 11008
    )
