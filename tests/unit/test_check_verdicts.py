"""`scripts/check_verdicts.py`: what is read by hand tells nothing, and is counted against the verdicts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.doc_pages import ROOT
from tests.support.fake_samples import fake_results, sample, write_run


def check(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "scripts" / "check_verdicts.py", *map(str, words)],
        capture_output=True, text=True, check=False, cwd=ROOT, timeout=60,
    )  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Path:
    samples = [
        sample(arm=arm, dialogue=f"{status} {n}", status=status, reply=f"{arm} {status} {n}.")
        for arm in ("gatt", "base")
        for status in ("pass", "fail", "undecided")
        for n in range(6)
    ]
    write_run(tmp_path / "run", samples, fake_results(samples))
    return tmp_path / "run"


def test_what_is_drawn_tells_neither_arm_nor_verdict(run: Path) -> None:
    drawn = run.parent / "read.jsonl"
    assert check("draw", run, drawn, "--arms", "gatt", "--num", "4").returncode == 0
    rows = [json.loads(line) for line in drawn.read_text(encoding="utf-8").splitlines()]
    assert (
        sorted(row["reply"].rpartition(" ")[0] for row in rows)
        == ["gatt fail"] * 4 + ["gatt pass"] * 4
    )
    assert {frozenset(row) for row in rows} == {
        frozenset(("name", "instruction", "user", "reply", "kept"))
    }
    assert check("count", run, drawn).stderr.startswith(
        f"{drawn}: 8 replies have no mark, such as "
    )
    # What has been read is not drawn over.
    before = drawn.read_bytes()
    assert check("draw", run, drawn).stderr == f"{drawn}: is there already: expected a new file\n"
    assert drawn.read_bytes() == before
    nowhere = check("draw", run.parent / "none", run.parent / "new.jsonl")
    assert nowhere.stderr.startswith(f"{run.parent}/none/samples.jsonl: ")
    assert nowhere.stderr.count("\n") == 1


def test_marks_are_set_against_the_verdicts(run: Path) -> None:
    drawn = run.parent / "read.jsonl"
    check("draw", run, drawn, "--arms", "gatt", "--num", "4")
    rows = [json.loads(line) for line in drawn.read_text(encoding="utf-8").splitlines()]
    passed = [row for row in rows if " pass " in row["reply"]]
    for row in rows:
        row["kept"] = row in passed[1:]
    drawn.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    said = check("count", run, drawn).stdout
    assert said.startswith(
        "gatt: of 4 that fail 0 were kept [0, 49] %\ngatt: of 4 that pass 1 were not kept [5, 70] %\n"
    )
    assert repr(passed[0]["reply"]) in said
    rows[0]["name"] = "0" * 12
    drawn.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert "not all of its 8 replies are decided ones of" in check("count", run, drawn).stderr
