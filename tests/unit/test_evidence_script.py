"""`scripts/evidence.sh` with a stand-in for the command: what a stage asks for and what it publishes."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from eval.attention.config import AttendConfig
from eval.config import EvalConfig
from eval.perplexity import PerplexityConfig
from gatt.config import load_config
from gatt.sample import TurnTarget
from gatt.train_config import TrainConfig
from gatt.train_samples import read_all_samples
from tests.support.doc_pages import ROOT
from tests.support.tiny import sample, write_samples

STAND_IN = """#!/usr/bin/env bash
echo "${@:3}" >>"$RECORD"
for word in "$@"; do
  [[ $word == --output_dir=* ]] || continue
  mkdir -p "${word#*=}"
  [[ $3 != eval ]] || touch "${word#*=}"/{results.json,report.html,samples.jsonl}
  [[ $3 != attend ]] || touch "${word#*=}"/attention.{json,html}
done
[[ $3 != perplexity ]] || touch runs/evidence/perplexity.json
[[ $3 != attend ]] || touch runs/evidence/ordinary/attention{.json,.html,.png,-turns.png,-heads.png}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a copy of the script with a finished evaluation where it looks for it."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "evidence.sh", tmp_path / "scripts")
    ordinary = tmp_path / "runs" / "evidence" / "ordinary"
    ordinary.mkdir(parents=True)
    for name in ("results.json", "report.html"):
        (ordinary / name).touch()
    stand_in = tmp_path / "python"
    stand_in.write_text(STAND_IN, encoding="utf-8")
    stand_in.chmod(0o755)
    return tmp_path


def follow(root: Path, stage: str) -> tuple[str, list[list[str]]]:
    """Return what the script says to a stage, and the commands that it has run so far."""
    record = root / "record"
    env = {**os.environ, "PYTHON": str(root / "python"), "RECORD": str(record)}
    done = subprocess.run(
        [str(root / "scripts" / "evidence.sh"), stage],
        env=env, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    return done.stdout, [line.split() for line in lines]


def test_ablations_train_on_parts_that_can_be_read(root: Path) -> None:
    made = root / "runs" / "evidence" / "data"
    names = [
        "figure",
        "hobby",
        "language",
        "behaviour",
        "persona",
        "plain",
        "combined",
        "questions",
    ]
    for name in names:
        (made / name).mkdir(parents=True)
        # As every run of `gatt synth` counts them.
        rows = [replace(sample(n, 2), id=f"s{n:06d}") for n in range(8)]
        rows = [replace(row, dialogue=replace(row.dialogue, id=name)) for row in rows]
        if name == "combined":
            silent = tuple(TurnTarget(turn, None, "rejected") for turn in (1, 2))
            rows[0] = replace(rows[0], targets=silent)
        told = name != "plain"
        last = replace(rows[-1], instruction=None) if name == "questions" else rows[-1]
        rows = [row if told else replace(row, instruction=None) for row in [*rows[:-1], last]]
        write_samples(made / name / "samples.jsonl", rows)
    _, commands = follow(root, "ablations")
    configs = {}
    for command in (words for words in commands if words[0] == "train"):
        keys = [word for word in command if word.startswith("--") and word != "--config"]
        given = [] if any(key.startswith("--samples=") for key in keys) else ["--samples=[x]"]
        config = load_config(TrainConfig, None, [*given, *keys])
        configs[config.output_dir.name] = config
    numbers = {
        name: sorted(
            Counter(
                s.dialogue.id for s in read_all_samples([root / p for p in config.samples])
            ).items()
        )
        for name, config in configs.items()
        if config.samples != (Path("x"),)
    }
    assert numbers == {
        "told": sorted((n, 7 if n == "questions" else 8) for n in names if n != "plain"),
        "one_in_8": sorted((n, 1) for n in names),
        "one_in_4": sorted((n, 2) for n in names),
    }
    # Half of the 64; one of them has no target, and gives no step.
    assert {config.max_steps for config in configs.values()} == {31}
    assert (root / "results" / "ablations" / "told" / "samples.jsonl.gz").is_file()
    # Adapters that were trained, beside the main one of the configuration.
    last = commands[-1]
    assert last[:2] == ["perplexity", "--config"]
    perplexity = load_config(PerplexityConfig, ROOT / last[2], last[3:])
    trained = {str(config.output_dir / "adapter") for config in configs.values()}
    assert set(perplexity.adapters) == {"gatt", "recipe", "plain_targets", "told"}
    assert {str(path) for path in perplexity.adapters.values()} - trained == {"results/adapter"}


def test_every_evaluation_is_one_that_can_be_made(root: Path) -> None:
    stages = [
        "validation",
        "table30",
        "ordinary",
        "heldout",
        "combined",
        "switch",
        "forty",
        "cost",
        "long",
    ]
    for stage in stages:
        _, commands = follow(root, stage)
    configs = {}
    for command in (words for words in commands if words[0] == "eval"):
        assert command[1] == "--config"
        # Lists were taken apart at their blanks.
        keys = " ".join(command[3:]).replace("--", "\n--").strip().split("\n")
        config = load_config(EvalConfig, ROOT / command[2], [key.strip() for key in keys])
        configs[config.output_dir.name] = config
    published = {path.name for path in (root / "results").iterdir()}
    assert published == set(configs)
    assert configs["ordinary_own"].histories == ("own",)
    assert configs["ordinary_first_user"].placement == "first_user"
    assert max(configs["heldout_reference"].turns) == 40
    assert configs["combined_3"].instructions.num_entries == (0.0, 0.0, 1.0)
    for kind in ("replace", "add", "cancel"):
        switch = configs[f"switch_{kind}"].switch
        assert switch is not None
        assert {k: getattr(switch, k) for k in ("replace", "add", "cancel")} == {
            k: float(k == kind) for k in ("replace", "add", "cancel")
        }
    assert set(configs["switch_unchanged"].adapters) == {"gatt", "steady", "switch"}
    folders = {p for c in configs.values() for p in c.adapters.values()}
    made = {
        Path(word.partition("=")[2])
        for c in commands
        if c[0] == "train"
        for word in c
        if "output_dir" in word
    }
    assert folders <= {Path("results/adapter"), *(p / "adapter" for p in made)}
    # Each goes on with the chats of its name, and none of 40 turns loses some of them.
    further = [c for c in commands if "configs/evidence/train_further.yaml" in c]
    assert [c[3:5] for c in further] == [
        [f"--samples=[{chats}_chats/samples.jsonl]", f"--output_dir={chats}_main"]
        for chats in (f"runs/evidence/{name}" for name in ("switch", "steady", "forty"))
    ]
    assert [c[5:] for c in further] == [[], [], ["--max_length=4096"]]


def test_attention_comes_behind_the_evaluation_that_it_reads(root: Path) -> None:
    stages = follow(root, "list")[0].split()
    assert stages.index("attend") == stages.index("ordinary") + 1


def test_kept_samples_are_restored_whole_or_not_at_all(root: Path) -> None:
    kept, made = root / "results" / "data", root / "runs" / "evidence" / "data"
    for _ in range(2):
        with pytest.raises(subprocess.CalledProcessError) as none:
            follow(root, "restore")
        assert none.value.stderr == (
            "results/data: no samples are kept there: run the stage `data`\n"
        )
    kept.mkdir(parents=True)
    rows = "".join(f"{n}\n" for n in range(20_000)).encode()
    whole = gzip.compress(rows)
    (kept / "figure.jsonl.gz").write_bytes(whole[:-9000])
    (kept / "hobby.jsonl.gz").write_bytes(whole)
    for _ in range(2):
        with pytest.raises(subprocess.CalledProcessError):
            follow(root, "restore")
    (kept / "figure.jsonl.gz").write_bytes(whole)
    for _ in range(2):
        assert follow(root, "restore") == ("== restore ==\n", [])
    for name in ("figure", "hobby"):
        assert (made / name / "samples.jsonl").read_bytes() == rows
    (made / "hobby" / "samples.jsonl").write_bytes(rows[:-6])
    with pytest.raises(subprocess.CalledProcessError) as other:
        follow(root, "restore")
    assert "hobby/samples.jsonl: other samples than results/data/hobby.jsonl.gz" in (
        other.value.stderr
    )
    assert (made / "hobby" / "samples.jsonl").read_bytes() == rows[:-6]


def test_attention_is_looked_at_once_and_published(root: Path) -> None:
    _, (*looks, report) = follow(root, "attend")
    configs = [load_config(AttendConfig, None, look[1:]) for look in looks]
    assert {look[0] for look in looks} == {"attend"}
    assert [config.turns for config in configs] == [(), (20,)]
    for config in configs:
        assert (config.samples, config.history) == (Path("runs/evidence/ordinary"), "reference")
    assert report[:2] == ["report", "runs/evidence/ordinary"]
    names = {path.name for path in (root / "results" / "attend").iterdir()}
    assert names == {
        "attention.json", "attention.html", "attention.png", "attention-turns.png",
        "attention-heads.png", "attention-20.json",
    }  # fmt: skip
    assert (root / "results" / "ordinary" / "report.html").is_file()
    _, again = follow(root, "attend")
    assert [command[0] for command in again] == ["attend", "attend", "report", "report"]
