"""Judge against rules: counts by hand, and what must not be compared."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from eval.metrics.agreement import Agreement, agreement
from eval.records.samples import Sample
from eval.scoring.judge.question import JudgeKey
from eval.scoring.judge.status import attach
from gatt.verifiers import Verdict
from tests.support.runs.judged import RUBRIC, instruction, sample, verdict


def pairs(
    statuses: Sequence[tuple[str, str]], **changes: object
) -> tuple[list[Sample], dict[JudgeKey, Verdict]]:
    """Return samples with these statuses by the rules, and these by the judge."""
    samples = [
        sample(dialogue=f"d{n}", status=rules, verdicts=(verdict(rules),), **changes)
        for n, (rules, _) in enumerate(statuses)
    ]
    return samples, {
        ("adherence", s.key): verdict(judge, "judge")
        for s, (_, judge) in zip(samples, statuses, strict=True)
    }


def one(found: Sequence[Agreement]) -> Agreement:
    assert len(found) == 1
    return found[0]


def test_counts_and_kappa_by_hand() -> None:
    statuses = [("pass", "pass")] * 20 + [("fail", "fail")] * 15
    statuses += [("pass", "fail")] * 5 + [("fail", "pass")] * 10 + [("pass", "undecided")] * 4
    statuses += [("undecided", "pass")] * 3 + [("undecided", "undecided")] * 2
    found = one(agreement(*pairs(statuses)))
    assert (found.arm, found.history, found.metric) == ("base", "own", "adherence")
    assert (found.both_pass, found.both_fail, found.only_rules, found.only_judge) == (20, 15, 5, 10)
    assert (found.num_both, found.num_missing) == (50, 4)
    # po = 35/50 = 0.7, pe = 0.5*0.6 + 0.5*0.4 = 0.5, kappa = 0.2/0.5 = 0.4
    assert found.agreement == pytest.approx(0.7)
    assert found.kappa == pytest.approx(0.4)
    assert found.kappa_low is not None
    assert found.kappa_high is not None
    assert 0.1 < found.kappa_low < 0.4 < found.kappa_high < 0.7


def test_a_judge_that_gives_no_verdict_is_missing_and_has_no_rates() -> None:
    found = one(agreement(*pairs([("pass", "undecided"), ("fail", "undecided")])))
    assert (found.num_both, found.num_missing) == (0, 2)
    assert (found.agreement, found.kappa, found.kappa_low) == (None, None, None)


def test_kappa_is_not_invented_where_both_say_one_thing() -> None:
    found = one(agreement(*pairs([("fail", "fail")] * 9)))
    assert (found.agreement, found.kappa, found.kappa_low, found.kappa_high) == (
        1.0,
        None,
        None,
        None,
    )


def test_arms_and_histories_stand_apart_and_all_arms_together() -> None:
    samples, verdicts = [], {}
    for arm, judge in (("base", "pass"), ("gatt", "fail")):
        for history in ("own", "reference"):
            some, said = pairs([("pass", judge)] * 3, arm=arm, history=history)
            samples += some
            verdicts |= said
    found = {(a.arm, a.history): a for a in agreement(samples, verdicts)}
    assert set(found) == {(a, h) for a in ("base", "gatt", "all") for h in ("own", "reference")}
    assert found["base", "own"].both_pass == found["gatt", "own"].only_rules == 3
    assert (found["all", "own"].both_pass, found["all", "own"].only_rules) == (3, 3)


def test_what_was_left_to_the_judge_is_not_compared_with_itself() -> None:
    open_verdict = verdict("undecided", "judge")
    samples = [
        sample(dialogue="none", instruction=instruction(), verdicts=(), status="undecided"),
        sample(
            dialogue="rubric",
            instruction=instruction(RUBRIC),
            verdicts=(open_verdict,),
            status="undecided",
        ),
    ]
    verdicts: dict[JudgeKey, Verdict] = {
        ("adherence", s.key): verdict("pass", "judge") for s in samples
    }
    judged = attach(samples, verdicts)
    assert {s.status for s in judged} == {"pass"}
    assert agreement(samples, verdicts) == agreement(judged, verdicts) == []


def test_a_sample_that_was_not_asked_about_is_not_missing() -> None:
    assert agreement([sample()], {}) == []


def test_probes_are_a_metric_of_their_own() -> None:
    assert one(agreement(*pairs([("pass", "pass")], kind="probe"))).metric == "probe_recall"


def test_a_released_instruction_turns_the_judges_verdict_round() -> None:
    found = one(agreement(*pairs([("pass", "fail"), ("fail", "pass")], expected="released")))
    assert (found.both_pass, found.both_fail, found.agreement) == (1, 1, 1.0)


def test_completion_is_compared_with_what_was_measured() -> None:
    measured = [
        sample(dialogue=f"d{n}", completion=verdict(status, "similarity"))
        for n, status in enumerate(("pass", "fail", "fail", "undecided"))
    ]
    samples = [
        *measured,
        sample(dialogue="none"),
        sample(dialogue="j", completion=verdict("pass", "judge")),
    ]
    verdicts: dict[JudgeKey, Verdict] = {
        ("completion", s.key): verdict("pass", "judge") for s in samples
    }
    found = one(agreement(samples, verdicts))
    assert found.metric == "task_completion"
    assert (found.both_pass, found.only_judge, found.num_both) == (1, 2, 3)
    assert agreement(attach(samples, verdicts), verdicts) == []
