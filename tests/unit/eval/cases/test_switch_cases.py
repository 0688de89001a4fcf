"""Changes of the instruction in cases, and long dialogues that are joined."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from eval.cases.draw import add_switches, join_dialogues, told_where_shown
from eval.records.case import Case
from eval.records.case_file import read_cases
from gatt.data.catalog.choice import InstructionChoice
from gatt.data.catalog.read import Catalog, load_catalog
from gatt.data.catalog.switch_draw import SwitchConfig
from gatt.data.catalog.switch_wording import EVALUATION
from gatt.data.dialogue import Dialogue, Message
from gatt.data.instruction import compose
from gatt.errors import DataError
from tests.support.models.foreign_templates import foreign
from tests.support.models.golden_templates import GEMMA, SMOLLM2
from tests.support.runs.case_files import write_case_file
from tests.support.runs.stages import dialogue
from tests.support.runs.switched import cancel, case, config, judged


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
    assert first.instruction is not None
    assert first.instruction.text == "Speak of tea. Speak of milk."
    assert first.instruction.id == "drink.tea+drink.tea@2"
    assert judged(found, 2, "Milk, no coffee.").status == "fail"
    assert judged(found, 2, "Milk and tea.").status == "pass"
    assert judged(found, 3, "Milk and tea.").status == "fail"
    probe = found.probe_at(2)
    assert probe is not None
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
