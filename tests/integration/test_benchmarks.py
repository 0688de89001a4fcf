"""The benchmarks of training and of sampling in small: what others read from their JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.models.tiny import save_tiny_model
from tests.support.models.trained import save_trained
from tests.support.texts.doc_pages import ROOT

pytestmark = pytest.mark.integration

RATIOS = (
    "targets_per_second_vs_trl", "targets_per_second_vs_expanded", "seconds_per_token_vs_trl",
    "seconds_per_token_vs_floor", "peak_memory_vs_trl", "flop_bound", "fraction_of_flop_bound",
)  # fmt: skip


def bench(name: str, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "scripts" / f"bench_{name}.py", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def figures(done: subprocess.CompletedProcess[str], path: Path) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_small_training_prints_a_table_and_writes_the_figures(tmp_path: Path) -> None:
    done = bench(
        "training", "--model", "random-llama:tiny", "--device", "cpu", "--turns", 3, "--rounds", 1,
        "--tokenizer", save_tiny_model(tmp_path / "tokenizer"), "--exchange-tokens", 60,
        "--reply-tokens", 20, "--batch-sizes", 1, "--json", tmp_path / "out" / "bench.json",
    )  # fmt: skip
    report = figures(done, tmp_path / "out" / "bench.json")
    assert "TRL, batch 1" in done.stdout
    assert all(report[key] > 0 for key in RATIOS)
    assert 0 < report["tokens_comb"] < report["tokens_expanded"]
    supervised = {c["name"]: c["num_supervised"] for c in report["contenders"]}
    assert supervised["comb"] == supervised["floor"] == supervised["expanded, batch 1"]
    assert report["too_large"] == []


def test_a_size_that_is_none_is_one_line() -> None:
    done = bench("training", "--model", "random-llama:9b", "--device", "cpu", "--only", "comb")
    assert done.returncode == 1
    (line,) = [text for text in done.stderr.splitlines() if "error" in text]
    assert "random-llama:9b: expected one of tiny" in line


def test_no_token_is_encoded_twice_in_sampling(tmp_path: Path) -> None:
    model, adapter = save_trained(tmp_path)
    # Without `generate_batch`, which takes most of the machine's memory.
    done = bench(
        "sampling", "--model", model, "--adapter", adapter, "--part", "rollout", "--turns", 3,
        "--new-tokens", 3, "--dialogues", 2, "--rollout-batch-sizes", 2, "--rounds", 1,
        "--json", tmp_path / "out" / "bench.json",
    )  # fmt: skip
    found = figures(done, tmp_path / "out" / "bench.json")
    assert found["rollout_vs_generate"] > 0
    assert found["rollout_counters"]["num_encoded_again"] == 0
    assert "rollout_vs_generate" in done.stdout
    words = ("--part", "turns", "--model", model, "--turns", 2, "--new-tokens", 2)
    engine = bench("sampling", "--only", "engine", *words)
    assert engine.returncode == 0, engine.stderr
    counted = json.loads(engine.stdout.splitlines()[-1])["counters"]
    assert 0 < counted["num_encoded_tokens"] < counted["num_prompt_tokens"]
    elsewhere = bench("sampling", *words, "--rounds", 1, "--adapter", tmp_path / "elsewhere")
    assert "elsewhere: no adapter_config" in elsewhere.stderr
