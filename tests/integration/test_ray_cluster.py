"""Two workers of Ray make what one process makes; one that is killed loses nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest
import torch

from data_synth import run_folder
from data_synth.pipeline import run_synth
from data_synth.quality import QualityConfig
from eval.records.samples import ROLLOUTS_FILE
from eval.run import evaluate
from gatt.cli import main
from gatt.config.load import save_config
from gatt.errors import GenerationError
from gatt.generation.base import SamplingConfig
from gatt.generation.cluster.config import with_workers
from gatt.generation.config import EngineConfig
from tests.support.models.tiny import save_tiny_model
from tests.support.runs.case_files import dialogue_config
from tests.support.runs.stages import RecordingEngine
from tests.support.runs.synth_runs import synth_config, varied_reply
from tests.support.servers.ray_runs import UnluckyEngine, ray_here, told_again

pytest.importorskip("ray", reason="an extra: `pip install 'ghost-attention[ray]'`")
pytestmark = pytest.mark.processes
RAY = with_workers(None, 2)


@pytest.fixture(scope="module", autouse=True)
def _ray() -> Iterator[None]:
    with ray_here():
        yield


@pytest.fixture(autouse=True)
def _one_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    # Somebody may commit meanwhile.
    monkeypatch.setattr(run_folder, "provenance", lambda: {"commit": None})


def test_failed_killed_and_cut_off_it_makes_the_bytes_of_one_process(tmp_path, caplog) -> None:
    config = synth_config(tmp_path, num_samples=20, ray=RAY)
    alone = replace(config, output_dir=tmp_path / "alone", ray=None)
    expected = run_synth(alone, partial(RecordingEngine, varied_reply)).samples.read_bytes()
    # A batch takes four calls: this is in the second one of a worker.
    failing = partial(UnluckyEngine, varied_reply, "fail", 6, tmp_path / "failed")
    with pytest.raises(GenerationError, match=r"^worker on \S+: the teacher gave up"):
        run_synth(config, failing)
    samples = tmp_path / "out" / "samples.jsonl"
    rows = samples.read_bytes()
    assert expected.startswith(rows)
    # What a cluster began one process goes on with, and the other way round.
    samples.write_bytes(expected[: expected.index(b"\n", len(expected) // 5) + 1])
    dying = partial(UnluckyEngine, varied_reply, "kill", 6, tmp_path / "killed")
    result = run_synth(config, dying)
    assert (tmp_path / "killed").exists()
    assert "a worker died" in caplog.text
    assert result.num_samples == 20
    assert 0 < result.num_new < 20
    assert samples.read_bytes() == expected


def test_with_a_local_model_the_command_makes_the_bytes_of_one_process(tmp_path) -> None:
    config = synth_config(tmp_path, num_samples=6, plain_fraction=1.0, batch_samples=2)
    engine = EngineConfig(model=str(save_tiny_model(tmp_path / "tiny")), device="cpu")
    sampling = SamplingConfig(max_new_tokens=40, temperature=2.0)
    quality = QualityConfig(degenerate=False, repeated_share=None, clipped=False)
    teacher = replace(config.teacher, engine=engine, sampling=sampling, quality=quality)
    save_config(replace(config, teacher=teacher), tmp_path / "c.yaml")
    command = ["synth", "--config", str(tmp_path / "c.yaml")]
    assert main([*command, "--workers=2"]) == 0
    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        assert main([*command, f"--output_dir={tmp_path / 'alone'}"]) == 0
    finally:
        torch.set_num_threads(num_threads)
    made, expected = (tmp_path / name / "samples.jsonl" for name in ("out", "alone"))
    assert made.read_bytes() == expected.read_bytes()


def test_an_evaluation_with_a_killed_worker_leaves_the_rows_of_one_process(tmp_path, caplog):
    arms = ("base", "base+system+reminder")
    config = dialogue_config(
        tmp_path, arms=arms, num_dialogues=3, num_plain=2, batch_cases=2, ray=RAY
    )
    alone = replace(config, output_dir=tmp_path / "alone", ray=None)
    expected = evaluate(alone, partial(RecordingEngine, told_again))
    once = tmp_path / "once"
    # The first calls answer reference histories whole, the sixth is in the middle of an own one.
    found = evaluate(config, partial(UnluckyEngine, told_again, "kill", 6, once))
    assert once.exists()
    assert "a worker died" in caplog.text
    assert found.num_new == expected.num_new
    for name in (ROLLOUTS_FILE, "samples.jsonl"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()
    assert found.results["curves"] == expected.results["curves"]
