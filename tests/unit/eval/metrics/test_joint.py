"""Keeps, answers and both; what the model can do alone, and how much of it is left; how replies fail."""

from __future__ import annotations

from typing import Any

import pytest

from eval.metrics.ability import ABLE, UNABLE, able_instructions
from eval.metrics.curves import curves
from eval.metrics.failures import failures
from eval.metrics.retention import retentions
from eval.records.samples import Sample
from gatt.verifiers.base import Status, Verdict
from tests.support.runs.fake_samples import instruction, sample

FRENCH, POLISH = instruction("language", "French"), instruction("language", "Polish")
PLAIN: dict[str, Any] = {"instruction": None, "split": "none"}


def reply(keeps: Status, answers: Status | None, **changes: Any) -> Sample:
    verdict = answers and Verdict(answers, "says 8", "answers", 1)
    asks = "question" if answers else None
    return sample(**{"status": keeps, "answer": verdict, "asks": asks, **changes})


@pytest.mark.parametrize(
    ("keeps", "answers", "both"),
    [
        ("pass", "pass", "pass"), ("pass", "fail", "fail"), ("fail", "pass", "fail"),
        ("undecided", "fail", "fail"), ("undecided", "pass", "undecided"),
        ("pass", "undecided", "undecided"), ("pass", None, None),
    ],
)  # fmt: skip
def test_both_pass_or_one_fails(keeps: Status, answers: Status | None, both: Status | None) -> None:
    one = reply(keeps, answers)
    assert (one.keeps, one.answers, one.joint) == (keeps, answers, both)
    assert Sample.from_dict(one.as_dict()) == one


def test_only_turns_that_expect_something_under_an_instruction_in_force_count_as_joint() -> None:
    made = [
        reply("pass", "pass", dialogue="a"), reply("pass", "fail", dialogue="b"),
        reply("pass", None, dialogue="c"), reply("fail", "pass", dialogue="d", expected="released"),
        reply("fail", "pass", dialogue="e", **PLAIN),
        reply("pass", "pass", dialogue="f", asks="told"),
    ]  # fmt: skip
    found = {
        p.metric: (p.num_passed, p.num_decided)
        for p in curves(made)
        if p.split == p.family == "all"
    }
    assert found["joint"] == found["answers"] == (1, 2)
    assert found["told"] == (1, 1)
    assert found["keeps"] == (4, 4)
    assert found["answers_plain"] == (1, 1)


def alone(*statuses: Status, **changes: Any) -> list[Sample]:
    return [
        reply(status, "pass", arm="alone", dialogue=f"d{n}", **changes)
        for n, status in enumerate(statuses)
    ]


def test_what_the_model_keeps_alone_leads() -> None:
    four_of_five: list[Status] = ["pass", "pass", "pass", "pass", "fail"]
    made = [*alone(*four_of_five), *alone("pass", "fail", instruction=POLISH, family="language")]
    able = able_instructions(made)
    assert able == {FRENCH.id}
    assert able_instructions([reply("pass", "pass")]) is None
    # A name that is asked for and not given is not kept.
    asked = reply("pass", "fail", arm="alone", asks="speaker")
    assert able_instructions([asked]) == frozenset()
    ours = [reply("pass", "pass", dialogue=f"d{n}") for n in range(3)]
    points = curves([*made, *ours], able=able)
    found = {
        (p.arm, p.split): p.num_decided for p in points if (p.metric, p.family) == ("joint", "all")
    }
    assert (found["alone", ABLE], found["alone", UNABLE], found["base", ABLE]) == (5, 2, 3)
    assert ("base", UNABLE) not in found


def test_retention_is_over_the_cases_and_turns_that_both_decide() -> None:
    ours = [
        reply(
            "pass" if n < 6 else "fail", "pass" if n else "undecided", dialogue=f"d{n}", arm="gatt"
        )
        for n in range(24)
    ]
    # Of 23 pairs, since dialogue 0 is open under GAtt: 5 of GAtt over 20 alone.
    theirs = alone(*["pass"] * 21, "fail", "fail", "fail")
    (one,) = [
        r for r in retentions([*ours, *theirs]) if (r.split, r.family, r.turn) == ("all", "all", 1)
    ]
    assert (one.arm, one.metric, one.num_cases) == ("gatt", "joint", 23)
    assert (one.num_passed, one.num_alone, one.retention) == (5, 20, 5 / 20)
    assert one.low is not None
    assert one.high is not None
    assert 0 < one.low < 0.25 < one.high < 0.6
    # Few cases have no interval, and nothing is left of nothing.
    few = [r for r in retentions([*ours[:9], *theirs[:9]]) if r.turn == 1 and r.split == "all"]
    assert {(r.low, r.high) for r in few} == {(None, None)}
    none = retentions([*ours, *alone(*["fail"] * 24)])
    assert {(r.retention, r.low) for r in none} == {(None, None)}
    assert retentions(ours) == []


def test_every_reply_fails_in_one_way_and_copies_and_cuts_are_told() -> None:
    user = "How many legs does a spider have in the end?"
    made = [
        reply("pass", "pass", dialogue="both"),
        reply("pass", "fail", dialogue="wrong", user=user, reply="You ask how many legs does a spider have."),
        reply("fail", "pass", dialogue="unkept", finish="length"),
        reply("fail", "fail", dialogue="neither", is_repeated=True),
        reply("undecided", "pass", dialogue="open"), reply("undecided", "fail", dialogue="half"),
        reply("pass", None, dialogue="nothing expected"),
    ]  # fmt: skip
    (found,) = failures(made)
    assert vars(found) == {
        "arm": "base", "history": "reference", "num_replies": 6, "num_both": 1, "num_kept_wrong": 1,
        "num_right_unkept": 1, "num_neither": 1, "num_undecided": 2, "num_copies": 1,
        "num_repeated": 1, "num_cut": 1,
    }  # fmt: skip
