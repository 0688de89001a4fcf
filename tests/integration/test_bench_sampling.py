"""The sampling benchmark in small: its keys, and that the engine encodes each token once."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from peft import PeftModel

from tests.support.models.tiny import save_tiny_model
from tests.support.models.trained import save_trained

pytestmark = pytest.mark.integration

SCRIPT = Path(__file__).parents[2] / "scripts" / "bench_sampling.py"


@pytest.fixture
def bench():
    spec = importlib.util.spec_from_file_location("bench_sampling", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_keys_stand_in_the_json_and_no_token_is_encoded_twice(
    bench, tmp_path, monkeypatch, capsys
) -> None:
    path = tmp_path / "out" / "bench.json"
    model = save_tiny_model(tmp_path / "model")
    # In this process; and without `generate_batch`, which takes most of the machine's memory.
    monkeypatch.setattr(
        bench, "measured", lambda part, name, args, _: bench.measure(part, name, args)
    )
    monkeypatch.setattr(bench, "by_generate_batch", bench.bound)
    argv = [
        "bench", "--model", str(model), "--turns", "3", "--new-tokens", "3", "--batch-sizes", "2",
        "3", "--dialogues", "2", "--rollout-batch-sizes", "2", "--rounds", "1", "--json", str(path),
    ]  # fmt: skip
    monkeypatch.setattr(sys, "argv", argv)
    bench.main()
    found = json.loads(path.read_text(encoding="utf-8"))
    for key in ("sampling_vs_generate", "sampling_vs_generate_batch", "rollout_vs_generate"):
        assert found[key] > 0
    assert found["tokens_encoded"] == found["tokens_distinct"] < found["tokens_prompts"]
    assert found["rollout_counters"]["num_encoded_again"] == 0
    assert set(found["sampling_seconds"]) == {
        "engine", "generate, batch 2", "generate, batch 3", "generate_batch", "bound",
    }  # fmt: skip
    assert "sampling_vs_generate" in capsys.readouterr().out


def test_one_contender_is_measured_in_a_process_of_its_own(tmp_path: Path) -> None:
    model = str(save_tiny_model(tmp_path / "model"))
    words = [sys.executable, str(SCRIPT), "--only", "engine"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--only needs --part" in done.stderr
    words += ["--part", "turns", "--model", model, "--turns", "2", "--new-tokens", "2"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["seconds"] > 0


def test_contenders_run_under_the_adapter(bench, tmp_path, monkeypatch) -> None:
    model, adapter = save_trained(tmp_path)
    words = ["bench", "--model", str(model), "--part", "turns", "--adapter"]
    monkeypatch.setattr(sys, "argv", [*words, str(adapter)])
    seen = []
    monkeypatch.setattr(
        bench, "work_of", lambda _, __, loaded, ___: seen.append(loaded.model) or (lambda *_: None)
    )
    bench.measure("turns", "bound", bench.arguments())
    assert isinstance(seen[0], PeftModel)
    # The process of a contender is told of it too.
    monkeypatch.setattr(sys, "argv", [*words, str(tmp_path / "elsewhere")])
    with pytest.raises(SystemExit, match="elsewhere: no adapter_config"):
        bench.measured("turns", "bound", bench.arguments(), 0)
