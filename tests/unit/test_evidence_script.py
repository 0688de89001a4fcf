"""`scripts/evidence.sh` with a stand-in for the command: what a stage asks for and what it publishes."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from eval.attention.config import AttendConfig
from gatt.config import load_config
from tests.support.doc_pages import ROOT

STAND_IN = """#!/usr/bin/env bash
echo "${@:3}" >>"$RECORD"
[[ $3 != attend ]] || touch runs/evidence/ordinary/attention{.json,.html,.png,-turns.png,-heads.png}
[[ $3 != report ]] || touch runs/evidence/ordinary/{results.json,report.html}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a copy of the script with a finished evaluation where it looks for it."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "evidence.sh", tmp_path / "scripts")
    (tmp_path / "runs" / "evidence" / "ordinary").mkdir(parents=True)
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
    for name in ("figure", "hobby"):
        (kept / f"{name}.meta.json").write_text(name, encoding="utf-8")
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
        assert (made / name / "samples.jsonl.meta.json").read_text(encoding="utf-8") == name
    (made / "hobby" / "samples.jsonl").write_bytes(rows[:-6])
    with pytest.raises(subprocess.CalledProcessError) as other:
        follow(root, "restore")
    assert "hobby/samples.jsonl: other samples than results/data/hobby.jsonl.gz" in (
        other.value.stderr
    )
    assert (made / "hobby" / "samples.jsonl").read_bytes() == rows[:-6]


def test_attention_is_looked_at_once_and_published(root: Path) -> None:
    _, (attend, report) = follow(root, "attend")
    config = load_config(AttendConfig, None, attend[1:])
    assert (attend[0], config.samples) == ("attend", Path("runs/evidence/ordinary"))
    assert config.history == "reference"
    assert report[:2] == ["report", "runs/evidence/ordinary"]
    names = {path.name for path in (root / "results" / "attend").iterdir()}
    assert names == {
        "attention.json", "attention.html", "attention.png", "attention-turns.png",
        "attention-heads.png",
    }  # fmt: skip
    assert (root / "results" / "ordinary" / "report.html").is_file()
    _, again = follow(root, "attend")
    assert [command[0] for command in again] == ["attend", "report", "report"]
