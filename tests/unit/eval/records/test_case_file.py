"""Case files: what they may hold, and what is wrong in others, with file and line."""

from __future__ import annotations

from typing import Any

import pytest

from eval.records.case import BLANK
from eval.records.case_file import read_cases
from gatt.errors import DataError
from tests.support.runs.case_files import TEA, write_case_file

INSTRUCTION = {"text": "Mention tea.", "family": "behaviour", "value": "tea", "verifiers": [TEA]}
CASE: dict[str, Any] = {
    "id": "c",
    "user_turns": ["Hi!", "And?", "Well."],
    "instruction": INSTRUCTION,
}


def read(tmp_path, *cases: Any):
    return read_cases(write_case_file(tmp_path, cases))


def test_user_turns_alone_need_their_own_history(tmp_path) -> None:
    (case,) = read(tmp_path, CASE)
    assert case.num_turns == 3
    assert case.dialogue.replies == (BLANK, BLANK)
    assert not case.has_replies
    assert case.reference(1) is None
    assert (case.family, case.split) == ("behaviour", "heldout_value")
    assert case.instruction.id == "behaviour.tea"


def test_what_says_the_same_shares_its_ids_and_what_does_not_is_told_apart(tmp_path) -> None:
    coffee = INSTRUCTION | {"text": "Mention coffee."}
    bare = {key: INSTRUCTION[key] for key in ("text", "family", "verifiers")}
    probe = {"question": "What?", "verifiers": [TEA]}
    cases = read(
        tmp_path,
        CASE,
        CASE | {"id": "d", "user_turns": ["Hey!", "So?"]},
        CASE | {"id": "e", "instruction": coffee},
        CASE | {"id": "f", "user_turns": ["Hey!", "So?"], "instruction": coffee},
        CASE | {"id": "g", "probes": [probe]},
        {"id": "h", "user_turns": ["Hm?"], "instruction": bare},
        {"id": "i", "user_turns": ["Hm?"]},
        {"id": "j", "user_turns": ["Hm!"], "instruction": bare | {"text": "Tea!"}},
    )
    assert [c.id for c in cases] == list("cdefghij")
    assert [c.twin for c in cases] == ["", "", "", "", "g", "", "", ""]
    assert [c.dialogue.id for c in cases] == ["c", "d", "c", "d", "c", "h", "h", "j"]
    assert [c.instruction.id if c.instruction else None for c in cases] == [
        "behaviour.tea", "behaviour.tea", "behaviour.tea@e", "behaviour.tea@e", "behaviour.tea",
        "behaviour.tea", None, "behaviour.j",
    ]  # fmt: skip


def test_messages_bring_their_replies_and_probes_come_along(tmp_path) -> None:
    messages = [{"role": r, "content": f"{r} {n}"} for n in (1, 2) for r in ("user", "assistant")]
    # Imports of earlier versions wrote what is expected, and constraints.
    raw = {"id": "d", "messages": messages, "events": {"2": {"kind": "x", "expect": "kept"}}}
    probes = [{"question": "What do you sell?", "verifiers": [TEA]}]
    case, probed = read(tmp_path, raw, CASE | {"probes": probes, "constraints": [{"by": "judge"}]})
    assert case.instruction is None
    assert case.reference(2) == "assistant 2"
    assert case.user_turn(2) == "user 2"
    assert probed.probe.question == "What do you sell?"


def test_rules_of_an_event_count_at_its_turn_alone(tmp_path) -> None:
    not_coffee = {"kind": "excludes", "terms": ["coffee"]}
    events = {"1": {"kind": "quoted_instruction", "verifiers": [not_coffee]}}
    (case,) = read(tmp_path, CASE | {"events": events})
    # A rule of one turn does not replace the judge.
    free = {"text": "Speak like a pirate.", "family": "x"}
    (judged,) = read(tmp_path, CASE | {"instruction": free, "events": events})
    now = judged.instruction_at(1)
    assert [v.kind for v in now.verifiers] == ["judge", "excludes"]
    at_first, later = case.instruction_at(1), case.instruction_at(2)
    assert [v.kind for v in at_first.verifiers] == ["terms", "excludes"]
    assert later == case.instruction


def test_a_case_says_which_turns_are_judged_and_that_its_user_gives_the_instruction(
    tmp_path,
) -> None:
    given = INSTRUCTION | {"placement": "none"}
    cases = read(
        tmp_path,
        CASE,
        CASE | {"id": "d", "turns": "last", "instruction": given},
        CASE | {"id": "e", "turns": [1, 3]},
    )
    assert [case.turns for case in cases] == [None, (3,), (1, 3)]
    assert [case.is_given for case in cases] == [False, True, False]


LONG = "I run a small bakery by the harbour and would like some help with my letters."


@pytest.mark.parametrize(
    ("turns", "clusters"),
    [
        ([["Hi!", "So?", "a"], ["Hi!", "So?", "b"], ["Hi!", "No.", "a"]], ["c0", "c0", ""]),
        ([["Hi!", "a"], ["Hi!"]], ["", ""]),
        ([[LONG, "a"], [f"{LONG} Now write one."], [LONG, "b"], ["Hm?"]], ["c0", "c0", "c0", ""]),
        # The same messages are one dialogue already.
        ([[LONG, "a"], [LONG, "a"]], ["", ""]),
    ],
)
def test_dialogues_that_begin_alike_are_one_cluster(tmp_path, turns, clusters) -> None:
    cases = read(
        tmp_path, *(CASE | {"id": f"c{n}", "user_turns": one} for n, one in enumerate(turns))
    )
    assert [case.cluster for case in cases] == clusters


def test_replies_of_a_file_are_a_part_of_how_a_dialogue_begins(tmp_path) -> None:
    def talk(*texts: str) -> list[dict[str, str]]:
        roles = ("user", "assistant") * len(texts)
        return [{"role": r, "content": t} for r, t in zip(roles, texts, strict=False)]

    talks = [talk("Hi!", "Hello.", "a"), talk("Hi!", "Hello.", "b"), talk("Hi!", "Yes?", "c")]
    bare = {"instruction": INSTRUCTION}
    cases = read(tmp_path, *(bare | {"id": f"c{n}", "messages": m} for n, m in enumerate(talks)))
    assert [case.cluster for case in cases] == ["c0", "c0", ""]


RULED = {"kind": "x", "verifiers": [TEA]}
CANCEL = {"turn": 2, "kind": "cancel", "text": "Drop it."}
BAD_RULE = INSTRUCTION | {"verifiers": [{"kind": "trems"}]}


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        ({"user_turn": []}, r"unknown key 'user_turn', .*'user_turns'"),
        ({"id": "a/b"}, "id is 'a/b'"),
        ({"user_turns": []}, "user_turns is empty"),
        ({"instruction": INSTRUCTION | {"split": "x"}}, "'instruction.split' is 'x'.*'train'"),
        ({"instruction": INSTRUCTION | {"family": "all"}}, "'instruction.family': 'all'"),
        ({"instruction": BAD_RULE}, "'instruction.verifiers': verifier 1: .*'terms'"),
        ({"instruction": None, "probes": [{"question": "x"}]}, "probes.* without instruction"),
        ({"instruction": None, "events": {"1": RULED}}, "events with .* without instruction"),
        ({"probes": [{"question": "a"}, {"question": "b"}]}, "2 probes"),
        ({"events": {"4": {"kind": "x"}}}, "event at turn 4: .* 1 to 3"),
        ({"events": {"1": {"kind": "x", "expect": "released"}}}, "'events.1.expect' .*'kept'"),
        ({"switches": [CANCEL], "events": {"3": RULED}}, "event at turn 3.*'replace'"),
        ({"turns": [4]}, r"turns is \[4\]: .* 1 to 3"),
        ({"turns": [2, 1]}, r"turns is \[2, 1\]: .*'last'"),
        ({"instruction": INSTRUCTION | {"placement": "system"}}, "'instruction.placement'.*'none'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_with_its_place(tmp_path, change, facts) -> None:
    with pytest.raises(DataError, match=rf"cases\.jsonl line 1: .*{facts}"):
        read(tmp_path, CASE | change)


def test_an_empty_file_a_repeated_id_and_a_system_message_are_refused(tmp_path) -> None:
    with pytest.raises(DataError, match=r"cases\.jsonl: no case"):
        read(tmp_path)
    with pytest.raises(DataError, match=r"line 2: id 'c'"):
        read(tmp_path, CASE, CASE)
    messages = [{"role": "system", "content": "x"}, {"role": "user", "content": "y"}]
    with pytest.raises(DataError, match=r"line 1: .*system message"):
        read(tmp_path, {"id": "s", "messages": messages})
