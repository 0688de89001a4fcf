"""What a rule reads of a reply: no talk about the task, no markup; what is said to the user stays in place."""

from __future__ import annotations

import pytest

from gatt.verifiers import build
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.text.markup import visible
from gatt.verifiers.text.task_talk import without_task_talk
from tests.unit.gatt.verifiers.text.cases import CASES

TENNIS = build(VerifierSpec("terms", {"any_of": ["tennis"]}))
SHORT = build(VerifierSpec("words", {"min": 1, "max": 15}))


@pytest.mark.parametrize("reply", CASES["task_talk"])
def test_talk_about_the_task_is_all_there_is(reply: str) -> None:
    assert without_task_talk(reply).strip() == ""
    assert len(without_task_talk(reply)) == len(reply)
    assert SHORT.check(reply).status == TENNIS.check(reply).status == "fail"


@pytest.mark.parametrize("reply", CASES["said"])
def test_what_is_said_to_the_user_stays(reply: str) -> None:
    assert without_task_talk(reply) == reply


def test_a_promise_that_is_kept_passes() -> None:
    kept = "Okay, I will mention tennis in every reply.\nI played tennis on Sunday."
    said = without_task_talk(kept)
    assert len(said) == len(kept)
    assert said.split() == ["I", "played", "tennis", "on", "Sunday."]
    verdict = TENNIS.check(kept)
    assert verdict.status == "pass"
    assert verdict.span == (kept.rindex("tennis"), kept.rindex("tennis") + len("tennis"))


@pytest.mark.parametrize("reply", [*CASES["unseen"], *CASES["seen"]])
def test_nothing_moves_and_only_what_is_seen_says_tennis(reply: str) -> None:
    seen = visible(reply)
    assert len(seen) == len(reply)
    assert seen.count("\n") == reply.count("\n")
    assert ("tennis" in seen) == (reply in CASES["seen"])
    assert ("tea" in seen) == ("tea" in reply)
    assert visible(seen) == seen


@pytest.mark.parametrize(
    "spec",
    [
        VerifierSpec("terms", {"any_of": ["tennis"]}),
        VerifierSpec("answer", {"any_of": ["tennis"]}),
        VerifierSpec("question_about", {"topics": ["tennis"]}),
    ],
    ids=lambda spec: spec.kind,
)
@pytest.mark.parametrize("hidden", ["<!-- {} -->", '<i title="{}"></i>', "![{}](a.png)"])
def test_rules_of_sense_read_what_is_seen(spec: VerifierSpec, hidden: str) -> None:
    said = "I am Tom, and I love my tennis. Do you play tennis with your friends?"
    assert build(spec).check(said).status == "pass"
    assert build(spec).check(f"I am fine today. {hidden.format(said)}").status == "fail"
