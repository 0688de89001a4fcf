"""`scripts/research/checks/verdicts_by_hand.py`: hand-read replies are counted against the verdicts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from checks.verdicts_by_hand import main

from tests.support.runs.fake_samples import fake_results, sample, write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    samples = [
        sample(arm=arm, dialogue=f"{status} {n}", status=status, reply=f"{arm} {status} {n}.")
        for arm in ("gatt", "base")
        for status in ("pass", "fail", "undecided")
        for n in range(6)
    ]
    samples += [
        sample(dialogue="released", arm="gatt", expected="released"),
        sample(dialogue="other", arm="gatt", given="hobby.tennis", since_switch=0),
        sample(dialogue="probe", arm="gatt", kind="probe"),
    ]
    write_run(tmp_path / "run", samples, fake_results(samples))
    return tmp_path / "run"


def check(monkeypatch: pytest.MonkeyPatch, *words: object) -> object:
    """Return what the script ends with."""
    monkeypatch.setattr(sys, "argv", ["verdicts_by_hand", *map(str, words)])
    try:
        return main()
    except SystemExit as end:
        return end.code


def rows_of(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_what_is_drawn_is_blind_and_its_marks_are_set_against_the_verdicts(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = run.parent / "read.jsonl"
    assert check(monkeypatch, "draw", run, drawn, "--arms", "gatt", "--num", "4") is None
    rows = rows_of(drawn)
    said = [str(row["reply"]).split()[1] for row in rows]
    # Neither arm nor verdict stands there, and they are not in blocks, as they are drawn.
    assert sorted(said) == ["fail"] * 4 + ["pass"] * 4
    assert said not in (sorted(said), sorted(said, reverse=True))
    assert {tuple(row) for row in rows} == {("name", "instruction", "user", "reply", "kept")}
    assert check(monkeypatch, "count", run, drawn) == (
        f"verdicts_by_hand: {drawn} line 1: `kept` is null: expected true or false"
    )
    # What has been read is not drawn over.
    assert "is there already" in str(check(monkeypatch, "draw", run, drawn))
    assert rows_of(drawn) == rows

    passed = [row for row in rows if " pass " in str(row["reply"])]
    for row in rows:
        row["kept"] = row in passed[1:]
    drawn.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    capsys.readouterr()
    assert check(monkeypatch, "count", run, drawn) is None
    out = capsys.readouterr().out
    assert out.startswith(
        "gatt: of 4 that fail 0 were kept [0, 49] %\ngatt: of 4 that pass 1 were not kept [5, 70] %\n"
        "gatt: 50.0 % of 12 decided replies pass, and about 37.5 % are kept\n"
    )
    assert repr(passed[0]["reply"]) in out
