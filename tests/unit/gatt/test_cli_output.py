"""What the command line does where its output is full, or has not all letters."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path

import pytest

from gatt.cli import main
from gatt.errors import DataError
from tests.support.runs.fake_commands import Commands, stderr_line


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Commands:
    return Commands(monkeypatch)


@pytest.mark.parametrize("num_letters", [10, 100_000])
def test_a_full_device_behind_standard_output_is_told_from_a_full_folder(
    commands: Commands,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    num_letters: int,
) -> None:
    commands.add("show", lambda _: sys.stdout.write("x" * num_letters + "\n") and 0)
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(["show"]) == 2
        assert stderr_line(capsys).startswith("gatt: standard output: no space left")
        # Nothing is left that would raise again at exit.
        full.flush()


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("ascii", b"Ren\\xe9 \\u2713 \\ud83d\n"),
        ("cp1252", b"Ren\xe9 \\u2713 \\ud83d\n"),
        ("UTF-8", "Ren\xe9 \u2713 ".encode() + b"\\ud83d\n"),
    ],
)
def test_text_that_the_encoding_of_the_output_lacks_is_escaped(
    commands: Commands, monkeypatch: pytest.MonkeyPatch, encoding: str, expected: bytes
) -> None:
    written = io.BytesIO()

    def show(_: argparse.Namespace) -> int:
        sys.stdout.write("Ren\xe9 \u2713 \ud83d\n")
        return 0

    commands.add("show", show)
    monkeypatch.setattr(
        sys, "stdout", io.TextIOWrapper(written, encoding, errors="strict", newline="\n")
    )
    assert main(["show"]) == 0
    assert written.getvalue() == expected


def test_an_error_is_one_line_where_standard_output_is_full_too(
    commands: Commands, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: argparse.Namespace) -> int:
        sys.stdout.write("half of it\n")
        raise DataError("x.jsonl line 3: broken")

    commands.add("show", broken)
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(["show"]) == 2
    assert stderr_line(capsys) == "gatt: x.jsonl line 3: broken"
