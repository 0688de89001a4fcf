"""The command line: lazy commands, one-line errors, exit statuses, overrides, and output that is full."""

from __future__ import annotations

import argparse
import errno
import importlib.metadata
import io
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gatt.cli import CommandParser, main, split_overrides
from gatt.config.arguments import add_config_arguments
from gatt.config.load import keys_of, load_config
from gatt.errors import DataError, ToldByMainError
from tests.support.runs.fake_commands import Commands, Run, command_modules, stderr_line


@dataclass(frozen=True, kw_only=True)
class Inner:
    learning_rate: float = 1e-4
    """Peak learning rate."""


@dataclass(frozen=True, kw_only=True)
class Config:
    model: str
    """What to train."""
    train: Inner = field(default_factory=Inner)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Commands:
    return Commands(monkeypatch)


def raising(error: BaseException) -> Run:
    def run(args: argparse.Namespace) -> int:
        raise error

    return run


def with_config(parser: argparse.ArgumentParser) -> None:
    add_config_arguments(parser, Config, ("model",))
    parser.add_argument("file", nargs="?")


def test_a_command_gets_its_arguments_and_gives_the_status(commands: Commands) -> None:
    seen: list[argparse.Namespace] = []

    def run(args: argparse.Namespace) -> int:
        seen.append(args)
        return 3

    commands.add("show", run, lambda parser: parser.add_argument("--row", type=int))
    # Only the chosen command is imported.
    commands.add_entry("broken", "no_such_module_at_all")
    assert main(["show", "--row", "4"]) == 3
    assert seen[0].row == 4
    assert seen[0].overrides == []


def test_help_lists_every_command_in_the_order_of_the_work_even_one_that_cannot_be_imported(
    commands: Commands, capsys: pytest.CaptureFixture[str]
) -> None:
    commands.add_entry("broken", "no_such_module_at_all")
    for name in ("push", "show", "train", "synth"):
        commands.add(name)
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    names = re.findall(r"^  (\w+) +(?:What|\(command)", text, re.MULTILINE)
    assert names == ["synth", "train", "push", "broken", "show"]
    assert "\n  show    What show does\n" in text
    assert "\n  broken  (command 'broken' cannot be loaded" in text
    assert main([]) == 2
    capsys.readouterr()
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"gatt {importlib.metadata.version('ghost-attention')}\n"


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (["shwo"], ("'shwo'", "'show'?")),
        (["zzz"], ("'zzz'", "known: show")),
        (["show", "--rwo=1"], ("'--rwo=1'", "'--row'?")),
        (["show", "zzz"], ("'zzz'", "`gatt show --help`")),
        (["show", "a.b=1"], ("'a.b=1'", "`gatt show --help`")),
        (["show", "--row", "x"], ("--row", "'x'", "`gatt show --help`")),
    ],
)
def test_mistakes_in_the_words_are_one_line(commands, capsys, words, facts) -> None:
    def arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--row", type=int)
        parser.add_argument("--model")

    commands.add("show", add_arguments=arguments)
    assert main(words) == 2
    line = stderr_line(capsys)
    assert all(fact in line for fact in facts)


@pytest.mark.parametrize(
    "words", [["--train.learning-rate", "1e-3", "x.jsonl"], ["x.jsonl", "train.learning_rate=1e-3"]]
)
def test_overrides_reach_the_configuration_and_spare_the_positional(
    commands: Commands, tmp_path: Path, words: list[str]
) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("model: m\n", encoding="utf-8")
    seen: list[tuple[str, Config]] = []

    def run(args: argparse.Namespace) -> int:
        seen.append((args.file, load_config(Config, args.config, args.overrides)))
        return 0

    commands.add("train", run, with_config, takes_overrides=True)
    assert main(["train", "--config", str(path), *words]) == 0
    assert seen == [("x.jsonl", Config(model="m", train=Inner(learning_rate=1e-3)))]


def test_options_of_sub_parsers_are_no_overrides() -> None:
    parser = CommandParser(prog="gatt catalog")
    ask = parser.add_subparsers().add_parser("ask")
    ask.add_argument("--model")
    words = ["ask", "--model", "m", "--n.a", "1", "--flag", "--b=2", "--", "-x"]
    assert split_overrides(parser, words) == (
        ["ask", "--model", "m", "--", "-x"],
        ["--n.a=1", "--flag", "--b=2"],
    )


def test_options_may_be_spelled_with_either_mark(commands: Commands) -> None:
    seen: list[str] = []
    commands.add(
        "train",
        lambda args: seen.append(args.max_turns) or 0,
        lambda parser: parser.add_argument("--max-turns"),
    )
    assert main(["train", "--max_turns=3"]) == main(["train", "--max-turns", "3"]) == 0
    assert seen == ["3", "3"]


def test_help_shows_the_keys_that_matter_first_and_help_all_every_key(commands, capsys) -> None:
    commands.add("train", raising(AssertionError()), with_config, takes_overrides=True)
    assert main(["train", "--help"]) == 0
    text = capsys.readouterr().out
    assert text.endswith(
        "\n  model: str  [required]\n"
        "      What to train.\n\n"
        "`gatt train --help-all` shows all 2 keys: its own, train.\n"
    )
    assert main(["train", "--help_all"]) == 0
    assert capsys.readouterr().out.endswith(
        "\n  model: str  [required]\n"
        "      What to train.\n\n"
        "train:\n"
        "  train.learning_rate: float  [default: 0.0001]\n"
        "      Peak learning rate.\n"
    )


def test_every_command_explains_itself_and_has_at_most_ten_keys_that_matter_first(capsys) -> None:
    for name, module in command_modules().items():
        assert main([*name.split(), "--help"]) == 0
        text = capsys.readouterr().out
        assert len(re.findall(r"^  [\w.]+: .*\]$", text, re.MULTILINE)) <= 12, name
        if hasattr(module, "FIRST"):
            assert f"`gatt {name} --help-all`" in text
            assert set(module.FIRST) < set(keys_of(module.CONFIG))
            assert len(module.FIRST) <= 10


@pytest.mark.parametrize(
    ("error", "status", "facts"),
    [
        (DataError("x.jsonl line 3:\n  broken"), 2, "gatt: x.jsonl line 3: broken"),
        (DataError("a \x1b[2J\u202eb\ud800"), 2, "gatt: a \\x1b[2J\\u202eb\\ud800"),
        (KeyboardInterrupt(), 130, "gatt: interrupted"),
        (OSError(errno.ENOSPC, "Full", "runs/a.bin"), 2, "gatt: runs/a.bin: no space left"),
        (PermissionError(errno.EACCES, "Denied", "closed/a"), 2, "gatt: closed/a: Denied"),
        (OSError(errno.ENOSPC, "Full"), 2, "gatt: the output folder: no space left"),
    ],
)
def test_errors_of_a_run_are_one_line_with_their_status(
    commands: Commands, capsys: pytest.CaptureFixture[str], error: BaseException, status: int, facts: str
) -> None:  # fmt: skip
    commands.add("show", raising(error))
    assert main(["show"]) == status
    assert stderr_line(capsys).startswith(facts)


def test_what_the_main_process_reports_is_not_said_again(commands, capsys) -> None:
    commands.add("run", raising(ToldByMainError("out: is in use")))
    assert main(["run"]) == 2
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("error", [ValueError("bug"), OSError(errno.EIO, "I/O")])
def test_bugs_propagate(commands: Commands, error: Exception) -> None:
    commands.add("show", raising(error))
    with pytest.raises(type(error)):
        main(["show"])


def test_debug_shows_the_traceback_too(commands, capsys) -> None:
    commands.add("show", raising(DataError("wrong")))
    for words in (["--debug", "show"], ["show", "--debug"]):
        assert main(words) == 2
        text = capsys.readouterr().err
        assert "Traceback" in text
        assert text.endswith("gatt: wrong\n")


def test_the_environment_is_set_before_a_command_and_only_where_unset(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HUB_DISABLE_TELEMETRY", raising=False)
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    seen: list[str | None] = []
    names = ("HF_HUB_DISABLE_TELEMETRY", "TOKENIZERS_PARALLELISM")
    commands.add("show", lambda _: seen.extend(map(os.environ.get, names)) or 0)
    assert main(["show"]) == 0
    assert seen == ["1", "true"]


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
