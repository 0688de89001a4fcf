"""`gatt doctor`: a report without secrets, and a status that says whether something is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gatt.cli import main
from gatt.commands.doctor.command import EXIT_PROBLEM, EXTRAS, without_home
from gatt.train import self_check


def test_the_report_names_what_is_there_and_no_place_of_the_user(monkeypatch, capsys) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret0123456789")
    monkeypatch.setenv("HOME", str(Path.cwd()))
    monkeypatch.setenv("GATT_CACHE", str(Path.cwd() / "models"))
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    for what in ("torch 2", "GPUs: ", "attention split on cpu in float32: as plain rows"):
        assert what in text
    assert all(f"extra {module}: " in text for module in EXTRAS)
    assert "server.start vllm: not here" in text
    assert "hf_secret" not in text
    assert str(Path.cwd()) not in text


@pytest.mark.parametrize("error", [None, RuntimeError("no kernel image in /home/anna/x")])
def test_a_wrong_attention_is_said_and_sets_the_status(monkeypatch, capsys, error) -> None:
    def check(model: object, **_: object) -> list[self_check.Finding]:
        if error is not None:
            raise error
        return [
            self_check.Finding(
                backend="flex", device="cpu", dtype="float32", loss_error=0.5, gradient_error=0.5,
                problem="loss off by 0.5",
            )
        ]  # fmt: skip

    monkeypatch.setattr(self_check, "check_attention", check)
    assert main(["doctor"]) == EXIT_PROBLEM
    text = capsys.readouterr().out
    assert re.search("FAILED: RuntimeError" if error else "flex .*WRONG: loss off by 0.5", text)
    assert "anna" not in text


def test_homes_of_every_system_are_left_out() -> None:
    text = "/home/anna/x, /Users/bert/y, C:\\Users\\carl\\z"
    assert not re.search("anna|bert|carl", without_home(text))
