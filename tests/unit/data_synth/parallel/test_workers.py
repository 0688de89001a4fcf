"""What a run with several workers starts, refuses and says; tests/integration has the processes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from data_synth import pipeline
from data_synth.config import SynthConfig
from data_synth.parallel import workers
from data_synth.parallel.workers import environments, run_workers, worker_command
from data_synth.shards.shard import Shard
from gatt.errors import ConfigError, GenerationError, StoreError
from tests.support.runs.stages import RecordingEngine
from tests.support.runs.synth_runs import synth_config, varied_reply


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SynthConfig:
    monkeypatch.setattr(pipeline, "provenance", lambda: {"commit": None})
    monkeypatch.setattr(pipeline, "make_engine", lambda *_: RecordingEngine(varied_reply))
    return synth_config(tmp_path)


def test_a_worker_that_does_not_end_is_killed(config, monkeypatch) -> None:
    def stubborn(config: Path, shard: Shard) -> Sequence[str]:
        return (
            ["sleep", "60"] if shard.number == 1 else ["sh", "-c", "echo no such thing >&2; exit 3"]
        )

    monkeypatch.setattr(workers, "STOP_SECONDS", 0.1)
    with pytest.raises(GenerationError, match=r"^worker of shard 2/2: no such thing$"):
        run_workers(config, 2, stubborn)


def test_warnings_of_one_worker_are_passed_on(config, capfd) -> None:
    def loud(config: Path, shard: Shard) -> Sequence[str]:
        return [
            "sh",
            "-c",
            f"echo 'synth: 1/2'; echo careful {shard} >&2; echo 'synth: 1/2' >&2; exit 3",
        ]

    with pytest.raises(GenerationError, match=r"worker of shard ./2: synth: 1/2"):
        run_workers(config, 2, loud)
    said = capfd.readouterr().err.splitlines()
    assert said.count("careful 1/2") <= 1
    assert "careful 2/2" not in said


def test_a_folder_begun_by_one_process_is_gone_on_with_by_one(config, caplog) -> None:
    whole = pipeline.run_synth(config).samples
    rows = whole.read_bytes()
    whole.write_bytes(rows[: rows.index(b"\n") + 1])
    result = run_workers(config, 2, lambda *_: pytest.fail("a worker was started"))
    assert (result.num_new, whole.read_bytes()) == (9, rows)
    assert "was begun by one process, and one goes on with it" in caplog.text


def test_wrong_numbers_of_workers_are_refused(config) -> None:
    with pytest.raises(ConfigError, match="--workers is 0: expected at least 1"):
        run_workers(config, 0)
    pipeline.run_synth(config, shard=Shard(1, 3))
    with pytest.raises(
        StoreError, match="holds shards of 3, expected those of 2: go on with --work"
    ):
        run_workers(config, 2)


def test_processors_and_gpus_are_shared_out(config, monkeypatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(9), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    found = environments(config, 4)
    assert [env["OMP_NUM_THREADS"] for env in found] == ["2"] * 4
    assert [env["CUDA_VISIBLE_DEVICES"] for env in found] == ["3", "5", "3", "5"]
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    engine = replace(config.teacher.engine, device="cpu")
    on_cpu = replace(config, teacher=replace(config.teacher, engine=engine))
    assert {(e["OMP_NUM_THREADS"], e["CUDA_VISIBLE_DEVICES"]) for e in environments(on_cpu, 2)} == {
        ("7", "3,5")
    }
    assert worker_command(Path("c.yaml"), Shard(2, 4))[1:] == [
        "-m", "data_synth.parallel.worker", "--config", "c.yaml", "--shard", "2/4",
    ]  # fmt: skip


def test_the_last_line_of_progress_is_said_once(config, monkeypatch, capfd) -> None:
    def quick(_: Path, shard: Shard) -> Sequence[str]:
        path = shard.path(config.output_dir)
        path.parent.mkdir(parents=True, exist_ok=True)
        row = "{}" + "\\n"
        # All rows are there long before the last worker ends, and the last ones come just before.
        late = "true" if shard.number == 1 else f"sleep 0.3; printf '{row}' >> {path}; sleep 1"
        return ["sh", "-c", f"printf '{row * (5 if shard.number == 1 else 4)}' > {path}; {late}"]

    joined = pipeline.SynthResult(config.output_dir / "samples.jsonl", 10, 9, 30, 10)
    monkeypatch.setattr(workers, "merge_shards", lambda _: joined)
    monkeypatch.setattr(workers, "POLL_SECONDS", 0.05)
    assert run_workers(config, 2, quick).num_new == 10
    assert capfd.readouterr().err.count("synth: 10/10 samples") == 1
