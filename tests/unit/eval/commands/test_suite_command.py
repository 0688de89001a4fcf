import pytest

from eval.records import suite
from gatt.cli import main


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    folder = tmp_path / "suites"
    folder.mkdir()
    (folder / "table30.yaml").write_text("about: Table 30\nturns: [1, 2]\n", encoding="utf-8")
    (folder / "plain.yaml").write_text("num_plain: 3\n", encoding="utf-8")
    monkeypatch.setattr(suite, "SUITES", folder)
    return folder


def test_suites_are_listed_and_shown(shipped, capsys):
    assert main(["suite", "list"]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("table30", "Table 30", "plain"))
    for suite_of in ("table30", str(shipped / "table30.yaml")):
        assert main(["suite", "show", suite_of]) == 0
        assert capsys.readouterr().out == "about: Table 30\nturns:\n- 1\n- 2\n"


@pytest.mark.parametrize("name", ["cases.jsonl", "cases.jsonl.gz"])
def test_a_file_of_cases_is_no_suite(tmp_path, capsys, name):
    (tmp_path / name).write_bytes(b"\x1f\x8b")
    assert main(["suite", "show", str(tmp_path / name)]) == 2
    assert "a file of cases: expected a suite" in capsys.readouterr().err
