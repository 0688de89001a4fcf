from __future__ import annotations

from pathlib import Path

import pytest

from gatt.cli import main
from tests.support.runs.fake_samples import fake_results, sample, write_run


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    samples = [sample(arm=arm, turn=t) for arm in ("base", "gatt") for t in (1, 2)]
    for name in ("one", "two"):
        write_run(tmp_path / name, samples, fake_results(samples))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_several_runs_and_the_tables(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["report", "one", "later=two", "--output", "sub/both.html", "--markdown", "card.md"])
        == 0
    )
    assert "later · GAtt" in (runs / "sub" / "both.html").read_text(encoding="utf-8")
    card = (runs / "card.md").read_text(encoding="utf-8")
    assert card.startswith(
        "At turn 2 one · GAtt keeps its instruction in 1 of 1 replies; later · GAtt in 1 of 1"
    )
    assert "| one · GAtt |" in card
    capsys.readouterr()
    assert main(["report", "one", "--chart", "pictures/curve.png"]) == 0
    page, picture = capsys.readouterr().out.splitlines()
    assert page.startswith("one/report.html (0.")
    assert (runs / picture).read_bytes().startswith(b"\x89PNG")
    # The results alone give a page without transcripts.
    (runs / "one" / "samples.jsonl").unlink()
    assert main(["report", "one", "two", "--output", "page.html"]) == 0
    assert 'id="cases"' not in (runs / "page.html").read_text(encoding="utf-8")


def test_the_arms_are_compared_with_another_one(runs, capsys) -> None:
    arms = {"base": "pass", "gatt": "pass", "other": "fail"}
    samples = [sample(arm=a, turn=t, status=s) for a, s in arms.items() for t in (1, 2)]
    for folder in (runs / "one", runs / "two"):
        write_run(folder, samples, fake_results(samples))
    for runs_named, baseline in ((["one"], "other"), (["one", "later=two"], "later · other")):
        words = ["report", *runs_named, "--baseline", baseline, "--output", "page.html"]
        assert main([*words, "--markdown", "tables.md"]) == 0
        table = (runs / "tables.md").read_text(encoding="utf-8").partition("Paired differences")[2]
        rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")]
        assert {row[1] for row in rows} == {"less", "---", baseline}
        assert "+100" in table
    capsys.readouterr()
    assert main(["report", "one", "--baseline", "none", "--output", "page.html"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("gatt: --baseline none: ")
    assert said.endswith(": expected one of base, gatt, other\n")


@pytest.mark.parametrize("flag", ["--output", "--markdown", "--chart"])
def test_a_run_s_own_files_are_written_over_by_nothing(runs: Path, capsys, flag) -> None:
    before = (runs / "two" / "samples.jsonl").read_bytes()
    (runs / "link.png").symlink_to(runs / "two" / "samples.jsonl")
    for target in ("two/samples.jsonl", "one/../two/results.json", "link.png"):
        assert main(["report", "one", "two", flag, target]) == 2
        assert f"{target}: a file of the run itself" in capsys.readouterr().err
    assert (runs / "two" / "samples.jsonl").read_bytes() == before
    assert main(["report", "one", "--output", "x.html", "--markdown", "./x.html"]) == 2
    assert "x.html: a file of the run itself, or named twice" in capsys.readouterr().err


def test_a_run_that_no_chart_shows_is_told(runs: Path, caplog) -> None:
    own = [sample(arm="gatt", turn=t, history="own") for t in (1, 2)]
    write_run(runs / "own", own, fake_results(own))
    assert main(["report", "one", "two", "--output", "same.html"]) == 0
    assert "has no rates" not in caplog.text
    assert main(["report", "one", "own", "--output", "other.html"]) == 0
    said = "own has no rates of seen instructions, people’s history, "
    assert said in caplog.text
    assert said in (runs / "other.html").read_text(encoding="utf-8")
