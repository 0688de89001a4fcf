"""`scripts/checks/verdicts_by_hand.py`: hand-read replies are counted against the verdicts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.runs.fake_samples import fake_results, sample, write_run
from tests.support.texts.doc_pages import ROOT


def check(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "scripts" / "checks" / "verdicts_by_hand.py", *map(str, words)],
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
    assert {row["kept"] for row in rows} == {None}
    # Not in blocks, as they are drawn.
    passed = [" pass " in row["reply"] for row in rows]
    assert passed not in (sorted(passed), sorted(passed, reverse=True))
    assert check("count", run, drawn).stderr == (
        f"verdicts_by_hand: {drawn} line 1: `kept` is null: expected true or false\n"
    )
    # What has been read is not drawn over.
    before = drawn.read_bytes()
    assert check("draw", run, drawn).stderr == (
        f"verdicts_by_hand: {drawn}: is there already: expected a new file\n"
    )
    assert drawn.read_bytes() == before


def test_replies_behind_a_change_are_not_drawn(run: Path) -> None:
    samples = [
        sample(dialogue="kept", reply="Here."),
        sample(dialogue="released", expected="released"),
        sample(dialogue="other", given="hobby.tennis", since_switch=0),
        sample(dialogue="probe", kind="probe"),
    ]
    write_run(run, samples, fake_results(samples))
    assert check("draw", run, run.parent / "read.jsonl").returncode == 0
    (line,) = (run.parent / "read.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["reply"] == "Here."


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("draw", "none", "new"), "none/samples.jsonl: cannot read"),
        (
            ("draw", "run", "new", "--arms", "gattt"),
            "no reply to read of gattt: expected some of base, g",
        ),
        (("draw", "run", "new", "--num", "0"), "--num 0: expected at least one reply"),
        (("count", "run", "none"), "none: No such file"),
        (("count", "run", "empty"), "empty: expected what `draw` wrote"),
        (("count", "run", "broken"), "broken line 2: broken JSON"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    run: Path, words: tuple[str, ...], said: str
) -> None:
    (run.parent / "empty").touch()
    (run.parent / "broken").write_text('{"name": "a", "kept": true}\n{"name"\n', encoding="utf-8")
    command, *names = words
    done = check(command, *(run.parent / n for n in names[:2]), *names[2:])
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (run.parent / "new").exists()


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
        "gatt: 50.0 % of 12 decided replies pass, and about 37.5 % are kept\n"
    )
    assert repr(passed[0]["reply"]) in said
    rows[0]["name"] = "0" * 12
    drawn.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert "not all of its 8 replies are decided ones of" in check("count", run, drawn).stderr
