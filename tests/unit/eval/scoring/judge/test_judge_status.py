"""What the judge says of a sample, and when it decides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from eval.records.samples import Sample
from eval.scoring.judge.status import attach, is_ruled, with_judge_completion, with_judge_status
from gatt.verifiers import Verdict, check_all, overall
from tests.support.runs.judged import RUBRIC, RULE, instruction, sample, verdict

PASS, FAIL, NONE = (verdict(status, "judge") for status in ("pass", "fail", "undecided"))
JUNK = "tea tea tea tea tea tea tea tea tea tea tea tea"


def judged(
    judge: Verdict | None, *rules: Any, reply: str = "I like tea.", **changes: Any
) -> Sample:
    """Return a sample as rules leave it, with what the judge said."""
    verdicts = check_all(rules, reply)
    return sample(
        instruction=instruction(*rules),
        reply=reply,
        verdicts=verdicts,
        status=overall(verdicts),
        judge=judge,
        **changes,
    )


@pytest.mark.parametrize("judge", [PASS, FAIL, NONE])
def test_without_a_verifier_the_judge_decides(judge: Verdict) -> None:
    found = with_judge_status(judged(judge))
    assert (found.status, found.verdicts) == (judge.status, (judge,))
    assert not is_ruled(found)
    assert with_judge_status(found) == found


@pytest.mark.parametrize("judge", [PASS, FAIL, NONE])
def test_its_verdict_takes_the_place_of_the_open_ones(judge: Verdict) -> None:
    found = with_judge_status(judged(judge, RUBRIC, RULE, RUBRIC, reply="I like tennis."))
    assert found.status == judge.status
    assert [v.verifier for v in found.verdicts] == ["terms", "judge"]
    assert found.verdicts[-1] == judge
    assert with_judge_status(found) == found


def test_a_rule_beside_it_that_fails_still_fails() -> None:
    assert with_judge_status(judged(PASS, RUBRIC, RULE)).status == "fail"


def test_a_rule_beside_it_that_cannot_tell_stays_open() -> None:
    open_rule = replace(
        judged(PASS, RUBRIC), verdicts=(verdict("undecided", "language"), *judged(None, RUBRIC).verdicts)
    )  # fmt: skip
    assert with_judge_status(open_rule).status == "undecided"
    assert with_judge_status(replace(open_rule, judge=FAIL)).status == "fail"


@pytest.mark.parametrize("reply", ["I like tea.", "I like tennis."])
@pytest.mark.parametrize("judge", [PASS, FAIL])
def test_what_rules_decide_stays(judge: Verdict, reply: str) -> None:
    ruled = judged(judge, RULE, reply=reply)
    assert is_ruled(ruled)
    assert with_judge_status(ruled) == ruled


def test_a_sample_that_was_not_judged_stays() -> None:
    for open_sample in (judged(None), judged(None, RUBRIC)):
        assert with_judge_status(open_sample) == open_sample
        assert not is_ruled(open_sample)


def test_no_reply_and_plain_dialogues_stay() -> None:
    full = sample(
        reply="",
        status="undecided",
        verdicts=(verdict("undecided", "run"),),
        finish="context_limit",
    )
    plain = sample(instruction=None, split="none", verdicts=(), judge=PASS)
    assert with_judge_status(full) == full
    assert with_judge_status(plain) == plain


@pytest.mark.parametrize("rules", [(), (RUBRIC,)])
@pytest.mark.parametrize("expected", ["kept", "released"])
def test_junk_fails_whatever_the_judge_says(rules: Any, expected: Any) -> None:
    found = with_judge_status(judged(PASS, *rules, reply=JUNK, expected=expected))
    assert found.verdicts[0].verifier == "judge"
    assert not is_ruled(found)
    assert (found.status, found.verdicts[0].status) == ("fail", "fail")


@pytest.mark.parametrize(("judge", "status"), [(PASS, "fail"), (FAIL, "pass"), (NONE, "undecided")])
def test_following_a_released_instruction_is_a_fail(judge: Verdict, status: str) -> None:
    found = with_judge_status(judged(judge, expected="released", loose="undecided"))
    assert (found.status, found.loose, found.verdicts) == (status, status, (judge,))


def test_the_lenient_status_is_settled_where_only_the_judge_was_open() -> None:
    assert with_judge_status(judged(PASS, RUBRIC, loose="undecided")).loose == "pass"
    assert with_judge_status(judged(PASS, RUBRIC, loose="fail")).loose == "fail"
    assert with_judge_status(judged(PASS, RUBRIC)).loose is None
    both = replace(
        judged(PASS, RUBRIC, loose="undecided"),
        verdicts=(verdict("undecided", "language"), *judged(None, RUBRIC).verdicts),
    )
    assert with_judge_status(both).loose == "undecided"


def test_completion_by_the_judge_replaces_what_was_measured() -> None:
    measured = sample(completion=verdict("pass", "similarity"))
    assert with_judge_completion(measured, FAIL).completion == FAIL
    assert with_judge_completion(measured, NONE).completion == NONE
    junk = with_judge_completion(sample(reply=JUNK), PASS).completion
    assert junk is not None
    assert junk.status == "fail"


def test_attach_finds_each_sample_by_its_key() -> None:
    one, two, three = (judged(None, dialogue=name) for name in ("one", "two", "three"))
    verdicts = {
        ("adherence", one.key): PASS,
        ("completion", one.key): FAIL,
        ("completion", two.key): PASS,
    }
    found = attach([one, two, three], verdicts)
    assert [(s.status, s.judge, s.completion) for s in found] == [
        ("pass", PASS, FAIL),
        ("undecided", None, PASS),
        ("undecided", None, None),
    ]
    assert found[2] == three
    assert [Sample.from_dict(s.as_dict()) for s in found] == found
