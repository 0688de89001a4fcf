import copy
from dataclasses import replace

import pytest
import yaml

from data_synth.catalog import check as catalog_check
from data_synth.catalog.check import check_catalog, check_entry, check_verifier, count_by_split
from data_synth.commands import catalog as command
from gatt.cli import CommandParser
from gatt.data.catalog.read import parse_family
from gatt.errors import CatalogError, StoreError
from gatt.verifiers import Examples, Verdict
from gatt.verifiers.spec import VerifierSpec

TENNIS = {
    "id": "hobby.tennis",
    "value": "tennis",
    "verbose": ["You enjoy tennis and bring it up in every answer."],
    "terse": "Hobby: tennis.",
    "verifiers": [{"kind": "terms", "any_of": ["tennis", "racket"]}],
    "probes": [
        {"question": "What do you like?", "verifiers": [{"kind": "terms", "any_of": ["tennis"]}]}
    ],
    "good": ["I played tennis with my neighbor this morning."],
    "bad": ["I like tea very much."],
}


def other(**changes):
    chess = {
        "id": "hobby.chess",
        "value": "chess",
        "verbose": ["You enjoy chess and bring it up in every answer."],
        "terse": "Hobby: chess.",
        "verifiers": [{"kind": "terms", "any_of": ["chess"]}],
        "good": ["I lost at chess again last night."],
    }
    return {**copy.deepcopy(TENNIS), **chess, **changes}


def write(folder, *entries, **head):
    body = {"family": "hobby", "entries": list(entries), **head}
    (folder / "hobbies.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def few_kinds(monkeypatch):
    # The examples of the other kinds are run by the tests of those kinds.
    monkeypatch.setattr(catalog_check, "all_kinds", lambda: ("terms",))


def problems(folder):
    return [str(problem) for problem in check_catalog(folder).problems]


def test_a_sound_folder_has_no_problem(tmp_path):
    report = check_catalog(write(tmp_path, TENNIS, other()))
    assert report.problems == ()
    assert [e.id for e in report.entries] == ["hobby.tennis", "hobby.chess"]
    assert dict(count_by_split(report.entries)["hobby"]) == {"train": 2}
    assert report.num_replies > 100


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"good": ["I like tea."]}, "good reply 'I like tea.' does not pass: terms says fail"),
        ({"bad": ["I like chess."]}, "bad reply 'I like chess.' passes: terms says pass"),
        ({"good": []}, "no 'good' reply: expected at least one"),
        ({"bad": []}, "no 'bad' reply: expected at least one"),
        ({"terse": "Hobby: TENNIS."}, "wording 'Hobby: TENNIS.' already stands in hobby.tennis"),
        ({"value": "Tennis"}, "value 'Tennis' already stands in hobby.tennis"),
        ({"verbose": ["Play.", "play."]}, "wording 'Play.' already stands in hobby.chess"),
        ({"verbose": ["You enjoy chess."]}, "talk about the instruction 'You enjoy chess.' passes"),
        ({"verifers": []}, "unknown key 'verifers', did you mean 'verifiers'?"),
        ({"verifiers": [{"kind": "term"}]}, "unknown verifier kind 'term', did you mean 'terms'?"),
        ({"hint": "{town}"}, "placeholder '{town}' is no fact"),
    ],
)
def test_a_seeded_fault_is_found_and_placed(tmp_path, changes, expected):
    found = problems(write(tmp_path, TENNIS, other(**changes)))
    assert all(line.startswith("hobbies.yaml hobby.chess: ") for line in found)
    assert any(expected in line for line in found)


def test_every_broken_entry_of_a_file_is_reported(tmp_path):
    found = problems(write(tmp_path, other(split="tset"), TENNIS, other(id="chess")))
    assert len(found) == 2
    assert "unknown split 'tset'" in found[0]
    assert "expected an id that starts with 'hobby.'" in found[1]


def test_a_broken_head_is_reported_once(tmp_path):
    found = problems(write(tmp_path, TENNIS, other(), abuot="x"))
    assert len(found) == 1
    assert "unknown key 'abuot', did you mean 'about'?" in found[0]


def test_broken_yaml_missing_entries_and_double_ids_are_reported(tmp_path):
    (tmp_path / "broken.yaml").write_text("entries:\n  - a: [", encoding="utf-8")
    (tmp_path / "latin.yaml").write_bytes(b"about: \xe9")
    write(tmp_path)
    found = problems(tmp_path)
    [broken] = [line for line in found if line.startswith("broken.yaml file: broken YAML")]
    # What was found and where, which libyaml alone does not say.
    assert "but found '<stream end>'" in broken
    assert "line 2, column 9" in broken
    assert any(line.startswith("latin.yaml file: no UTF-8 text at byte 7") for line in found)
    assert any("no 'entries': expected a list" in line for line in found)
    (tmp_path / "broken.yaml").unlink()
    (tmp_path / "latin.yaml").unlink()
    again = other(value="x", verbose=["a"], terse="b")
    assert any("stands twice" in line for line in problems(write(tmp_path, other(), again)))


def test_a_folder_without_files_is_refused(tmp_path):
    with pytest.raises(CatalogError, match="expected catalogue files"):
        check_catalog(tmp_path)


class Yes:
    """A verifier that accepts everything: what the negative controls must catch."""

    kind = "yes"
    version = 1
    examples = (Examples({}, good=("fine",), bad=("not fine",)),)

    def check(self, reply):
        return Verdict("pass", "whatever", "yes", 1)


def test_a_verifier_that_passes_everything_is_found(monkeypatch):
    monkeypatch.setattr(catalog_check, "verifier_class", lambda kind: Yes)
    monkeypatch.setattr(catalog_check, "build", lambda spec: Yes())
    monkeypatch.setattr(catalog_check, "check_all", lambda specs, reply: (Yes().check(reply),))
    found = check_verifier("yes")
    assert "bad example 'not fine' passes: whatever" in found
    assert any(line.startswith("junk '123' passes") for line in found)
    monkeypatch.setattr(Yes, "examples", ())
    assert check_verifier("yes") == ["no examples: expected at least one set"]


def test_junk_that_passes_an_entry_or_a_probe_is_found(monkeypatch):
    (entry,) = parse_family({"family": "hobby", "entries": [TENNIS]})[2]
    monkeypatch.setattr(catalog_check, "JUNK", ("I own a tennis ball.",))
    assert check_entry(entry) == [
        "junk 'I own a tennis ball.' passes",
        "probe 'What do you like?': junk 'I own a tennis ball.' passes",
    ]


def test_each_name_and_term_of_a_role_is_tried_from_outside(monkeypatch):
    spec = VerifierSpec("in_character", {"any_of": ["Ada", "engine", "my cards"]})
    replies = catalog_check.replies_out_of_character([spec, *parse_tennis().verifiers])
    assert "I don't know who Ada is, sorry." in replies
    assert "I like engine." in replies
    assert not any("cards" in reply or "tennis" in reply for reply in replies)
    monkeypatch.setattr(catalog_check, "NAME_JUNK", ("I am {name}.",))
    found = check_entry(replace(parse_tennis(), verifiers=(spec,)))
    assert "out of character 'I am Ada.' passes" in found


def parse_tennis():
    (entry,) = parse_family({"family": "hobby", "entries": [TENNIS]})[2]
    return entry


def run(*argv):
    parser = CommandParser(prog="gatt catalog")
    command.add_arguments(parser)
    return command.run(parser.parse_args(argv))


def test_list_shows_families_and_entries(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    folder = str(write(tmp_path, TENNIS, other(split="heldout_value")))
    assert run("list", "--catalog", folder) == 0
    assert "hobby" in capsys.readouterr().out
    assert run("list", "--catalog", folder, "--family", "hobby", "--split", "train") == 0
    shown = capsys.readouterr().out
    assert "Hobby: tennis." in shown
    assert "chess" not in shown
    with pytest.raises(CatalogError, match="unknown family 'hoby', did you mean 'hobby'"):
        run("list", "--catalog", folder, "--family", "hoby")


def test_check_exits_with_2_and_one_line_a_problem(tmp_path, capsys):
    assert run("check", "--catalog", str(write(tmp_path, TENNIS))) == 0
    assert "no problem" in capsys.readouterr().out
    assert run("check", "--catalog", str(write(tmp_path, TENNIS, other(bad=["My chess."])))) == 2
    shown = capsys.readouterr().out
    assert "hobbies.yaml hobby.chess: bad reply 'My chess.' passes" in shown
    assert "1 problems" in shown


def test_ask_refuses_bad_numbers_and_existing_files(tmp_path):
    taken = tmp_path / "asked.yaml"
    taken.write_text("mine", encoding="utf-8")
    with pytest.raises(StoreError, match="exists already: give a new file"):
        run("ask", "--family", "hobby", "--output", str(taken))
    with pytest.raises(CatalogError, match="--num_values is 0"):
        run("ask", "--family", "hobby", "--num_values", "0", "--output", str(tmp_path / "new.yaml"))
    assert taken.read_text(encoding="utf-8") == "mine"
