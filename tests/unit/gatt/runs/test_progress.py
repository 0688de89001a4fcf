"""Progress: lines now and then in a log, a bar on a terminal, nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gatt.runs.progress import LOG_SECONDS, progress_bar

Clock = Callable[[float], None]


@pytest.fixture
def pass_seconds(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A log instead of a terminal, and a clock that stands until it is moved."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    now = [1000.0]
    monkeypatch.setattr("gatt.runs.progress.time.monotonic", lambda: now[0])

    def move(seconds: float) -> None:
        now[0] += seconds

    return move


def test_a_line_comes_after_a_while_and_at_the_end(
    pass_seconds: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress_bar("sampling", 10, unit="samples") as bar:
        assert capsys.readouterr().err == ""
        pass_seconds(LOG_SECONDS - 1)
        bar.advance(1)
        assert capsys.readouterr().err == ""
        pass_seconds(1)
        bar.advance(2)
        # 3 in 15 s, so the 7 that are left take 35 s.
        assert capsys.readouterr().err == "sampling: 3/10 samples, 15 s, about 35 s left\n"
        pass_seconds(LOG_SECONDS - 1)
        bar.advance(1)
        assert capsys.readouterr().err == ""
        pass_seconds(1)
        bar.advance(6)
        assert capsys.readouterr().err == "sampling: 10/10 samples, 30 s, about 0 s left\n"
    assert capsys.readouterr() == ("", "")


def test_what_was_done_before_makes_the_rest_no_faster(
    pass_seconds: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress_bar("eval", 100, unit="replies", done=80) as bar:
        pass_seconds(20)
        bar.advance(4)
        # 4 in 20 s, so the 16 that are left take 80 s; counting the 80 would give 4 s.
        assert capsys.readouterr().err == "eval: 84/100 replies, 20 s, about 80 s left\n"


def test_work_that_takes_no_time_divides_by_nothing(
    pass_seconds: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress_bar("eval", 2, unit="replies") as bar:
        bar.advance(2)
    assert capsys.readouterr().err == "eval: 2/2 replies, 0 s, about 0 s left\n"


def test_nothing_done_after_a_while_knows_no_end(
    pass_seconds: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress_bar("eval", 2, unit="replies") as bar:
        pass_seconds(LOG_SECONDS)
        bar.advance(0)
    assert capsys.readouterr().err == "eval: 0/2 replies, 15 s, time left unknown\n"


def test_an_error_of_the_work_passes_through(
    pass_seconds: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        progress_bar("eval", 2, unit="replies") as bar,
    ):
        bar.advance(1 // 0)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_bar_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar("sampling", 10, unit="samples", done=3) as bar:
        bar.advance(2)
    out, err = capsys.readouterr()
    assert out == ""
    assert "sampling" in err
    assert "3/10" in err
    assert "5/10" in err
    assert "samples" in err
    assert "about" not in err
