from __future__ import annotations

from pathlib import Path

import pytest

from gatt.cli import main
from tests.support.fake_samples import fake_results, sample, write_run


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    samples = [sample(arm=arm, turn=t) for arm in ("base", "gatt") for t in (1, 2)]
    for name in ("one", "two"):
        write_run(tmp_path / name, samples, fake_results(samples))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_gets_its_report_anew_beside_its_files(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "one"]) == 0
    page = (runs / "one" / "report.html").read_text(encoding="utf-8")
    assert 'id="chunk-0"' in page
    assert capsys.readouterr().out.startswith("one/report.html (0.")


def test_several_runs_and_the_tables(runs: Path) -> None:
    assert (
        main(["report", "one", "later=two", "--output", "sub/both.html", "--markdown", "card.md"])
        == 0
    )
    assert "later · GAtt" in (runs / "sub" / "both.html").read_text(encoding="utf-8")
    card = (runs / "card.md").read_text(encoding="utf-8")
    assert card.startswith(
        "GAtt keeps 100 % [21, 100] in one and 100 % [21, 100] in later at turn 2"
    )
    assert "| one · GAtt |" in card
    assert main(["report", "one", "two"]) == 0
    assert (runs / "report.html").is_file()


def test_the_curve_comes_as_a_picture(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "one", "--chart", "pictures/curve.png"]) == 0
    assert (runs / "pictures" / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out.splitlines()[-1] == "pictures/curve.png"
    assert main(["report", "one", "--chart", "curve.jpeg"]) == 2
    assert "curve.jpeg: expected a name that ends in one of" in capsys.readouterr().err


def test_the_replies_can_be_left_out(runs: Path) -> None:
    (runs / "one" / "samples.jsonl").unlink()
    assert main(["report", "one"]) == 2
    assert main(["report", "one", "--no-transcripts"]) == 0
    assert "chunk-0" not in (runs / "one" / "report.html").read_text(encoding="utf-8")


def test_an_error_is_one_line(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "none"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("gatt: none/results.json: no such folder: expected the output_dir")
    assert said.count("\n") == 1
