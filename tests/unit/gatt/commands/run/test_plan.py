"""`--plan`: what would be done, and not a file of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval.commands.eval_plan import planned as eval_plan
from gatt.cli import main
from gatt.commands.run import trial as trials
from gatt.commands.run.command import load_run
from gatt.commands.run.plan import (
    DENSE_SHARE,
    PEAK_TFLOPS,
    ModelShape,
    StagePlan,
    gpu_hours,
    hours_of,
    memory_of,
    seconds_of,
)
from gatt.commands.run.train_plan import planned as train_plan
from gatt.commands.run.trial import Trial, try_model
from gatt.errors import ModelError

SHAPE = ModelShape(linear=100, adapter=10, head=50, attention=8)
TRIAL = Trial(
    shape=SHAPE, weight_bytes=1000, train_bytes=10.0, cache_bytes=2.0, load_seconds=3.0,
    read_rate=100.0, sample_rate=10.0, train_rate=50.0, seconds=1.0,
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
                 "[3/3] eval", "1 cases", "12 replies and 0 probes", "GPU hours"):  # fmt: skip
        assert what in out
    assert not (bot / "run").exists()


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
    synth, train, evaluation = run.stages
    folder = bot / "run" / "train"
    (folder / "checkpoint-2").mkdir(parents=True)
    earlier = {
        "synth": StagePlan(summary="", files=(), model=None, num_samples=6, target_tokens=60)
    }
    assert train_plan(train.config, earlier).share_done == pytest.approx(2 / 30)
    (folder / "train.json").write_text('{"status": "finished"}', encoding="utf-8")
    assert train_plan(train.config, earlier).share_done == 1.0
    rows = bot / "run" / "eval" / "rollouts.jsonl"
    rows.parent.mkdir()
    rows.write_text("{}\n", encoding="utf-8")
    found = eval_plan(evaluation.config, {})
    assert found.share_done == pytest.approx(1 / 3)
    assert seconds_of(found, TRIAL) < seconds_of(
        StagePlan(**{**vars(found), "share_done": 0.0}), TRIAL
    )
    assert synth.module.PLAN == "data_synth.commands.synth_plan"


def test_time_memory_and_gpu_hours_are_what_the_counts_say() -> None:
    plan = StagePlan(
        summary="", files=(), model="m", read_tokens=200, sampled_tokens=40, trained_tokens=100,
        scored_tokens=20, longest_tokens=10, share_done=0.5,
    )  # fmt: skip
    assert seconds_of(plan, TRIAL) == 3 + 0.5 * (2 + 4 + 2)
    assert seconds_of(StagePlan(**{**vars(plan), "share_done": 1.0}), TRIAL) == 0
    assert memory_of(plan, TRIAL) == 1000 + 10 * 10 + 10 * 16
    # Read: 200 tokens through 110 weights and 5 pairs each; trained: forward and backward of 100.
    dense = 200 * 220 + 200 * 5 * 4 * 8 + 100 * (400 + 60) + 100 * 5 * 12 * 8 + 20 * 4 * 50
    drawn = 40 * 220 + 40 * 5 * 4 * 8 + 40 * 2 * 50
    expected = dense / 1e12 / (PEAK_TFLOPS * DENSE_SHARE) / 3600 + gpu_hours(drawn / 1e12, 0.05)
    assert hours_of(plan, SHAPE) == pytest.approx(expected / 2)


def test_a_model_that_is_not_here_is_not_fetched(monkeypatch, capsys, bot) -> None:
    monkeypatch.undo()
    with pytest.raises(ModelError):
        try_model("nobody/has-this-8B")
