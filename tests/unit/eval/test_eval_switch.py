"""Cases whose instruction changes: what each arm reads, what is judged, and what the curves say."""

from __future__ import annotations

import json
import logging
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from eval.case import Case
from eval.case_file import read_cases
from eval.config import EvalConfig
from eval.judging import judge
from eval.metrics.curves import PASS_IS_BAD, curves
from eval.metrics.events import events
from eval.metrics.paired import differences
from eval.metrics.since_switch import leakage
from eval.notes import notes
from eval.report.markdown import markdown_tables
from eval.report.sections import save_main_chart
from eval.report.selection import turn_name
from eval.report.transcripts import Transcripts
from eval.rollout import Reply, has_probe, roll_out
from eval.run import evaluate, fingerprinted
from eval.samples import Sample
from eval.switches import add_switches, told_where_shown
from eval.vacuous import vacuous_curves
from gatt.catalog import Catalog, load_catalog
from gatt.config import load_config
from gatt.errors import ConfigError, DataError, StoreError
from gatt.generation.base import Generation
from gatt.instruction import combine, compose
from gatt.instruction_config import InstructionChoice
from gatt.schedule import Switch
from gatt.source_config import SourceConfig
from gatt.switch_config import SwitchConfig
from tests.support.golden_templates import GEMMA, SMOLLM2
from tests.support.stages import RecordingEngine, dialogue, write_dialogues, write_model
from tests.support.switched import cancel, hobby, to

TENNIS = hobby("tennis")


def case(*switches: Switch, num_turns: int = 5) -> Case:
    return Case("c", dialogue(1, num_turns), TENNIS, TENNIS.probes[0], switches=switches)


def config(**changes: Any) -> EvalConfig:
    settings: dict[str, Any] = {
        "output_dir": Path("out"),
        "arms": ("base", "base+reminder"),
        "source": SourceConfig(name="jsonl", path="d.jsonl", min_turns=5, max_turns=5),
        "turns": (1, 2, 3, 4, 5),
        "probe_turns": (2, 3, 5),
    }
    return EvalConfig(**(settings | changes))


def judged(of: Case, turn: int, text: str, kind: Any = "turn") -> Sample:
    reply = Reply(of, turn, kind, of.user_turn(turn), Generation(text, "stop", 5))
    return judge(reply, "base", "own", ())


def users(engine: RecordingEngine, key: str) -> list[str]:
    request = next(r for r in engine.requests if r.key == key)
    return [f"{m.role}: {m.content}" for m in request.messages if m.role != "assistant"]


U = dialogue(1, 5).user_turns


@pytest.mark.parametrize("history", ["own", "reference"])
def test_an_arm_reads_each_instruction_where_it_was_given(history) -> None:
    engine = RecordingEngine(lambda request: "fine")
    one = case(to("chess", 3), cancel(5, "system"))
    list(roll_out(engine, [one], "base", history, config()))
    assert users(engine, "c/5/turn") == [
        "system: You enjoy tennis.", f"user: {U[0]}", f"user: {U[1]}",
        f"user: Now instead: You enjoy chess.\n\n{U[2]}", f"user: {U[3]}",
        "system: No more of that.", f"user: {U[4]}",
    ]  # fmt: skip
    assert users(engine, "c/2/turn")[-1] == f"user: {U[1]}"


def test_the_reminder_has_what_is_in_force_on_every_turn() -> None:
    engine = RecordingEngine(lambda request: "fine")
    list(
        roll_out(engine, [case(to("chess", 3), cancel(5))], "base+reminder", "reference", config())
    )
    assert users(engine, "c/5/turn") == [
        f"user: You enjoy tennis.\n\n{U[0]}", f"user: You enjoy tennis.\n\n{U[1]}",
        f"user: Now instead: You enjoy chess.\n\nYou enjoy chess.\n\n{U[2]}",
        f"user: You enjoy chess.\n\n{U[3]}", f"user: No more of that.\n\n{U[4]}",
    ]  # fmt: skip


def test_probes_ask_for_what_is_in_force() -> None:
    engine = RecordingEngine(lambda request: "I love chess.")
    one = case(to("chess", 3), cancel(5))
    steps = list(roll_out(engine, [one], "base", "reference", config()))
    probes = {r.turn: r for step in steps for r in step if r.kind == "probe"}
    assert {t: r.user for t, r in probes.items()} == {
        2: "Do you like tennis?", 3: "Do you like chess?",
    }  # fmt: skip
    assert not has_probe(one, 5, config())
    found = {t: judge(r, "base", "own", ()) for t, r in probes.items()}
    assert [(found[t].status, found[t].instruction.id) for t in (2, 3)] == [
        ("fail", "hobby.tennis"), ("pass", "hobby.chess"),
    ]  # fmt: skip


def test_a_reply_is_judged_by_what_is_in_force_and_its_leak_by_what_was() -> None:
    one = case(to("chess", 3), cancel(5))
    rows = [
        (2, "Tennis!", "pass", None, None, "kept", ""),
        (3, "Tennis!", "fail", "pass", 0, "kept", "hobby.tennis"),
        (4, "Chess!", "pass", "fail", 1, "kept", "hobby.tennis"),
        (5, "Chess!", "fail", "pass", 0, "released", "hobby.tennis"),
        (5, "Bread and butter.", "pass", "fail", 0, "released", "hobby.tennis"),
    ]
    for turn, text, status, leak, since, expected, given in rows:
        found = judged(one, turn, text)
        assert (found.status, found.leak, found.since_switch) == (status, leak, since)
        assert (found.expected, found.given) == (expected, given)
        assert found.case == ("d-001", "hobby.tennis", "")
        assert Sample.from_dict(found.as_dict()) == found
    assert judged(one, 3, "x y z.").announcement == "Now instead: You enjoy chess."
    assert judged(one, 3, "x y z.").event == "replace"
    assert judged(one, 4, "x y z.").announcement is judged(one, 4, "x y z.").event is None
    nothing = Reply(one, 4, "turn", "u", Generation("", "context_limit", 0))
    assert judge(nothing, "base", "own", ()).leak == "undecided"


def test_what_was_added_must_hold_with_the_first() -> None:
    held = combine(TENNIS, hobby("chess"))
    one = case(Switch(3, "add", "user", "Also: You enjoy chess.", held))
    assert judged(one, 3, "Chess!").status == "fail"
    assert judged(one, 3, "Chess and tennis.").status == "pass"
    assert judged(one, 3, "Tennis!").leak is None
    assert judged(one, 3, "Tennis!").family == "hobby"


def test_leakage_is_of_what_ended_last_and_is_not_back() -> None:
    """Tennis until 2, nothing from 2, chess from 3, nothing from 4, chess again from 5."""
    add = [Switch(t, "add", "user", "Also: You enjoy chess.", hobby("chess")) for t in (3, 5)]
    one = case(cancel(2), add[0], cancel(4), add[1])
    told = [judged(one, turn, "Tennis and chess!") for turn in range(1, 6)]
    assert [(s.leak, s.since_end, s.since_switch) for s in told] == [
        (None, None, None), ("pass", 0, 0), ("pass", 1, 0), ("pass", 0, 0), (None, None, 0),
    ]  # fmt: skip
    assert [s.ended.id if s.ended else None for s in told] == [
        None, "hobby.tennis", "hobby.tennis", "hobby.chess", None,
    ]  # fmt: skip
    # Turn 3 stands one turn behind the cancellation, not at the addition.
    assert [(o.sample.turn, o.turn) for o in leakage(told)] == [(2, 0), (3, 1), (4, 0)]


def test_one_entry_of_a_combination_leaks_alone() -> None:
    both = combine(TENNIS, hobby("go"))
    one = replace(case(to("chess", 2)), instruction=both)
    assert judged(one, 2, "Chess, and go.").leak == "pass"
    assert judged(one, 2, "Chess.").leak == "fail"


def test_leakage_is_filed_under_what_ended() -> None:
    french = hobby("french", families=("language",), split="heldout_value", id="language.fr")
    one = replace(case(to("chess", 2), num_turns=2), instruction=french)
    told = [judged(one, turn, "french") for turn in (1, 2)]
    (outcome,) = leakage(told)
    assert outcome.sample.instruction == french
    assert outcome.sample.key == told[1].key
    found = [p for p in curves(told) if p.metric == "leakage"]
    assert {(p.split, p.family) for p in found} == {
        (split, family) for split in ("all", "heldout_value") for family in ("all", "language")
    }
    assert {p.num_passed for p in found} == {1}


def samples_of(arm: str, told: list[str], switch: Switch, name: str = "c") -> list[Sample]:
    one = replace(case(switch), id=name, dialogue=replace(dialogue(1, 5), id=name))
    return [replace(judged(one, t, text), arm=arm) for t, text in enumerate(told, start=1)]


def test_curves_count_turns_from_the_change_on() -> None:
    """Two cases, changed at turns 2 and 4: three turns at 1 later come from one case alone."""
    first = samples_of("base", ["Tennis", "Chess", "Tennis", "Chess", "Rain"], to("chess", 2), "a")
    second = samples_of("base", ["Tennis"] * 3 + ["Tennis", "Snow"], cancel(4), "b")
    points = curves([*first, *second])

    def of(metric: str) -> dict[int, tuple[int, int]]:
        return {
            p.turn: (p.num_passed, p.num_decided)
            for p in points
            if (p.metric, p.split, p.family) == (metric, "all", "all")
        }

    assert of("adherence_since_switch") == {0: (1, 1), 1: (0, 1), 2: (1, 1), 3: (0, 1)}
    assert of("leakage") == {0: (1, 2), 1: (1, 2), 2: (0, 1), 3: (0, 1)}
    assert of("adherence") == {1: (2, 2), 2: (2, 2), 3: (1, 2), 4: (1, 1), 5: (0, 1)}
    # A cancelled instruction that stays dead is what is expected, told as of any event.
    (dead,) = [e for e in events(second) if (e.event, e.turns_since, e.family) == ("cancel", 1, "all")
               and e.split == "all"]  # fmt: skip
    assert (dead.num_passed, dead.num_decided, dead.num_released) == (1, 1, 1)
    assert "leakage" in PASS_IS_BAD
    assert turn_name("leakage", 0) == "at it"
    assert turn_name("leakage", 3) == "3 later"
    assert turn_name("adherence", 3) == "turn 3"


def test_paired_differences_keep_the_pairs_of_a_shifted_axis() -> None:
    """Of two cases changed at different turns the order by turn is not that by turns since."""
    both = {
        arm: samples_of(arm, told[0], to("chess", 2), "a")
        + samples_of(arm, told[1], to("chess", 4), "b")
        for arm, told in {
            "base": (["x y"] * 5, ["x y"] * 5),
            "gatt": (["x y", "Chess", "Chess", "x y", "x y"], ["x y"] * 5),
        }.items()
    }
    found = {
        d.turn: (d.difference, d.num_pairs)
        for d in differences([*both["base"], *both["gatt"]])
        if (d.metric, d.split) == ("adherence_since_switch", "all")
    }
    assert found == {0: (0.5, 2), 1: (0.5, 2), 2: (0.0, 1), 3: (0.0, 1)}


def test_what_the_old_rules_pass_by_chance_is_told_of_the_dialogues_own_replies() -> None:
    """The own reply to turn 3 speaks of a station, unasked."""
    one = Case("c", dialogue(1, 5), hobby("station"), None, switches=(cancel(2),))
    told = [judged(one, turn, "Rain.") for turn in range(1, 6)]
    points = vacuous_curves(told, (), [one])
    found = {
        p.turn: (p.num_passed, p.num_decided)
        for p in points
        if (p.metric, p.split, p.family) == ("vacuous_leakage", "all", "all")
    }
    assert found == {0: (0, 1), 1: (1, 1), 2: (0, 1), 3: (0, 1)}
    assert not [p for p in vacuous_curves(told, ()) if p.metric == "vacuous_leakage"]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


def test_cases_change_as_the_configuration_says(catalog) -> None:
    wanted = SwitchConfig(replace=0.5, add=0.2, cancel=0.3, min_turn=3, max_turn=3)
    settings = config(
        switch=wanted,
        instructions=InstructionChoice(num_entries=(1.0,), families=("hobby", "behaviour")),
    )
    given = compose([catalog.entry("hobby.tennis")], Random(0))
    cases = [Case(f"c{n}", dialogue(n, 5), given, None) for n in range(60)]
    plain = Case("p", dialogue(1, 5), None, None)
    found = add_switches(settings, catalog, [*cases, plain])
    kinds = Counter(s.kind for c in found for s in c.switches)
    assert sum(kinds.values()) == 60
    assert set(kinds) == {"replace", "add", "cancel"}
    assert {s.turn for c in found for s in c.switches} == {3}
    assert found[-1] == plain
    assert found == add_switches(settings, catalog, [*cases, plain])
    held = [s.instruction for c in found for s in c.switches if s.instruction]
    assert {i.split for i in held} == {"train"}
    # What is new is asked for, also where the old one holds beside it.
    new = [catalog.entry(i.entries[-1]) for i in held]
    assert all(i.probes[0] in e.probes for i, e in zip(held, new, strict=True))
    assert all(len(i.probes) == 1 for i in held)
    first = add_switches(replace(settings, probe_choice="first"), catalog, cases)
    asked = [s.instruction for c in first for s in c.switches if s.instruction]
    assert all(i.probes == catalog.entry(i.entries[-1]).probes[:1] for i in asked)
    assert add_switches(config(), catalog, cases) == cases


def test_what_ordinary_replies_follow_is_not_taken_back(catalog) -> None:
    settings = config(switch=SwitchConfig(cancel=1.0, min_turn=3))
    ordinary = compose([catalog.entry("format.no_digits")], Random(0))
    assert (
        add_switches(settings, catalog, [Case("c", dialogue(1, 5), ordinary, None)])[0].switches
        == ()
    )


def test_a_template_without_later_system_messages_has_the_user_say_it(caplog) -> None:
    cases = [case(cancel(3, "system")), case(cancel(3))]
    with caplog.at_level(logging.WARNING):
        assert told_where_shown(cases, SMOLLM2.tokenizer()) == cases
        assert told_where_shown(cases, None) == cases
        assert not caplog.text
        found = told_where_shown(cases, GEMMA.tokenizer())
    assert [c.switches for c in found] == [(cancel(3),), (cancel(3),)]
    assert (
        "1 cases: a change of the instruction stands in front of the user's message" in caplog.text
    )


def test_runs_and_cases_of_before_keep_their_fingerprints() -> None:
    assert "switch" not in fingerprinted(config())
    assert "switch" in fingerprinted(config(switch=SwitchConfig(cancel=1.0)))
    assert "switches" not in case().as_dict()
    assert case(cancel(3)).as_dict()["switches"][0]["kind"] == "cancel"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"switch": SwitchConfig(cancel=1.0, min_turn=6)},
            "switch at turn 6 is past the last turn, source.min_turns is 5: lower it, or take longer",
        ),
        (
            {"switch": SwitchConfig(cancel=1.0, max_turn=8)},
            "switch at turn 8 is past the last turn",
        ),
        (
            {
                "switch": SwitchConfig(cancel=1.0, min_turn=5),
                "turns": (1, 3),
                "probe_turns": (2, 4),
            },
            "switch.min_turn is 5, but turn 4 is the last that turns and probe_turns ask for: lower it",
        ),
        (
            {"switch": SwitchConfig(cancel=1.0), "event_turns": (2,), "histories": ("own",)},
            "switch with event_turns: expected one of them",
        ),
        (
            {"switch": SwitchConfig(cancel=1.0), "cases": Path("c.jsonl")},
            "cases with switch: expected the changes in the file of cases",
        ),
    ],
)
def test_settings_that_cannot_be_are_one_line(changes, message) -> None:
    with pytest.raises(ConfigError, match=message):
        config(**changes)


CASE = {
    "id": "tea", "user_turns": ["Hi!", "And now?", "Why?"],
    "instruction": {"text": "Speak of tea.", "family": "drink", "verifiers": [
        {"kind": "terms", "any_of": ["tea"]}]},
}  # fmt: skip
NEW = {"text": "Speak of milk.", "family": "drink",
       "verifiers": [{"kind": "terms", "any_of": ["milk"]}]}  # fmt: skip


def read(tmp_path: Path, *rows: dict[str, Any]) -> tuple[Case, ...]:
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return read_cases(path).cases


def test_a_case_file_may_change_the_instruction(tmp_path) -> None:
    add = {"turn": 2, "kind": "add", "text": "Also: Speak of milk.", "instruction": NEW,
           "probes": [{"question": "What now?", "verifiers": NEW["verifiers"]}]}  # fmt: skip
    drop = {"turn": 3, "kind": "cancel", "place": "system", "text": "Stop."}
    (found,) = read(tmp_path, CASE | {"switches": [add, drop]})
    first, second = found.switches
    assert (first.kind, first.place, second.place) == ("add", "user", "system")
    assert first.instruction is not None
    assert first.instruction.text == "Speak of tea. Speak of milk."
    assert first.instruction.id == "drink.tea+drink.tea@2"
    assert judged(found, 2, "Milk, no coffee.").status == "fail"
    assert judged(found, 2, "Milk and tea.").status == "pass"
    assert judged(found, 3, "Milk and tea.").status == "fail"
    probe = found.probe_at(2)
    assert probe is not None
    assert probe.question == "What now?"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"switches": [{"turn": 2, "kind": "swap", "text": "x"}]}, "unknown kind 'swap': expected one of"),
        (
            {"switches": [{"turn": 9, "kind": "cancel", "text": "x"}]},
            "switch at turn 9, but the dialogue has 3 turns: expected a turn from 2 to 3",
        ),
        (
            {"switches": [{"turn": 2, "kind": "cancel", "text": "x"},
                          {"turn": 3, "kind": "cancel", "text": "x"}]},
            "switch at turn 3: 'cancel' of an instruction that was never given",
        ),
        (
            {"switches": [{"turn": 2, "kind": "cancel", "text": "x"}], "instruction": None},
            "'switches' without 'instruction': expected what they change",
        ),
        (
            {"switches": [{"turn": 2, "kind": "cancel", "text": "x", "instruction": NEW}]},
            "switch 1: 'cancel' with 'instruction': expected none",
        ),
        ({"switches": [{"turn": 2, "kind": "replace", "text": "x"}]}, "'replace' without instruction"),
        ({"switches": {"turn": 2}}, "'switches' is dict: expected a list"),
        ({"switches": [{"at": 2}]}, "switch 1: unknown key 'at'"),
    ],
)  # fmt: skip
def test_broken_changes_of_a_case_are_one_line(tmp_path, changes, message) -> None:
    with pytest.raises(DataError, match=f"cases.jsonl line 1: .*{message}"):
        read(tmp_path, CASE | changes)


def test_the_transcript_shows_the_words_that_change_the_instruction() -> None:
    with Transcripts(["base"]) as found:
        for turn in (2, 3):
            found.add(judged(case(cancel(3)), turn, "Rain."))
        (chunk,) = found.chunks()
    ((before, at),) = chunk[0]["arms"]
    assert "a" not in before
    assert at["a"] == "No more of that."
    assert chunk[0]["texts"][at["u"]] == U[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"leak": "maybe"}, "'leak' is 'maybe': expected null or one of pass, fail, undecided"),
        ({"since_switch": 9}, "'since_switch' is 9: expected null or turns since one before"),
        ({"since_end": -1}, "'since_end' is -1: expected null or turns since one before"),
        ({"ended": 3}, "'ended' is int: expected an object or null"),
        ({"ended": {}}, "'ended' has no 'id'"),
        ({"announcement": 3}, "'announcement' is int: expected a string or null"),
    ],
)
def test_broken_samples_are_named(change, message) -> None:
    raw = judged(case(cancel(3)), 4, "Tea.").as_dict()
    with pytest.raises(DataError, match=message):
        Sample.from_dict(raw | change)


def test_a_run_from_configuration_to_report(tmp_path, monkeypatch) -> None:
    path = write_dialogues(tmp_path / "d.jsonl", 6, 6)
    given = [
        f"output_dir={tmp_path / 'out'}", "source.name=jsonl", f"source.path={path}",
        "source.min_turns=6", "source.max_turns=6", "part=null", "splits=[train]", "num_dialogues=6",
        "instructions.families=[hobby]", "turns=[1,2,3,4,6]", "probe_turns=[4]", "histories=[own]",
        "switch.replace=0.5", "switch.cancel=0.5", "switch.min_turn=3", "switch.max_turn=3",
        f"engine.model={write_model(tmp_path / 'model')}", "task_completion=false",
    ]  # fmt: skip
    settings = load_config(EvalConfig, None, given)
    engine = RecordingEngine(lambda request: f"I like it, {request.key}.")
    result = evaluate(settings, lambda: engine).results
    found = {p["metric"] for p in result["curves"]}
    assert {"adherence_since_switch", "leakage"} <= found
    own = {p["turn"]: p for p in result["curves"] if p["metric"] == "vacuous_leakage"}
    assert {p["num_passed"] for p in own.values()} == {0}
    assert own[0]["arm"] == "dialogue"
    turns = {p["turn"] for p in result["curves"] if p["metric"] == "leakage"}
    assert turns == {0, 1, 3}
    (note,) = [n for n in result["notes"] if "the instruction changes at turn 3" in n]
    assert note.startswith("In 6 of 6 cases")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Leakage of the old instruction" in page
    assert "3 later" in page
    for metric in ("adherence_since_switch", "leakage"):
        save_main_chart(tmp_path / f"{metric}.svg", result, metric)
        assert "turns since" in (tmp_path / f"{metric}.svg").read_text(encoding="utf-8")
    table = markdown_tables(result)
    assert "| arm | at it | 1 later | 3 later | half-life |" in table
    # A second call has nothing to ask: the changes are drawn alike.
    again = RecordingEngine(lambda request: "never asked")
    assert evaluate(settings, lambda: again).num_new == 0
    # What was counted as a leak by other rules must not stand beside it.
    monkeypatch.setattr("eval.run.LEAKS_VERSION", -1)
    with pytest.raises(StoreError, match="leaks"):
        evaluate(settings, lambda: again)
    assert notes(settings, [case()], None, [])
