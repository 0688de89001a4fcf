"""Two runs never share a folder: the later one is refused and overwrites nothing."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from data_synth import pipeline
from data_synth.config import SynthConfig
from data_synth.pipeline import run_synth
from gatt.errors import StoreError
from gatt.generation.base import Generation, GenerationRequest, SamplingConfig
from tests.support.runs.stages import RecordingEngine
from tests.support.runs.synth_runs import make, synth_config, varied_reply


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SynthConfig:
    monkeypatch.setattr(pipeline, "provenance", lambda: {"commit": None})
    return synth_config(tmp_path)


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


def hotter(config: SynthConfig) -> SynthConfig:
    sampling = SamplingConfig(max_new_tokens=40, temperature=0.9, top_p=0.9)
    return replace(config, teacher=replace(config.teacher, sampling=sampling))


def test_other_settings_are_refused_by_name_and_overwrite_nothing(config) -> None:
    with pytest.raises(KeyboardInterrupt):
        make(config, interrupt_at=7)
    before = files(config.output_dir)
    assert before["samples.jsonl"]
    for other, facts in (
        (replace(config, seed=1), "seed 0 -> 1"),
        (replace(config, num_samples=9), "num_samples 10 -> 9"),
        (hotter(config), "teacher.sampling.temperature 0.7 -> 0.9"),
    ):
        with pytest.raises(StoreError, match=rf"samples\.jsonl: .*{facts}"):
            make(other)
        assert files(config.output_dir) == before
    assert make(config)[0].num_samples == 10


@pytest.mark.parametrize("seed", [0, 1])
def test_a_second_run_while_one_writes_is_refused_and_harms_nothing(config, tmp_path, seed) -> None:
    """With the same settings or others: the first run ends with the bytes of a run alone."""
    expected = make(replace(config, output_dir=tmp_path / "alone"))[0].samples.read_bytes()
    is_writing, may_go_on = threading.Event(), threading.Event()

    def patient_reply(request: GenerationRequest) -> str | Generation:
        if request.key.startswith("s000004"):
            is_writing.set()
            may_go_on.wait()
        return varied_reply(request)

    first = threading.Thread(
        target=run_synth, args=(config, lambda: RecordingEngine(patient_reply))
    )
    first.start()
    try:
        assert is_writing.wait(60)
        before = files(config.output_dir)
        with pytest.raises(StoreError, match=r"samples\.jsonl: .*pid \d+"):
            make(replace(config, seed=seed))
        assert files(config.output_dir) == before
    finally:
        may_go_on.set()
        first.join()
    assert (config.output_dir / "samples.jsonl").read_bytes() == expected


@pytest.mark.parametrize("name", ["README.md", "config.yaml", "source.json"])
def test_files_of_somebody_else_are_not_overwritten(config, name) -> None:
    config.output_dir.mkdir()
    (config.output_dir / name).write_text("mine", encoding="utf-8")
    with pytest.raises(StoreError, match=name):
        make(config)
    assert files(config.output_dir) == {name: b"mine"}
