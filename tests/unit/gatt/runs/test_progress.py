"""Progress: lines now and then in a log, a bar on a terminal, nothing else."""

from __future__ import annotations

import pytest

from gatt.runs.progress import LOG_SECONDS, progress_bar


@pytest.mark.parametrize(
    ("steps", "done", "expected"),
    [
        # 3 in 15 s, so the 7 that are left take 35 s.
        (
            [(LOG_SECONDS - 1, 1), (1, 2), (LOG_SECONDS - 1, 1), (1, 6)], 0,
            ["", "3/10 units, 15 s, about 35 s left", "", "10/10 units, 30 s, about 0 s left"],
        ),
        # 2 in 20 s, so the 2 that are left take 20 s: the 6 that were done before do not count.
        ([(20, 2)], 6, ["8/10 units, 20 s, about 20 s left"]),
    ],
)  # fmt: skip
def test_a_log_gets_a_line_after_a_while_and_at_the_end(
    monkeypatch, capsys, steps, done: int, expected: list[str]
) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    now = [1000.0]
    monkeypatch.setattr("gatt.runs.progress.time.monotonic", lambda: now[0])
    with progress_bar("sampling", 10, unit="units", done=done) as bar:
        for (seconds, num), line in zip(steps, expected, strict=True):
            now[0] += seconds
            bar.advance(num)
            assert capsys.readouterr() == ("", f"sampling: {line}\n" if line else "")
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_bar_on_stderr(monkeypatch, capsys) -> None:
    for name, value in {"FORCE_COLOR": "1", "COLUMNS": "100", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    with progress_bar("sampling", 10, unit="samples", done=3) as bar:
        bar.advance(2)
    out, err = capsys.readouterr()
    assert out == ""
    assert [fact for fact in ("sampling", "3/10", "5/10", "samples") if fact not in err] == []
