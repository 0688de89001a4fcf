"""The folder of a run: its card, kills, and two runs that want one folder."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import pytest

from data_synth.config import SynthConfig
from data_synth.pipeline import run_synth
from data_synth.run_folder import write_card
from gatt.data.sample import GattSample, TurnTarget, read_samples
from gatt.errors import StoreError
from gatt.generation.base import Generation, GenerationRequest, SamplingConfig
from gatt.sources.base import SourceReport
from tests.support.runs.killed_runs import killed_runs
from tests.support.runs.stages import RecordingEngine, dialogue
from tests.support.runs.synth_runs import GOOD, make, varied_reply
from tests.support.servers.faulty_server import (
    Answer,
    Asked,
    FaultyServer,
    completion,
    engine_for,
    error,
)


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
        (hotter(config), "teacher.sampling.temperature 0.7 -> 0.9"),
    ):
        with pytest.raises(StoreError, match=rf"samples\.jsonl: .*{facts}"):
            make(other)
        assert files(config.output_dir) == before
    assert make(config)[0].num_samples == 10


def test_a_first_start_without_a_sample_leaves_the_folder_to_other_settings(config) -> None:
    with pytest.raises(KeyboardInterrupt):
        make(config, interrupt_at=1)
    assert make(hotter(config))[0].num_new == 10


def test_odd_answers_of_a_server_are_counted_and_the_good_replies_kept(config, caplog) -> None:
    said = iter(range(10**6))
    odd = {
        "ended:eos": completion(GOOD[0], "eos"),
        "ended:none": completion(GOOD[1], None),
        "ended:guardrail_intervened": completion(None, "guardrail_intervened"),
        "context_limit": error(400, "prompt is too long: 9 tokens > 8 maximum"),
        "blank": completion([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": ""}]),
    }
    drawn: Counter[str] = Counter()

    def script(asked: Asked) -> Answer:
        kind = crc32(asked.prompt.encode()) % 12 if asked.nth == 0 else 99
        if kind < len(odd):
            drawn[[*odd][kind]] += 1
            return [*odd.values()][kind]
        number = next(said)
        return completion([{"type": "text", "text": f"{GOOD[number % 4]} It was day {number}."}])

    with FaultyServer(script) as server:
        result = run_synth(config, lambda: engine_for(server))
    assert result.num_samples == 10
    assert result.num_targets > 10
    samples = list(read_samples(result.samples))
    refused = Counter(reason for s in samples for t in s.targets for reason in t.refused)
    assert set(drawn) == set(odd)
    assert {reason: refused[reason] for reason in odd} == dict(drawn)
    card = result.samples.with_name("README.md").read_text(encoding="utf-8")
    assert "| ended:guardrail_intervened |" in card
    assert any("ended:none" in line and "server.stop_reasons" in line for line in caplog.messages)


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


def sample(name: str, *targets: TurnTarget) -> GattSample:
    return GattSample(name, dialogue(0, len(targets)), None, targets)


SAMPLES = (
    sample(
        "s0",
        TurnTarget(1, "It rains.", kind="sampled", attempts=1),
        TurnTarget(2, "It snows.", kind="hinted", attempts=3, refused=("cut", "rejected")),
        TurnTarget(3, None, "repeats_target", attempts=2, refused=("cut", "repeats_target")),
    ),
    sample("s1", TurnTarget(1, "it RAINS!", kind="sampled", attempts=1)),
)


def card(folder: Path, rows: Sequence[dict[str, object]]) -> str:
    path = folder / "samples.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    write_card(SynthConfig(output_dir=folder), path, SourceReport("test", 2, 2))
    return (folder / "README.md").read_text(encoding="utf-8")


def test_refused_draws_are_counted_over_all_attempts_and_zeros_are_shown(tmp_path) -> None:
    text = card(tmp_path, [s.as_dict() for s in SAMPLES])
    assert "| cut | the length limit cut the reply | 2 | 0 |" in text
    assert "| rejected | a verifier rejected it | 1 | 0 |" in text
    assert "| repeats_target | nearly the same as another target of its sample | 1 | 1 |" in text
    assert "| degenerate | loops, repeats or holds no words | 0 | 0 |" in text


@pytest.mark.parametrize("kind", ["scripted", pytest.param("local", marks=pytest.mark.processes)])
def test_kills_leave_the_bytes_of_a_run_left_alone(kind: str, tmp_path: Path) -> None:
    """SIGKILL at random moments."""
    found = killed_runs(tmp_path, kind, 25)
    assert sum(found["left"].values()) == 25
    assert max(found["finished_after_kills"]) >= 2
    assert found["left"]["part of a batch"] >= 1
