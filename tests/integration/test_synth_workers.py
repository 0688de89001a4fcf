"""Several processes make what one makes; whatever ends one of them, nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from data_synth import pipeline
from data_synth.config import SynthConfig
from data_synth.filters.config import QualityConfig
from data_synth.parallel import workers
from data_synth.parallel.workers import run_workers, worker_command
from data_synth.pipeline import SynthResult
from data_synth.shards.shard import WHOLE, Shard, found_shards
from gatt.errors import GenerationError
from gatt.generation.base import SamplingConfig
from gatt.generation.config import EngineConfig
from gatt.runs.lock import free_lock, take_lock
from tests.support.models.tiny import save_tiny_model
from tests.support.runs.stages import RecordingEngine
from tests.support.runs.synth_runs import synth_config, varied_reply, without_commit


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SynthConfig:
    monkeypatch.setattr(pipeline, "provenance", lambda: {"commit": None})
    monkeypatch.setattr(pipeline, "make_engine", lambda *_: RecordingEngine(varied_reply))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    return synth_config(tmp_path)


def scripted(config: Path, shard: Shard) -> Sequence[str]:
    python, dash_m, _, *rest = worker_command(config, shard)
    return [python, dash_m, "tests.support.servers.scripted_worker", *rest]


def alone(config: SynthConfig) -> bytes:
    elsewhere = replace(config, output_dir=config.output_dir.with_name("alone"))
    return pipeline.run_synth(elsewhere).samples.read_bytes()


def assert_same(result: SynthResult, config: SynthConfig) -> None:
    assert without_commit(result.samples.read_bytes()) == without_commit(alone(config))


@pytest.mark.processes
def test_workers_make_what_one_process_makes(config: SynthConfig, capfd) -> None:
    result = run_workers(config, 2, scripted)
    assert (result.num_samples, result.num_new) == (10, 10)
    assert_same(result, config)
    assert found_shards(config.output_dir) == [Shard(1, 2), Shard(2, 2)]
    assert "synth: 10/10 samples" in capfd.readouterr().err
    again = run_workers(config, 2, lambda *_: pytest.fail("a worker was started"))
    assert again == replace(result, num_new=0)


@pytest.mark.processes
def test_a_killed_worker_is_named_and_the_next_run_goes_on(config, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("GATT_TEST_WORKER", f"kill 1/2 {tmp_path / 'once'}")
    with pytest.raises(
        GenerationError, match=r"killed: worker of shard 1/2 \(signal 9\): what was written stays"
    ):
        run_workers(config, 2, scripted)
    first, second = (Shard(n, 2).path(config.output_dir) for n in (1, 2))
    kept = first.read_bytes()
    assert kept.count(b"\n") == 3
    assert second.read_bytes().count(b"\n") == 4
    result = run_workers(config, 2, scripted)
    assert result.num_new == 3
    assert first.read_bytes().startswith(kept)
    assert_same(result, config)


@pytest.mark.processes
def test_the_error_of_one_worker_is_the_one_line_of_the_run(config, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("GATT_TEST_WORKER", f"fail 2/2 {tmp_path / 'once'}")
    with pytest.raises(GenerationError) as caught:
        run_workers(config, 2, scripted)
    assert str(caught.value) == "worker of shard 2/2: the teacher gave up: expected it to answer"
    assert not WHOLE.path(config.output_dir).exists()
    assert_same(run_workers(config, 2, scripted), config)


@pytest.mark.processes
def test_an_interrupt_ends_every_worker(config, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("GATT_TEST_WORKER", f"hang 1/2 {tmp_path / 'once'}")
    started = []
    popen = workers.subprocess.Popen

    def start(*args, **kwargs):
        started.append(popen(*args, **kwargs))
        return started[-1]

    def interrupt(running: object) -> None:
        if (tmp_path / "once").exists():
            raise KeyboardInterrupt

    monkeypatch.setattr(workers.subprocess, "Popen", start)
    monkeypatch.setattr(workers, "_refuse_failed", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_workers(config, 2, scripted)
    assert [process.returncode for process in started] in ([130, 0], [130, 130]), started
    for number in (1, 2):
        free_lock(take_lock(Shard(number, 2).path(config.output_dir)))


@pytest.mark.processes
def test_workers_with_a_local_model_make_what_one_process_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    config = synth_config(tmp_path, num_samples=6, plain_fraction=1.0, batch_samples=2)
    engine = EngineConfig(model=str(save_tiny_model(tmp_path / "tiny")), device="cpu")
    sampling = SamplingConfig(max_new_tokens=40, temperature=2.0)
    quality = QualityConfig(degenerate=False, repeated_share=None, clipped=False)
    teacher = replace(config.teacher, engine=engine, sampling=sampling, quality=quality)
    config = replace(config, teacher=teacher)
    merged = run_workers(config, 2).samples.read_bytes()
    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        expected = alone(config)
    finally:
        torch.set_num_threads(num_threads)
    assert without_commit(merged) == without_commit(expected)
