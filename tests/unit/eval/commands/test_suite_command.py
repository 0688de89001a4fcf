import json

import pytest

from eval.commands import suite as command
from eval.records import suite
from gatt.cli import CommandParser
from gatt.errors import ConfigError, DataError, StoreError

PROMPTS = "a_system_prompts = [('SHOUT.', 'Who are you?', str.isupper)]"


def run(*words):
    parser = CommandParser(prog="gatt suite")
    command.add_arguments(parser)
    return command.run(parser.parse_args([str(word) for word in words]))


@pytest.fixture
def copy(tmp_path):
    (tmp_path / "hundred_system_prompts.py").write_text(PROMPTS, encoding="utf-8")
    (tmp_path / "utils.py").write_text("topics = ['Tea?', 'Milk?', 'Rain?']", encoding="utf-8")
    return tmp_path


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    folder = tmp_path / "suites"
    folder.mkdir()
    (folder / "table30.yaml").write_text("about: Table 30\nturns: [1, 2]\n", encoding="utf-8")
    (folder / "plain.yaml").write_text("num_plain: 3\n", encoding="utf-8")
    monkeypatch.setattr(suite, "SUITES", folder)
    return folder


def test_an_import_writes_cases_and_counts_what_became_of_them(copy, tmp_path, capsys):
    output = tmp_path / "out" / "cases.jsonl"
    assert run("import", "persona_drift", copy, "--output", output, "--num-turns", 2) == 0
    (line,) = output.read_text(encoding="utf-8").splitlines()
    assert len(json.loads(line)["user_turns"]) == 2
    assert capsys.readouterr().out == (f"{output}: 1 cases, 2 turns\nconstraints: 1 by rules\n")


def test_an_output_that_exists_is_left_alone(copy, tmp_path):
    output = tmp_path / "cases.jsonl"
    output.write_text("mine", encoding="utf-8")
    with pytest.raises(StoreError, match=r"exists already: give a new file to --output"):
        run("import", "persona_drift", copy, "--output", output)
    assert output.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("sysbanch", "."),
            r"unknown benchmark 'sysbanch', did you mean 'sysbench'\? \(known: persona_drift, sys",
        ),
        (("sysbench", "nowhere"), "nowhere: no such file or folder: expected a local copy of sysb"),
        (("sysbench", ".", "--num-turns", 3, "--seed", 1), "--num-turns, --seed: sysbench is"),
    ],
)
def test_words_that_do_not_fit_are_one_line(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=message):
        run("import", *words, "--output", "cases.jsonl")
    assert not (tmp_path / "cases.jsonl").exists()


def test_list_names_the_suites_with_what_they_are_about(shipped, capsys):
    assert run("list") == 0
    out = capsys.readouterr().out
    assert "table30" in out
    assert "Table 30" in out
    assert "plain" in out


@pytest.mark.parametrize("form", ["name", "file"])
def test_show_prints_a_suite(shipped, capsys, form):
    assert run("show", "table30" if form == "name" else shipped / "table30.yaml") == 0
    assert capsys.readouterr().out == "about: Table 30\nturns:\n- 1\n- 2\n"


def test_show_of_anything_else_is_one_line(shipped, tmp_path):
    for name in ("cases.jsonl", "cases.jsonl.gz"):
        (tmp_path / name).write_bytes(b"\x1f\x8b")
        with pytest.raises(ConfigError, match="a file of cases: expected a suite"):
            run("show", tmp_path / name)
    (tmp_path / "twice.yaml").write_text("about: a\nabout: b\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"twice\.yaml line 2.*'about'"):
        run("show", tmp_path / "twice.yaml")
