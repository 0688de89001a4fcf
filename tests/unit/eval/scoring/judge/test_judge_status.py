"""What the judge says of a sample, and when it decides."""

from __future__ import annotations

from typing import Any

import pytest

from eval.records.samples import Sample
from eval.scoring.verdict import attach, is_ruled, with_judge_status
from gatt.verifiers import Verdict, check_all, overall
from tests.support.runs.judged import RUBRIC, RULE, instruction, sample, verdict

PASS, FAIL, NONE = (verdict(status, "judge") for status in ("pass", "fail", "undecided"))
JUNK = "tea tea tea tea tea tea tea tea tea tea tea tea"
UNSURE = verdict("undecided", "language")


def judged(
    judge: Verdict | None, *rules: Any, reply: str = "I like tea.", **changes: Any
) -> Sample:
    """Return a sample as rules leave it, with what the judge said."""
    verdicts = check_all(rules, reply)
    held: dict[str, Any] = {"verdicts": verdicts, "status": overall(verdicts)}
    return sample(
        instruction=instruction(*rules), reply=reply, judge=judge, **held | changes
    )  # fmt: skip


RELEASED = {"expected": "released", "loose": "undecided"}
TWO_OPEN = {"verdicts": (UNSURE, *check_all((RUBRIC,), "x")), "loose": "undecided"}


@pytest.mark.parametrize(
    ("found", "verifiers", "status", "loose"),
    [
        *((judged(judge), ["judge"], judge.status, None) for judge in (PASS, FAIL, NONE)),
        *(
            (judged(j, RUBRIC, RULE, RUBRIC, reply="Tennis."), ["terms", "judge"], j.status, None)
            for j in (PASS, FAIL, NONE)
        ),
        (judged(PASS, RUBRIC, RULE), ["terms", "judge"], "fail", None),
        (judged(PASS, RUBRIC, **TWO_OPEN), ["language", "judge"], "undecided", "undecided"),
        (judged(PASS, RUBRIC, loose="undecided"), ["judge"], "pass", "pass"),
        (judged(PASS, RUBRIC, loose="fail"), ["judge"], "pass", "fail"),
        (judged(PASS, **RELEASED), ["judge"], "fail", "fail"),
        (judged(FAIL, **RELEASED), ["judge"], "pass", "pass"),
        *(
            (judged(PASS, *rules, reply=JUNK, expected=expected), ["judge"], "fail", None)
            for rules in ((), (RUBRIC,))
            for expected in ("kept", "released")
        ),
    ],
)  # fmt: skip
def test_the_judge_decides_what_rules_leave_open(found, verifiers, status, loose) -> None:
    decided = with_judge_status(found)
    assert [v.verifier for v in decided.verdicts] == verifiers
    assert (decided.status, decided.loose) == (status, loose)
    assert not is_ruled(decided) or "language" in verifiers
    assert with_judge_status(decided) == decided


@pytest.mark.parametrize(
    "found",
    [
        *(judged(j, RULE, reply=r) for j in (PASS, FAIL) for r in ("I like tea.", "I like tennis.")),
        judged(None),
        judged(None, RUBRIC),
        judged(None, reply="", verdicts=(verdict("undecided", "run"),), finish="context_limit"),
        sample(instruction=None, split="none", verdicts=(), judge=PASS),
    ],
)  # fmt: skip
def test_what_rules_decide_and_what_was_not_judged_stays(found: Sample) -> None:
    assert with_judge_status(found) == found


def test_attach_finds_each_sample_by_its_key() -> None:
    measured = verdict("pass", "similarity")
    one, two, three, junk = (
        judged(None, dialogue=name, reply=reply, completion=measured)
        for name, reply in (("1", "Tea."), ("2", "Tea."), ("3", "Tea."), ("4", JUNK))
    )
    verdicts = {
        ("adherence", one.key): PASS,
        ("completion", one.key): FAIL,
        ("completion", two.key): NONE,
        ("completion", junk.key): PASS,
    }
    found = attach([one, two, three, junk], verdicts)
    assert [(s.status, s.judge, s.completion and s.completion.status) for s in found] == [
        ("pass", PASS, "fail"),
        ("undecided", None, "undecided"),
        ("undecided", None, "pass"),
        ("undecided", None, "fail"),
    ]
    assert found[2] == three
    assert [Sample.from_dict(s.as_dict()) for s in found] == found
