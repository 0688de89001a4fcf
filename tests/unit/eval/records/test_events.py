"""Events and changes in roll-outs: what counts as following the instruction then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eval.records.case import Case, Event
from gatt.verifiers.spec import VerifierSpec
from tests.support.runs import switched
from tests.support.runs.judged import RULE, instruction
from tests.support.runs.stages import dialogue

NO_BANANA = VerifierSpec("not", {"of": {"kind": "one_of", "options": ["BANANA"]}})
INSTRUCTION = instruction(RULE, text="You enjoy tennis.")
EVENTS = {2: Event("quoted_instruction", verifiers=(NO_BANANA,))}
CHANGES = (switched.cancel(3),)
CASE = Case("c", dialogue(1, 5), INSTRUCTION, INSTRUCTION.probes[0], EVENTS, switches=CHANGES)


def sample(turn: int, text: str, case: Case = CASE):
    return switched.judged(case, turn, text)


@pytest.mark.parametrize(
    ("turn", "text", "status"),
    [
        (1, "I play tennis.", "pass"),
        (2, "I play tennis.", "pass"),
        (2, "Strange note.", "fail"),
        (2, "BANANA", "fail"),
        (3, "I play tennis.", "fail"),
        (3, "As you like.", "pass"),
        (5, "Let us play tennis.", "fail"),
        (5, "No no no no no no no no no no no no", "fail"),
    ],
)
def test_a_reply_is_judged_by_what_holds_at_its_turn(turn, text, status) -> None:
    found = sample(turn, text)
    assert found.status == status
    assert found.expected == ("released" if turn >= 3 else "kept")
    assert found.event == {2: "quoted_instruction", 3: "cancel"}.get(turn)


def test_the_lenient_status_stands_beside_the_strict_one_where_the_rule_holds() -> None:
    short = instruction(VerifierSpec("words", {"max": 3}), text="Be short.")
    case = replace(CASE, instruction=short, events={})
    found = sample(1, "Sure, here is my short reply:\nTea is good.", case)
    assert (found.status, found.loose) == ("fail", "pass")
    assert sample(1, "Tea is good.", case).loose == "pass"
    assert sample(1, "Tea is good, so is milk, and so on.", case).loose == "fail"
    assert sample(4, "Tea is good.", case).loose is None
    free = sample(1, "Sure.", replace(case, instruction=replace(short, verifiers=())))
    assert (free.status, free.verdicts) == ("undecided", ())


def test_a_reply_that_echoes_the_hint_fails_whatever_its_verifiers_say() -> None:
    hinted = replace(INSTRUCTION, hint="Answer me first, and mention tennis too, for a start.")
    case = replace(CASE, instruction=hinted, events={})
    found = sample(1, "I will answer you first, and mention tennis too.", case)
    assert (found.status, found.loose, found.verdicts[0].verifier) == ("fail", "fail", "run")
    assert "hint" in found.verdicts[0].evidence
    assert sample(1, "I play tennis.", case).status == "pass"
