"""Cases and roll-outs: what each arm reads, and what never reaches its history."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eval.cases.draw import make_cases
from eval.config import EvalConfig
from eval.records.case import Case
from eval.rollout.roll_out import roll_out
from eval.scoring.verdict import Reply, check_by_rules
from gatt.data.catalog.choice import InstructionChoice
from gatt.data.catalog.read import Catalog, load_catalog
from gatt.data.catalog.switch_draw import SwitchConfig
from gatt.data.instruction import Instruction
from gatt.errors import CatalogError, ConfigError, DataError
from gatt.generation.base import Generation, GenerationRequest, SamplingConfig
from gatt.sources.config import SourceConfig
from tests.support.runs.judged import RULE, instruction
from tests.support.runs.stages import RecordingEngine, dialogue

INSTRUCTION = instruction(RULE, text="You enjoy tennis.")
(PROBE,) = INSTRUCTION.probes
OTHER = Case("other", dialogue(2, 4), INSTRUCTION, PROBE)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


def config(**changes: Any) -> EvalConfig:
    settings: dict[str, Any] = {
        "output_dir": Path("out"),
        "adapters": {"gatt": Path("adapter")},
        "source": SourceConfig(name="jsonl", path="d.jsonl", min_turns=4, max_turns=4),
        "turns": (1, 2, 4),
        "probe_turns": (2, 3),
    }
    return EvalConfig(**(settings | changes))


def rolled(engine, cases, arm, history, settings, said=None) -> list[Reply]:
    """Return the judged replies of all steps, ordinary ones first."""
    steps = roll_out(engine, cases, arm, history, settings, said)
    replies = [r for step in steps for r in step if r.kind == "probe" or r.turn in settings.turns]
    return sorted(replies, key=lambda r: (r.kind == "probe", r.turn))


def case(told: Instruction | None = INSTRUCTION) -> Case:
    return Case("c", dialogue(1, 4), told, PROBE if told else None)


def prompts(engine: RecordingEngine, kind: str = "turn") -> dict[int, list[str]]:
    found = {}
    for request in engine.requests:
        _, turn, found_kind = request.key.split("/")
        if found_kind == kind:
            found[int(turn)] = [f"{m.role}: {m.content}" for m in request.messages]
    return found


def say(request: GenerationRequest) -> str:
    return f"PROBED {request.key}" if request.key.endswith("probe") else f"SAID {request.key}"


@pytest.mark.parametrize(
    ("arm", "adapter"),
    [("base", None), ("base+system+reminder", None), ("alone", None), ("window_1", None), ("gatt", "gatt")],
)  # fmt: skip
@pytest.mark.parametrize("placement", ["system", "first_user"])
def test_the_instruction_stands_once_and_behind_every_message_of_the_reminder(
    arm, adapter, placement
) -> None:
    engine = RecordingEngine(say)
    rolled(engine, [case()], arm, "reference", config(placement=placement))
    assert {name for _, _, name in engine.calls} == {adapter}
    for turn, messages in (*prompts(engine).items(), *prompts(engine, "probe").items()):
        users = [m for m in messages if m.startswith("user")]
        told = ["You enjoy tennis." in m for m in messages]
        assert len(users) == {"alone": 1, "window_1": min(2, turn)}.get(arm, turn)
        assert messages[0].startswith("system" if placement == "system" else "user: You enjoy")
        if arm == "base+system+reminder":
            assert all(m.endswith("\n\nReminder: You enjoy tennis.") for m in users)
        else:
            assert told == [True] + [False] * (len(messages) - 1)


def test_arms_without_history_reply_to_each_turn_alone() -> None:
    one = replace(case(), canned={INSTRUCTION.id: "I love tennis."})
    for history in ("reference", "own", "slip_1"):
        turns = [turn for turn in (1, 2, 4) if history != "slip_1" or turn > 1]
        engine = RecordingEngine(say)
        (alone,) = roll_out(
            engine, [one, OTHER, replace(case(None), id="p")], "alone", history, config()
        )
        # No probe, which asks what a history does, and no dialogue without an instruction.
        assert [(r.case.id, r.turn, r.kind, r.earlier) for r in alone] == [
            (name, turn, "turn", ()) for name in ("c", "other") for turn in turns
        ]
        (canned,) = roll_out(RecordingEngine(say), [one], "canned", history, config())
        assert [(r.turn, r.generation.text, len(r.earlier)) for r in canned] == [
            (turn, "I love tennis.", turn - 1) for turn in turns
        ]


def test_a_slip_is_an_own_history_behind_replies_of_the_dialogue() -> None:
    engine = RecordingEngine(say)
    steps = list(roll_out(engine, [case()], "base", "slip_2", config()))
    assert [[(r.turn, r.kind) for r in step] for step in steps] == [
        [(3, "turn"), (3, "probe")], [(4, "turn")],
    ]  # fmt: skip
    own = dialogue(1, 4).replies[:2]
    assert steps[1][0].earlier == (*own, "SAID c/3/turn")
    said = [m.split(": ", 1)[1] for m in prompts(engine)[4] if m.startswith("assistant")]
    assert said == [*own, "SAID c/3/turn"]
    rest = RecordingEngine(say)
    known = {"c": [steps[0][0].generation]}
    assert list(roll_out(rest, [case()], "base", "slip_2", config(), known)) == steps[1:]


@pytest.mark.parametrize("history", ["reference", "own"])
def test_a_history_is_the_dialogues_own_or_what_the_model_said_without_probes(history) -> None:
    engine = RecordingEngine(say)
    sampling = SamplingConfig(max_new_tokens=9, temperature=0.7)
    settings = config(seed=7, sampling=sampling)
    replies = rolled(engine, [case()], "base", history, settings)
    assert [(r.turn, r.kind) for r in replies] == [
        (1, "turn"), (2, "turn"), (4, "turn"), (2, "probe"), (3, "probe"),
    ]  # fmt: skip
    assert {params for _, params, _ in engine.calls} == {sampling.params(7)}
    turns, probes = prompts(engine), prompts(engine, "probe")
    said = [m.split(": ", 1)[1] for m in turns[4] if m.startswith("assistant")]
    own = [f"SAID c/{turn}/turn" for turn in (1, 2, 3)]
    assert said == (own if history == "own" else list(dialogue(1, 4).replies[:3]))
    assert history == "own" or len(engine.calls) == 1
    assert probes[2] == [*turns[2][:-1], f"user: {PROBE.question}"]
    for messages in [*turns.values(), *(m[:-1] for m in probes.values())]:
        assert not any("PROBED" in m or PROBE.question in m for m in messages)


def test_an_own_history_goes_on_from_any_turn_of_any_case() -> None:
    whole = RecordingEngine(say)
    steps = list(roll_out(whole, [case(), OTHER], "base", "own", config()))
    assert [{r.turn for r in step} for step in steps] == [{1}, {2}, {3}, {4}]
    said = {
        name: [
            r.generation for step in steps for r in step
            if (r.case.id, r.kind) == (name, "turn") and r.turn <= num
        ]
        for name, num in (("c", 3), ("other", 2))
    }  # fmt: skip
    rest = RecordingEngine(say)
    again = list(roll_out(rest, [case(), OTHER], "base", "own", config(), said))
    assert [[(r.case.id, r.turn, r.kind) for r in step] for step in again] == [
        [("other", 3, "turn"), ("other", 3, "probe")],
        [("c", 4, "turn"), ("other", 4, "turn")],
    ]
    assert set(rest.requests) <= set(whole.requests)


def test_every_turn_behind_a_full_context_is_recorded_as_undecided() -> None:
    def reply(request: GenerationRequest) -> str | Generation:
        is_full = len(request.messages) > 5 and request.key.startswith("c/")
        return Generation("", "context_limit", 0) if is_full else "I play tennis on Sundays."

    settings = config(probe_turns=(2, 4))
    engine = RecordingEngine(reply)
    replies = rolled(engine, [case(), OTHER], "base", "own", settings)
    found = {
        (r.case.id, r.kind, r.turn): check_by_rules(r, "base", "own", ()).status for r in replies
    }
    assert found == {
        ("c", "turn", 1): "pass", ("c", "turn", 2): "pass", ("c", "turn", 4): "undecided",
        ("c", "probe", 2): "pass", ("c", "probe", 4): "undecided",
        **{("other", "turn", turn): "pass" for turn in (1, 2, 4)},
        **{("other", "probe", turn): "pass" for turn in (2, 4)},
    }  # fmt: skip
    assert not [r for r in engine.requests if r.key.startswith("c/4")]
    # Before an interruption, too.
    said = {"c": [Generation("Fine.", "stop", 2), Generation("", "context_limit", 0)]}
    engine = RecordingEngine(say)
    replies = rolled(engine, [case()], "base", "own", settings, said)
    assert [(r.turn, r.generation.finish) for r in replies] == [(4, "context_limit")] * 2
    assert not engine.requests


@pytest.mark.parametrize(
    ("finish", "fact"), [("length", "limit of tokens"), ("content_filter", "server")]
)
def test_a_reply_that_never_came_is_undecided_and_its_dialogue_goes_on(finish, fact) -> None:
    def reply(request: GenerationRequest) -> str | Generation:
        is_withheld = request.key == "c/2/turn"
        return Generation("", finish, 32) if is_withheld else "I play tennis on Sundays."

    replies = rolled(RecordingEngine(reply), [case()], "base", "own", config(probe_turns=()))
    samples = [check_by_rules(r, "base", "own", ()) for r in replies]
    assert [(s.turn, s.status) for s in samples] == [(1, "pass"), (2, "undecided"), (4, "pass")]
    assert samples[1].finish == finish
    assert fact in samples[1].verdicts[0].evidence


@pytest.mark.parametrize(
    ("entries", "reply", "status", "fact"),
    [
        (("language.fr",), "Bonjour, je vais bien, merci beaucoup.", "pass", "follows language.fr"),
        ((), "It was calm there.", "undecided", ""),
        (("language.fr", "language.es"), "Ok.", "undecided", "language.fr or 1 more"),
    ],
)  # fmt: skip
def test_what_passes_on_a_plain_dialogue_is_a_false_trigger(
    catalog, entries, reply, status, fact
) -> None:
    pool = [catalog.entry(e) for e in entries]
    settings = config(turns=(1,), probe_turns=())
    (found,) = rolled(RecordingEngine(lambda _: reply), [case(None)], "base", "reference", settings)
    judged = check_by_rules(found, "base", "reference", pool)
    assert (judged.status, judged.split, judged.family) == (status, "none", "plain")
    assert fact in judged.verdicts[0].evidence


def test_cases_are_balanced_over_splits_and_families(catalog) -> None:
    settings = config(
        num_dialogues=12,
        num_plain=3,
        instructions=InstructionChoice(families=("hobby", "figure", "format"), num_entries=(1.0,)),
    )
    cases = make_cases(settings, catalog, [dialogue(n, 4) for n in range(5)])
    count = Counter((c.split, c.family) for c in cases)
    assert count == {
        ("train", "hobby"): 4, ("train", "figure"): 4, ("train", "format"): 4,
        ("heldout_value", "hobby"): 4, ("heldout_value", "figure"): 4, ("heldout_value", "format"): 4,
        ("heldout_family", "format"): 12, ("none", "plain"): 3,
    }  # fmt: skip
    assert len({c.id for c in cases}) == len(cases)
    ids = [(c.dialogue.id, c.instruction.id if c.instruction else "") for c in cases]
    assert len(set(ids)) == len(ids)
    first = replace(settings, probe_choice="first")
    again = make_cases(first, catalog, [dialogue(n, 4) for n in range(5)])
    hobbies = [{c.probe.question for c in some if c.family == "hobby" and c.probe}
               for some in (cases, again)]  # fmt: skip
    assert len(hobbies[0]) > 1
    assert hobbies[1] == {"What is your favorite hobby?"}
    assert [replace(c, probe=None) for c in again] == [replace(c, probe=None) for c in cases]
    # Entries are drawn without repetition until all were used.
    two = InstructionChoice(values=("French", "Spanish"), num_entries=(1.0,))
    settings = config(splits=("train",), num_dialogues=4, instructions=two)
    cases = make_cases(settings, catalog, [dialogue(n, 4) for n in range(2)])
    drawn = {(c.dialogue.id, c.instruction.id) for c in cases if c.instruction}
    assert len(drawn) == 4
    assert {told for _, told in drawn} == {"language.fr", "language.es"}


FRENCH = InstructionChoice(values=("French",))


@pytest.mark.parametrize(
    ("changes", "num", "error", "facts"),
    [
        ({}, 0, DataError, "no dialogue"),
        ({"instructions": FRENCH, "num_dialogues": 4}, 3, DataError, "4 .* 3 .* 1 .*'language.fr'"),
        ({"num_plain": 4, "num_dialogues": 1}, 3, DataError, "num_plain is 4, .* 3 dialogues"),
        ({"instructions": FRENCH, "splits": ("heldout_value",)}, 3, CatalogError, "heldout_value"),
        ({"instructions": InstructionChoice(families=("hoby",))}, 3, CatalogError, "'hoby', .*'hobby'"),
    ],
)  # fmt: skip
def test_cases_that_cannot_be_made_are_refused(catalog, changes, num, error, facts) -> None:
    with pytest.raises(error, match=facts):
        make_cases(config(**changes), catalog, [dialogue(n, 4) for n in range(num)])


SWITCH = SwitchConfig(cancel=1.0, min_turn=4)
LATE_SWITCH = SwitchConfig(replace=1.0, min_turn=9, max_turn=9)


@pytest.mark.parametrize(
    ("changes", "facts"),
    [
        ({"arms": ("base", "gat")}, r"arm 'gat' .*\(gatt\)"),
        ({"arms": ("base+reminder",)}, r"arm 'base\+reminder' .*system\+reminder"),
        ({"histories": ("slip_0",)}, "history 'slip_0'"),
        ({"arms": ("base", "base")}, r"arms is \['base', 'base'\]"),
        ({"arms": ("all",), "adapters": {"all": Path("a")}}, "arm 'all'"),
        ({"adapters": {"base": Path("a")}}, "adapters has 'base'"),
        ({"probe_turns": (0,)}, r"probe_turns is \[0\]"),
        ({"num_turns": 3}, "turn 4 .* num_turns is 3"),
        ({"switch": LATE_SWITCH}, "switch at turn 9 .* source.min_turns is 4"),
        ({"switch": SWITCH, "turns": (1,)}, "switch.min_turn is 4, .* turn 3"),
        ({"num_dialogues": 0}, "num_dialogues or num_plain"),
        ({"cases": Path("c"), "num_turns": 4}, "cases with num_turns"),
    ],
)  # fmt: skip
def test_an_evaluation_that_cannot_be_run_is_refused(changes, facts) -> None:
    with pytest.raises(ConfigError, match=facts):
        config(**changes)
