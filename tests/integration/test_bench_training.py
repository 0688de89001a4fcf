"""The benchmark's command: its table and the figures that others read from its JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.models.tiny import save_tiny_model

pytestmark = pytest.mark.integration

SCRIPT = Path(__file__).parents[2] / "scripts" / "bench_training.py"
KEYS = {
    "targets_per_second_vs_trl",
    "targets_per_second_vs_expanded",
    "seconds_per_token_vs_trl",
    "seconds_per_token_vs_floor",
    "peak_memory_vs_trl",
    "flop_bound",
    "fraction_of_flop_bound",
    "tokens_expanded",
    "tokens_comb",
}


def test_a_small_run_prints_a_table_and_writes_the_figures(tmp_path: Path) -> None:
    save_tiny_model(tmp_path / "tokenizer")
    words = [
        sys.executable, str(SCRIPT), "--model", "random-llama:tiny", "--device", "cpu",
        "--tokenizer", str(tmp_path / "tokenizer"), "--turns", "3", "--rounds", "1",
        "--exchange-tokens", "60", "--reply-tokens", "20", "--batch-sizes", "1",
        "--json", str(tmp_path / "out" / "bench.json"),
    ]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "TRL, batch 1" in done.stdout
    report = json.loads((tmp_path / "out" / "bench.json").read_text())
    assert report.keys() >= KEYS
    assert all(report[key] > 0 for key in KEYS)
    assert report["tokens_comb"] < report["tokens_expanded"]
    supervised = {c["name"]: c["num_supervised"] for c in report["contenders"]}
    assert supervised["comb"] == supervised["floor"] == supervised["expanded, batch 1"]
    assert report["too_large"] == []


def test_a_size_that_is_none_is_one_line() -> None:
    words = [sys.executable, str(SCRIPT), "--model", "random-llama:9b", "--device", "cpu"]
    done = subprocess.run([*words, "--only", "comb"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (line,) = [text for text in done.stderr.splitlines() if "error" in text]
    assert "random-llama:9b: expected one of tiny" in line
