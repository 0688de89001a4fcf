"""The benchmarks of training and of sampling in small: what others read from their JSON."""

from __future__ import annotations

import json
import os
import runpy
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import bench_sampling
import bench_training
import pytest
from benchmark import measure
from benchmark.apart import TooLargeError, measured_apart

from gatt.errors import GattError
from tests.support.models.tiny import save_tiny_model
from tests.support.models.trained import save_trained

pytestmark = pytest.mark.integration

RATIOS = (
    "targets_per_second_vs_trl", "targets_per_second_vs_expanded", "seconds_per_token_vs_trl",
    "seconds_per_token_vs_floor", "peak_memory_vs_trl", "flop_bound", "fraction_of_flop_bound",
)  # fmt: skip
TURNS = 4


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return a benchmark with all contenders in this process, where heavy imports are done; it prints."""

    def run(module: Any, *words: object) -> str:
        with monkeypatch.context() as patched, redirect_stdout(StringIO()) as out:
            patched.setattr(sys, "argv", [str(module.__file__), *map(str, words)])
            patched.setattr(module, "set_verbosity_error", lambda: None)
            module.main()
        return out.getvalue()

    for module in (bench_training, bench_sampling):
        monkeypatch.setattr(
            module,
            "measured_apart",
            lambda _, script, *words, module=module: last_line(run(module, *words)),
        )
    monkeypatch.setattr(bench_training, "disable_progress_bars", lambda: None)
    # One process keeps the memory that a contender once took: the peak would be the first one's.
    monkeypatch.setattr(measure, "start_of_peak", lambda: 0)
    return run


def last_line(out: str) -> Any:
    return json.loads(out.splitlines()[-1])


def figures(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_small_training_prints_a_table_and_writes_the_figures(bench, tmp_path: Path) -> None:
    out = bench(
        bench_training, "--model", "random-llama:tiny", "--device", "cpu", "--turns", TURNS,
        "--rounds", 1, "--tokenizer", save_tiny_model(tmp_path / "tokenizer"),
        "--exchange-tokens", 60, "--reply-tokens", 20, "--batch-sizes", 1, 3,
        "--max-tokens-per-row", 560, "--json", tmp_path / "out" / "bench.json",
    )  # fmt: skip
    report = figures(tmp_path / "out" / "bench.json")
    assert "TRL, batch 1" in out
    assert all(report[key] > 0 for key in RATIOS)
    assert 0 < report["tokens_comb"] < report["tokens_expanded"]
    assert report["too_large"] == []
    measured = {contender.pop("name"): contender for contender in report["contenders"]}
    comb, trl = measured["comb"], measured["TRL, batch 3"]
    # TRL trains the line break behind each reply as well.
    assert trl["num_supervised"] == comb["num_supervised"] + TURNS
    assert trl["loss"] == pytest.approx(comb["loss"], rel=0.05)
    assert measured["floor"]["num_supervised"] == comb["num_supervised"]
    for name in ("comb cut at 560", "expanded, batch 1"):
        assert measured[name]["num_supervised"] == comb["num_supervised"]
        assert measured[name]["loss"] == pytest.approx(comb["loss"], rel=1e-5)
    assert {len(contender["seconds"]) for contender in measured.values()} == {1}


def test_a_size_that_is_none_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("--model", "random-llama:9b", "--device", "cpu", "--only", "comb")
    monkeypatch.setattr(sys, "argv", [str(bench_training.__file__), *words])
    with pytest.raises(SystemExit, match=r"^error: --model random-llama:9b: expected one of tiny"):
        runpy.run_path(str(bench_training.__file__), run_name="__main__")


def test_no_token_is_encoded_twice_in_sampling(bench, tmp_path: Path) -> None:
    model, adapter = save_trained(tmp_path)
    # Without `generate_batch`, which takes most of the machine's memory.
    out = bench(
        bench_sampling, "--model", model, "--adapter", adapter, "--part", "rollout", "--turns", 3,
        "--new-tokens", 3, "--dialogues", 2, "--rollout-batch-sizes", 2, "--rounds", 1,
        "--json", tmp_path / "out" / "bench.json",
    )  # fmt: skip
    found = figures(tmp_path / "out" / "bench.json")
    assert found["rollout_vs_generate"] > 0
    assert found["rollout_counters"]["num_encoded_again"] == 0
    assert "rollout_vs_generate" in out
    words = ("--part", "turns", "--model", model, "--turns", 2, "--new-tokens", 2)
    counted = last_line(bench(bench_sampling, "--only", "engine", *words))["counters"]
    assert 0 < counted["num_encoded_tokens"] < counted["num_prompt_tokens"]
    with pytest.raises(GattError, match="elsewhere: no adapter_config"):
        bench(bench_sampling, *words, "--rounds", 1, "--adapter", tmp_path / "elsewhere")


def test_a_contender_is_measured_in_a_process_of_its_own(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys\nprint('noise')\nexec(sys.argv[1])\n", encoding="utf-8")
    words = "import json, os; print(json.dumps([os.getppid()]))"
    assert measured_apart("one", str(script), words) == [os.getpid()]
    for code in ("import os; os.kill(os.getpid(), 9)", "raise MemoryError"):
        with pytest.raises(TooLargeError, match="one: the memory is too small"):
            measured_apart("one", str(script), code)
    with pytest.raises(SystemExit, match="one: ValueError: nothing here"):
        measured_apart("one", str(script), "raise ValueError('nothing here')")


def test_the_peak_of_memory_starts_anew_and_sees_what_was_given_back() -> None:
    size = 64 * 2**20
    first = measure.start_of_peak()
    bytearray(b"1") * size
    assert measure.peak_bytes() - first > size / 2
    second = measure.start_of_peak()
    assert measure.peak_bytes() - second < size / 2
