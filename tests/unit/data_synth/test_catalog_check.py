import copy
import re
from dataclasses import replace

import pytest
import yaml

from data_synth import catalog_check
from data_synth.catalog_check import check_catalog, check_entry, check_verifier
from data_synth.commands import catalog as command
from gatt.cli import CommandParser
from gatt.data.catalog.read import parse_family
from gatt.errors import CatalogError
from gatt.verifiers import Examples, Verdict
from gatt.verifiers.spec import VerifierSpec

TENNIS = {
    "id": "hobby.tennis",
    "value": "tennis",
    "verbose": ["You enjoy tennis and bring it up in every answer."],
    "terse": "Hobby: tennis.",
    "verifiers": [{"kind": "terms", "any_of": ["tennis", "racket"]}],
    "probes": [{"question": "What do you like?", "verifiers": [{"kind": "terms", "any_of": ["tennis"]}]}],
    "good": ["I played tennis with my neighbor this morning."],
    "bad": ["I like tea very much."],
}  # fmt: skip


def other(**changes):
    chess = {
        "id": "hobby.chess", "value": "chess",
        "verbose": ["You enjoy chess and bring it up in every answer."], "terse": "Hobby: chess.",
        "verifiers": [{"kind": "terms", "any_of": ["chess"]}], "good": ["I lost at chess again last night."],
    }  # fmt: skip
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
    return check_catalog(folder)[1]


def test_a_sound_folder_has_no_problem(tmp_path):
    entries, found = check_catalog(write(tmp_path, TENNIS, other()))
    assert found == []
    assert [e.id for e in entries] == ["hobby.tennis", "hobby.chess"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"good": ["I like tea."]}, "good reply 'I like tea.' does not pass: terms says fail"),
        ({"bad": ["I like chess."]}, "bad reply 'I like chess.' passes: terms says pass"),
        ({"good": []}, "no 'good' reply: expected at least one"),
        ({"bad": []}, "no 'bad' reply: expected at least one"),
        ({"terse": "Hobby: TENNIS."}, "wording 'Hobby: TENNIS.' already stands in hobby.tennis"),
        ({"value": "Tennis"}, "value 'Tennis' already stands in hobby.tennis"),
        ({"verbose": ["Play.", "play."]}, "wording 'play.' already stands in hobby.chess"),
        ({"verbose": ["You enjoy chess."]}, "talk about the instruction 'You enjoy chess.' passes"),
        ({"verifiers": [{"kind": "term"}]}, "unknown verifier kind 'term', did you mean 'terms'?"),
        ({"hint": "{town}"}, "placeholder '{town}' is no fact"),
        ({"program": {"name": "asks"}}, "what the program makes, "),
        ({"parameters": {"who": ["pawn", "king"]}, "good": ["A {who}."]}, "chess[king]: good reply"),
    ],
)  # fmt: skip
def test_a_seeded_fault_is_found_and_placed(tmp_path, changes, expected):
    found = problems(write(tmp_path, TENNIS, other(**changes)))
    assert all(line.startswith("hobbies.yaml hobby.chess: ") for line in found)
    assert any(expected in line for line in found)


def test_a_plain_reply_that_passes_a_form_is_found(tmp_path, monkeypatch):
    program = {"name": "ends", "text": "Chess."}
    assert problems(write(tmp_path, other(good=[], program=program))) == []
    monkeypatch.setattr(catalog_check, "_plain_replies", lambda: ("We play chess.",) * 50)
    (found,) = problems(write(tmp_path, other(good=[], program=program)))
    assert "plain reply 'We play chess.' passes" in found


def test_every_broken_entry_of_a_file_is_reported(tmp_path):
    found = problems(write(tmp_path, other(split="tset"), TENNIS, other(id="chess")))
    assert len(found) == 2
    assert "'split' is 'tset'" in found[0]
    assert "expected an id that starts with 'hobby.'" in found[1]
    again = other(value="x", verbose=["a"], terse="b")
    assert any("stands twice" in line for line in problems(write(tmp_path, other(), again)))
    (once,) = problems(write(tmp_path, TENNIS, other(), abuot="x"))
    assert "unknown key 'abuot', did you mean 'about'?" in once


def test_broken_files_and_a_folder_without_any_are_reported(tmp_path):
    with pytest.raises(CatalogError, match="expected catalogue files"):
        check_catalog(tmp_path)
    (tmp_path / "broken.yaml").write_text("entries:\n  - a: [", encoding="utf-8")
    write(tmp_path)
    found = problems(tmp_path)
    assert any(x.startswith("broken.yaml file: ") and "line 2, column 9" in x for x in found)
    assert any("no 'entries': expected a list" in line for line in found)


def test_a_verifier_that_passes_everything_is_found(monkeypatch):
    def accept(specs, reply):
        return (Verdict("pass", "whatever", "terms", 1),)

    class Kind:
        examples = (Examples({}, good=("fine",), bad=("not fine",)),)

    monkeypatch.setattr(catalog_check, "verifier_class", lambda kind: Kind)
    monkeypatch.setattr(catalog_check, "check_all", accept)
    found = check_verifier("terms")
    assert "bad reply 'not fine' passes: terms says pass (whatever)" in found
    assert any(line.startswith("junk '123' passes") for line in found)
    monkeypatch.setattr(Kind, "examples", ())
    assert check_verifier("terms") == ["no examples: expected at least one set"]


def test_junk_that_passes_an_entry_or_a_probe_is_found(monkeypatch):
    monkeypatch.setattr(catalog_check, "JUNK", ("I own a tennis ball.",))
    assert [line.partition(" passes: ")[0] for line in check_entry(parse_tennis())] == [
        "junk 'I own a tennis ball.'",
        "probe 'What do you like?': junk 'I own a tennis ball.'",
    ]


def test_an_echo_of_the_hint_that_neither_rule_nor_verifier_sees_is_found(monkeypatch):
    hint = "Answer me first, and mention tennis too, for example your racket or your serve."
    entry = replace(parse_tennis(), hint=hint)
    assert check_entry(entry) == []
    monkeypatch.setattr(catalog_check, "echoed", lambda *_, **__: None)
    found = [line.partition("echo of the hint ")[2] for line in check_entry(entry)]
    for begin in ("Answer me first", "Answer you first", "Sure! Answer me", "tennis too"):
        assert any(begin in line for line in found)


def test_what_counts_as_right_and_is_none_is_found(monkeypatch):
    role = VerifierSpec("role", {"names": ["Ada"]})
    ada = replace(parse_tennis(), verifiers=(role,), facts={"name": ("Ada",)}, hint="You be Ada.")
    replies = {reply for _, reply in catalog_check.joint_junk(ada)}
    assert {"I don't know who Ada is, sorry.", "You be Ada.", "I am Ada.", *ada.verbose} <= replies
    assert {turn.ask for turn, _ in catalog_check.joint_junk(ada)} <= replies
    assert check_entry(replace(ada, good=("Fine.",), bad=("I am not Ada.",), probes=())) == []
    monkeypatch.setattr(catalog_check, "NAME_JUNK", ("I am {name}.",))
    monkeypatch.setattr(catalog_check, "CANNED", ("two",))
    lax = (VerifierSpec("terms", {"any_of": ["two", "ada", "four"]}),)
    found = check_entry(replace(ada, verifiers=lax))
    assert any(line.startswith("reply 'I am Ada.' to") for line in found)


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
    tennis, chess, *table = capsys.readouterr().out.splitlines()
    assert re.match(r"hobby\.tennis +train +tennis \(\w+", tennis)
    assert re.match(r"hobby\.chess +heldout_value +chess \(", chess)
    assert any("hobby" in line for line in table)


def test_check_exits_with_2_and_one_line_a_problem(tmp_path, capsys):
    assert run("check", "--catalog", str(write(tmp_path, TENNIS))) == 0
    assert "no problem" in capsys.readouterr().out
    assert run("check", "--catalog", str(write(tmp_path, TENNIS, other(bad=["My chess."])))) == 2
    shown = capsys.readouterr().out
    assert "hobbies.yaml hobby.chess: bad reply 'My chess.' passes" in shown
    assert "1 problems" in shown
