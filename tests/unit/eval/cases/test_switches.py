"""Cases whose instruction changes: which do, what each arm reads, and a run from configuration to report."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from eval.cases.draw import add_switches, join_dialogues, told_where_shown
from eval.config import EvalConfig
from eval.records.case import Case
from eval.records.case_file import read_cases
from eval.report.charts.curves import save_main_chart
from eval.report.data.selection import Curves
from eval.report.data.transcripts import Transcripts
from eval.report.tables.written import markdown_tables
from eval.rollout.roll_out import roll_out
from eval.run import evaluate
from eval.scoring.verdict import check_by_rules
from gatt.config.load import load_config
from gatt.data.catalog.choice import InstructionChoice
from gatt.data.catalog.read import Catalog, load_catalog
from gatt.data.catalog.switch_draw import SwitchConfig
from gatt.data.catalog.switch_wording import EVALUATION
from gatt.data.dialogue import Dialogue, Message
from gatt.data.instruction import compose
from gatt.errors import DataError, StoreError
from tests.support.models.foreign_templates import foreign
from tests.support.models.golden_templates import GEMMA, SMOLLM2
from tests.support.runs.case_files import write_case_file
from tests.support.runs.stages import RecordingEngine, dialogue, write_dialogues, write_model
from tests.support.runs.switched import cancel, case, config, judged, to


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


TENNIS_TOLD, CHESS_TOLD = "You enjoy tennis.", "You enjoy chess."
AT_3 = f"user: Now instead: {CHESS_TOLD}\n\n{U[2]}"
AT_5 = f"user: No more of that.\n\n{U[4]}"


@pytest.mark.parametrize(
    ("arm", "turn", "messages"),
    [
        # What is in force stands behind every message.
        ("base+system+reminder", 5, [
            f"system: {TENNIS_TOLD}", f"user: {U[0]}\n\nReminder: {TENNIS_TOLD}",
            f"user: {U[1]}\n\nReminder: {TENNIS_TOLD}", f"{AT_3}\n\nReminder: {CHESS_TOLD}",
            f"user: {U[3]}\n\nReminder: {CHESS_TOLD}", AT_5,
        ]),
        # A change that has left the window is in its instruction; one inside it is announced.
        ("window_1", 5, [f"system: {CHESS_TOLD}", f"user: {U[3]}", AT_5]),
        ("window_2", 4, [f"system: {TENNIS_TOLD}", f"user: {U[1]}", AT_3, f"user: {U[3]}"]),
        ("window_9", 3, [f"system: {TENNIS_TOLD}", f"user: {U[0]}", f"user: {U[1]}", AT_3]),
        ("alone", 2, [f"system: {TENNIS_TOLD}", f"user: {U[1]}"]),
        ("alone", 4, [f"system: {CHESS_TOLD}", f"user: {U[3]}"]),
    ],
)  # fmt: skip
def test_every_arm_reads_what_is_in_force(arm, turn, messages) -> None:
    engine = RecordingEngine(lambda request: "fine")
    one = case(to("chess", 3), cancel(5))
    list(roll_out(engine, [one], arm, "reference", config()))
    assert users(engine, f"c/{turn}/turn") == messages
    # After the release an arm without history has nothing to be judged by.
    assert (arm == "alone") == all(not r.key.startswith("c/5") for r in engine.requests)


def test_probes_ask_for_what_is_in_force_or_was_taken_back() -> None:
    engine = RecordingEngine(lambda request: "I love chess.")
    one = case(to("chess", 3), cancel(5))
    steps = list(roll_out(engine, [one], "base", "reference", config()))
    probes = {r.turn: r for step in steps for r in step if r.kind == "probe"}
    assert {t: r.user for t, r in probes.items()} == {
        2: "Do you like tennis?", 3: "Do you like chess?", 5: "Do you like chess?",
    }  # fmt: skip
    found = {t: check_by_rules(r, "base", "own", ()) for t, r in probes.items()}
    assert [(s.status, s.instruction.id, s.leak, s.expected) for s in found.values()] == [
        ("fail", "hobby.tennis", None, "kept"), ("pass", "hobby.chess", None, "kept"),
        ("fail", "hobby.chess", "pass", "released"),
    ]  # fmt: skip


def test_the_transcript_shows_the_words_that_change_the_instruction() -> None:
    turns = [judged(case(cancel(3)), turn, "Rain.") for turn in (2, 3)]
    ((_, (before, at)),) = Transcripts(["base"], turns).as_dict()["cases"][0]["arms"]
    assert "a" not in before
    assert at["a"] == "No more of that."
    assert at["u"] == U[2]
    # A rating of the reply holds what is in force.
    assert "i" not in before
    assert at["i"] == ""
    replaced = case(to("chess", 3))
    turns = [judged(replaced, turn, "Rain.") for turn in (2, 3)]
    ((_, (_, at)),) = Transcripts(["base"], turns).as_dict()["cases"][0]["arms"]
    assert at["i"] == replaced.held_at(3).text


def test_a_run_from_configuration_to_report(tmp_path, monkeypatch) -> None:
    path = write_dialogues(tmp_path / "d.jsonl", 6, 6)
    given = [
        f"output_dir={tmp_path / 'out'}", "source.name=jsonl", f"source.path={path}",
        "source.min_turns=6", "source.max_turns=6", "part=null", "splits=[train]", "num_dialogues=6",
        "instructions.families=[language]", "turns=[1,2,3,4,6]", "probe_turns=[4]", "histories=[own]",
        "switch.replace=0.5", "switch.cancel=0.5", "switch.min_turn=3", "switch.max_turn=3",
        f"engine.model={write_model(tmp_path / 'model')}",
    ]  # fmt: skip
    settings = load_config(EvalConfig, None, given)
    engine = RecordingEngine(lambda request: f"I like it, {request.key}.")
    result = evaluate(settings, lambda: engine).results
    found = {p["metric"] for p in result["curves"]}
    assert {"keeps_since_switch", "leakage"} <= found
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
    for metric in ("keeps_since_switch", "leakage"):
        save_main_chart(tmp_path / f"{metric}.svg", Curves.of(result), metric)
        assert "turns since" in (tmp_path / f"{metric}.svg").read_text(encoding="utf-8")
    table = markdown_tables(result)
    assert "| arm | at it | 1 later | 3 later | half-life |" in table
    # A second call has nothing to ask: the changes are drawn alike.
    again = RecordingEngine(lambda request: "never asked")
    assert evaluate(settings, lambda: again).num_new == 0
    # Judged again it says the same, answers to probes of what was taken back included.
    assert "probe_leakage" in found
    judged_again = replace(
        settings, output_dir=tmp_path / "again", replies_from=settings.output_dir
    )
    assert evaluate(judged_again, lambda: again).results["curves"] == result["curves"]
    # What was counted as a leak by other rules must not stand beside it.
    monkeypatch.setattr("eval.run.LEAKS_VERSION", -1)
    with pytest.raises(StoreError, match="leaks"):
        evaluate(settings, lambda: again)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


def test_cases_change_as_the_configuration_says(catalog) -> None:
    wanted = SwitchConfig(replace=0.5, add=0.2, cancel=0.3, min_turn=3, max_turn=3)
    settings = config(
        switch=wanted,
        instructions=InstructionChoice(num_entries=(1.0,), families=("hobby", "behaviour")),
    )
    given = compose([catalog.entry("behaviour.dental.insurance")], Random(0))
    cases = [Case(f"c{n}", dialogue(n, 5), given, None) for n in range(60)]
    plain = Case("p", dialogue(1, 5), None, None)
    found = add_switches(settings, catalog, [*cases, plain])
    kinds = Counter(s.kind for c in found for s in c.switches)
    assert sum(kinds.values()) == 60
    assert set(kinds) == {"replace", "add", "cancel"}
    assert {s.turn for c in found for s in c.switches} == {3}
    assert found[-1] == plain
    assert found == add_switches(settings, catalog, [*cases, plain])
    # In words that no training data has.
    words = [w for texts in EVALUATION.texts.values() for w in texts]
    starts = {w.partition("{")[0] for w in words}
    assert all(s.text.startswith(tuple(starts - {""})) for c in found for s in c.switches)
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
    # What ordinary replies follow is not taken back.
    ordinary = compose([catalog.entry("format.no_digits")], Random(0))
    back = config(switch=SwitchConfig(cancel=1.0, min_turn=3))
    (kept,) = add_switches(back, catalog, [Case("c", dialogue(1, 5), ordinary, None)])
    assert kept.switches == ()
    known = {"hobby.golf", "hobby.chess"}
    drawn = add_switches(settings, catalog, cases, known)
    came = {i.entries[-1] for c in drawn for s in c.switches if (i := s.instruction)}
    assert came == known


def test_a_template_without_later_system_messages_has_the_user_say_it(caplog) -> None:
    cases = [case(cancel(3, "system")), case(cancel(3))]
    with caplog.at_level(logging.WARNING):
        assert told_where_shown(cases, SMOLLM2.tokenizer(), config()) == cases
        assert told_where_shown(cases, None, config()) == cases
        assert not caplog.text
        found = told_where_shown(cases, GEMMA.tokenizer(), config())
    assert [c.switches for c in found] == [(cancel(3),), (cancel(3),)]
    assert "1 cases: " in caplog.text


@pytest.mark.parametrize(
    ("settings", "is_moved"),
    [({"arms": ("base",)}, False), ({"arms": ("base",), "placement": "first_user"}, True)],
)
def test_a_later_system_message_that_needs_a_first_one_stands_only_behind_one(
    settings, is_moved
) -> None:
    tokenizer = foreign("cohere2").tokenizer()
    cases = [case(cancel(3, "system"))]
    found = told_where_shown(cases, tokenizer, config(**settings))
    assert found == ([replace(c, switches=(cancel(3),)) for c in cases] if is_moved else cases)
    kind = (Message("system", "Be kind."), *cases[0].dialogue.messages)
    own = replace(cases[0], dialogue=Dialogue("own", kind))
    assert told_where_shown([own], tokenizer, config(**settings)) == [own]


CASE = {
    "id": "tea", "user_turns": ["Hi!", "And now?", "Why?"],
    "instruction": {"text": "Speak of tea.", "family": "drink", "verifiers": [
        {"kind": "terms", "any_of": ["tea"]}]},
}  # fmt: skip
NEW = {"text": "Speak of milk.", "family": "drink",
       "verifiers": [{"kind": "terms", "any_of": ["milk"]}]}  # fmt: skip


def test_a_case_file_may_change_the_instruction(tmp_path) -> None:
    add = {"turn": 2, "kind": "add", "text": "Also: Speak of milk.", "instruction": NEW,
           "probes": [{"question": "What now?", "verifiers": NEW["verifiers"]}]}  # fmt: skip
    drop = {"turn": 3, "kind": "cancel", "place": "system", "text": "Stop."}
    path = write_case_file(tmp_path, [CASE | {"switches": [add, drop]}])
    (found,) = read_cases(path)
    first, second = found.switches
    assert (first.kind, first.place, second.place) == ("add", "user", "system")
    assert first.instruction.text == "Speak of tea. Speak of milk."
    assert first.instruction.id == "drink.tea+drink.tea@2"
    assert judged(found, 2, "Milk, no coffee.").status == "fail"
    assert judged(found, 2, "Milk and tea.").status == "pass"
    assert judged(found, 3, "Milk and tea.").status == "fail"
    probe = found.probe_at(2)
    assert probe.question == "What now?"


CANCEL = {"turn": 2, "kind": "cancel", "text": "x"}


@pytest.mark.parametrize(
    ("switches", "facts"),
    [
        ([{**CANCEL, "turn": 9}], "switch at turn 9, .* 3 turns"),
        ([CANCEL, {**CANCEL, "turn": 3}], "switch at turn 3: 'cancel' .* never given"),
        ([{**CANCEL, "instruction": NEW}], "switch 1: 'cancel' with 'instruction'"),
        ([{**CANCEL, "kind": "replace"}], "'replace' without instruction"),
    ],
)
def test_broken_changes_of_a_case_are_one_line(tmp_path, switches, facts) -> None:
    with pytest.raises(DataError, match=f"cases.jsonl line 1: .*{facts}"):
        read_cases(write_case_file(tmp_path, [CASE | {"switches": switches}]))


def test_dialogues_are_joined_in_order_and_none_is_used_twice() -> None:
    dialogues = [dialogue(n, turns) for n, turns in enumerate((3, 4, 5, 8, 9, 2))]
    found = join_dialogues(dialogues, 8)
    assert [len(long.seams) for long in found.values()] == [2, 0, 0]
    first = next(iter(found.values()))
    assert (first.seams, first.parts) == ((4, 8), tuple(dialogues[:3]))
    assert first.dialogue.num_turns == 8
    assert first.dialogue.user_turns[3:7] == dialogues[1].user_turns
    texts = [turn for long in found.values() for turn in long.dialogue.user_turns]
    assert len(set(texts)) == len(texts)
    with pytest.raises(DataError, match=r"2 dialogues with 7 turns .* 8 turns"):
        join_dialogues(dialogues[:2], 8)
