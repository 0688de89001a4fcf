"""`--plan`: what would be done, and not a file of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from eval.commands.eval_plan import planned as eval_plan
from gatt.cli import main
from gatt.commands.run.train_plan import planned as train_plan
from gatt.errors import ModelError
from gatt.stages import trial as trials
from gatt.stages.plan import StagePlan, hours_of, seconds_of
from gatt.stages.run_file import load_run
from gatt.stages.trial import Trial, try_model
from tests.support.models.tiny import sample, write_samples

TRIAL = Trial(
    num_weights=1000, load_seconds=3.0, read_rate=100.0, sample_rate=10.0, train_rate=50.0, seconds=1.0
)  # fmt: skip


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(p): (p.stat().st_mtime_ns, p.stat().st_size) for p in folder.rglob("*")}


@pytest.fixture
def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    main(["init", str(tmp_path / "bot")])
    monkeypatch.setattr(trials, "try_model", lambda name: TRIAL)
    return tmp_path / "bot"


def test_a_plan_of_all_stages_writes_nothing(bot: Path, capsys) -> None:
    before = tree(bot.parent)
    assert main(["run", str(bot / "run.yaml"), "--plan"]) == 0
    assert tree(bot.parent) == before
    out = capsys.readouterr().out
    for what in ("[1/3] synth", "6 samples of 36 turns", "[2/3] train", "30 steps of 1 rows",
                 "[3/3] eval", "1 cases", "20 replies and 0 probes", "GPU hours", "GB to train"):  # fmt: skip
        assert what in out


@pytest.mark.parametrize("stage", ["synth", "eval"])
def test_a_stage_alone_is_planned_as_well(bot: Path, capsys, stage: str) -> None:
    before = tree(bot.parent)
    catalog = json.dumps([str(bot / "catalog.yaml")])
    more = ["--turns=[1,6]", "--probe_turns=[]", "--splits=[train]", "--num_dialogues=1"]
    words = [stage, "--plan", f"--output_dir={bot}/x", f"--instructions.catalog={catalog}",
             "--source.name=jsonl", f"--source.path={bot}/dialogues.jsonl", "--source.min_turns=6"]  # fmt: skip
    words += ["--num_samples=4", "--instructions.num_entries=[1.0]"] if stage == "synth" else more
    assert main(words) == 0
    assert tree(bot.parent) == before
    assert f"[1/1] {stage} -> {bot}/x" in capsys.readouterr().out


def test_what_is_done_is_not_counted_again(bot: Path) -> None:
    run = load_run(bot / "run.yaml")
    _, train, evaluation = run.stages
    folder = bot / "run" / "train"
    (folder / "checkpoint-2").mkdir(parents=True)
    to_come = {"num_samples": 6, "target_tokens": 60, "samples_file": train.config.samples[0]}
    earlier = {"synth": StagePlan(summary="", model=None, **to_come)}
    # Its samples will be others.
    assert train_plan(train.config, earlier).share_done == 0.0
    kept = write_samples(bot / "kept.jsonl", [sample(n, 2) for n in range(3)])
    begun = write_samples(bot / "begun.jsonl", [])
    both = replace(train.config, samples=(begun, kept))
    synth = replace(earlier["synth"], samples_file=begun)
    said = train_plan(both, {"synth": synth}).summary
    assert "6 samples to come, at most; 3 samples, 3 rows" in said
    alone = replace(train.config, samples=(kept,))
    assert train_plan(alone, {}).share_done == pytest.approx(2 / 15)
    record = folder / "train.json"
    record.write_text('{"status": "finished"}', encoding="utf-8")
    assert train_plan(alone, {}).share_done == 1.0
    (folder / "adapter").mkdir()
    (folder / "adapter" / "adapter_model.safetensors").touch()
    record.write_text('{"status": "finished", "identity": {"samples": ["x"]}}', encoding="utf-8")
    assert train_plan(alone, {}).share_done == 0.0
    rows = bot / "run" / "eval" / "rollouts.jsonl"
    rows.parent.mkdir()
    rows.write_text("{}\n", encoding="utf-8")
    found = eval_plan(evaluation.config, {})
    assert found.share_done == pytest.approx(1 / 5)
    assert seconds_of(found, TRIAL) < seconds_of(
        StagePlan(**{**vars(found), "share_done": 0.0}), TRIAL
    )


def test_time_and_gpu_hours_are_what_the_counts_say() -> None:
    values = {"read_tokens": 200, "sampled_tokens": 40, "trained_tokens": 100}
    plan = StagePlan(summary="", model="m", share_done=0.5, **values)
    assert seconds_of(plan, TRIAL) == 3 + 0.5 * (2 + 4 + 2)
    assert seconds_of(StagePlan(summary="", model="m", share_done=1.0, **values), TRIAL) == 0
    # Forward, and for the trained ones backward, at 35 and 5 % of 989 TFLOP/s.
    operations = ((200 * 2 + 100 * 4) / 0.35 + 40 * 2 / 0.05) * 1000
    assert hours_of(plan, 1000) == pytest.approx(operations / 989e12 / 3600 / 2)


@pytest.mark.parametrize("name", ["nobody/has-this-8B", "some.gguf"])
def test_a_model_that_is_not_here_is_neither_fetched_nor_converted(name: str) -> None:
    with pytest.raises(ModelError):
        try_model(name)
