"""Kinds of files of the user's own: found, judged, sent to workers, refused in one line."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import pytest

from data_synth.catalog_check import check_catalog
from eval import EvalConfig, evaluate
from eval.records.suite import suite_values
from gatt.data.catalog.choice import InstructionChoice
from gatt.data.catalog.read import load_catalog
from gatt.errors import ConfigError, GattError, StoreError, VerifierError
from gatt.generation.cluster.pool import Holder
from gatt.generation.scripted import ScriptedEngine
from gatt.runs.provenance import versions
from gatt.verifiers import build, own_kinds, own_versions
from gatt.verifiers.own_kinds import known_files, read_kind_file
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.table import _build, use_kind_files

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "verifiers.md"
LAST = VerifierSpec("last_letter", {"letter": "n"})


def blocks() -> dict[str, str]:
    """Return the example of the reference page: file name to text."""
    found = re.findall(r'```\w+ title="my_catalog/([\w.]+)"\n(.*?)```', PAGE.read_text(), re.DOTALL)
    return dict(found)


@pytest.fixture(autouse=True)
def _no_kinds_of_others(monkeypatch: pytest.MonkeyPatch):
    forget(monkeypatch)
    # The kinds that are shipped have tests of their own.
    monkeypatch.setattr("data_synth.catalog_check.all_kinds", own_kinds.own_kinds)
    yield
    _build.cache_clear()


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this process know no own kind, as a new worker does."""
    monkeypatch.setattr(own_kinds, "_of_files", {})
    _build.cache_clear()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The example of the reference page as a folder."""
    for name, text in blocks().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def status(reply: str) -> str:
    return build(LAST).check(reply).status


def test_the_example_of_the_page_is_a_sound_catalogue(folder: Path) -> None:
    for place in (folder, folder / "sounds.yaml"):
        assert check_catalog(place)[1] == []
    assert load_catalog(folder).entry("sound.n").verifiers == (LAST,)
    assert (status("It rains in the tin."), status("It rains.")) == ("pass", "fail")


def test_an_edited_file_judges_anew_and_is_another_run(folder: Path) -> None:
    before = load_catalog(folder).own_kinds
    assert list(before) == ["last_letter"]
    assert load_catalog(folder).own_kinds == before
    path = folder / "rhymes.py"
    path.write_text(path.read_text().replace("letters[-1] ==", "letters[0] =="), encoding="utf-8")
    assert load_catalog(folder).own_kinds != before
    assert status("No, it rains.") == "pass"
    inside = VerifierSpec(
        "not", {"of": {"kind": "all", "of": [{"kind": "last_letter", "letter": "n"}]}}
    )
    assert list(own_versions([inside, VerifierSpec("haiku")])) == ["last_letter"]
    assert load_catalog().own_kinds == {}


def test_a_worker_without_the_file_judges_by_its_text(folder: Path, monkeypatch) -> None:
    load_catalog(folder)
    sent = pickle.dumps((versions(), known_files()))
    (folder / "rhymes.py").unlink()
    forget(monkeypatch)
    with pytest.raises(VerifierError, match="last_letter"):
        build(LAST)
    holder = Holder(lambda: status, *pickle.loads(sent))
    holder.start()
    assert holder.work("It rains in the tin.") == "pass"


def test_an_evaluation_of_cases_knows_the_kinds_of_the_catalogue_that_it_names(
    folder: Path,
) -> None:
    rule = {"kind": "last_letter", "letter": "n"}
    instruction = {"text": "End in n.", "family": "sound", "verifiers": [rule]}
    case = {"id": "n", "user_turns": ["Hello!", "And then?"], "instruction": instruction}
    (folder / "cases.jsonl").write_text(json.dumps(case), encoding="utf-8")
    config = EvalConfig(
        output_dir=folder / "results",
        cases=folder / "cases.jsonl",
        instructions=InstructionChoice(catalog=(str(folder / "sounds.yaml"),), num_entries=(1.0,)),
        arms=("base",),
        turns=(1, 2),
        probe_turns=(),
        histories=("own",),
    )

    def engine() -> ScriptedEngine:
        return ScriptedEngine(lambda request: "Rain." if len(request.messages) < 4 else "Snow.")

    result = evaluate(config, engine=engine).results
    rates = {p["turn"]: p["rate"] for p in result["curves"] if p["metric"] == "keeps"}
    assert rates == {1: 1.0, 2: 0.0}
    assert result["run"]["verifiers"]["last_letter"].startswith("1 (")
    path = folder / "rhymes.py"
    path.write_text(path.read_text() + "# Edited.\n", encoding="utf-8")
    with pytest.raises(StoreError, match="own_kinds"):
        evaluate(config, engine=engine)


SOUND = blocks()["rhymes.py"]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("x = 1", ["no verifier"]),
        ("def f(:", ["SyntaxError", "line 1"]),
        ("import a_module_that_is_missing", ["a_module_that_is_missing"]),
        (SOUND.replace("(Rule)", ""), ["LastLetter", "gatt.verifiers.rule.Rule"]),
        (SOUND.replace("def decide", "def rate"), ["LastLetter", "decide"]),
        (SOUND.replace('"last_letter"', '"Last letter"'), ["'Last letter'"]),
        (SOUND.replace('"last_letter"', '"words"'), ["'words'", "shipped"]),
        (SOUND.replace("version = 1", "version = '1'"), ["'1'", "version"]),
        (SOUND.replace("examples = (", "examples = ()\n    more = ("), ["examples"]),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line(folder: Path, text: str, facts: list[str]) -> None:
    (folder / "rhymes.py").write_text(text, encoding="utf-8")
    with pytest.raises(GattError) as found:
        load_catalog(folder)
    message = str(found.value)
    assert [fact for fact in ["sounds.yaml", "rhymes.py", *facts] if fact not in message] == []
    assert "\n" not in message
    assert len(check_catalog(folder)[1]) == 1


@pytest.mark.parametrize("named", ["[missing.py]", "[sounds.yaml]", "rhymes.py", "[1]"])
def test_what_is_no_python_file_is_refused(folder: Path, named: str) -> None:
    path = folder / "sounds.yaml"
    path.write_text(path.read_text().replace("[rhymes.py]", named), encoding="utf-8")
    with pytest.raises(GattError, match=re.escape(named.strip("[]"))):
        load_catalog(folder)


def test_two_files_cannot_share_a_kind_but_a_copy_is_the_same(folder: Path) -> None:
    load_catalog(folder)
    copy = folder / "copy.py"
    copy.write_text(SOUND, encoding="utf-8")
    use_kind_files([read_kind_file(copy)])
    copy.write_text(SOUND + "\n", encoding="utf-8")
    with pytest.raises(VerifierError) as found:
        use_kind_files([read_kind_file(copy)])
    assert str(folder / "rhymes.py") in str(found.value)
    assert "'last_letter'" in str(found.value)


def test_no_suite_can_have_a_file_run(folder: Path) -> None:
    suite = folder.parent / "suite.yaml"
    suite.write_text(f"instructions: {{catalog: [{folder.name}]}}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"sounds\.yaml"):
        suite_values(str(suite))
    assert known_files() == ()


def test_what_a_file_raises_or_returns_is_one_line(folder: Path) -> None:
    path = folder / "rhymes.py"
    path.write_text(SOUND.replace("letters[-1] ==", "1 / 0 =="), encoding="utf-8")
    load_catalog(folder)
    with pytest.raises(VerifierError) as found:
        status("It rains.")
    assert "ZeroDivisionError" in str(found.value)
    assert str(path) in str(found.value)
    assert len(check_catalog(folder)[1]) == 2
    path.write_text(SOUND.replace("return self.passed", "return str"), encoding="utf-8")
    load_catalog(folder)
    with pytest.raises(VerifierError, match="returns str"):
        status("It rains in the tin.")
