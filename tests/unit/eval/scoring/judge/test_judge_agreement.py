"""Judge against rules: counts by hand, and what must not be compared."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from eval.metrics.agreement import agreement
from eval.records.samples import Sample
from eval.scoring.judge.question import JudgeKey
from eval.scoring.verdict import attach
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


def test_counts_and_kappa_by_hand() -> None:
    statuses = [("pass", "pass")] * 20 + [("fail", "fail")] * 15
    statuses += [("pass", "fail")] * 5 + [("fail", "pass")] * 10 + [("pass", "undecided")] * 4
    statuses += [("undecided", "pass")] * 3 + [("undecided", "undecided")] * 2
    (found,) = agreement(*pairs(statuses))
    assert (found.arm, found.history, found.metric) == ("base", "own", "keeps")
    assert (found.both_pass, found.both_fail, found.only_rules, found.only_judge) == (20, 15, 5, 10)
    assert (found.num_both, found.num_missing) == (50, 4)
    # po = 35/50 = 0.7, pe = 0.5*0.6 + 0.5*0.4 = 0.5, kappa = 0.2/0.5 = 0.4
    assert found.agreement == pytest.approx(0.7)
    assert found.kappa == pytest.approx(0.4)
    for statuses, rate in (([("fail", "undecided")], None), ([("fail", "fail")] * 9, 1.0)):
        (found,) = agreement(*pairs(statuses))
        assert (found.agreement, found.kappa) == (rate, None)


def test_what_was_left_to_the_judge_is_not_compared_with_itself() -> None:
    open_verdict = verdict("undecided", "judge")
    samples = [
        sample(dialogue=name, instruction=told, verdicts=verdicts, status="undecided")
        for name, told, verdicts in (
            ("none", instruction(), ()), ("rubric", instruction(RUBRIC), (open_verdict,)),
        )
    ]  # fmt: skip
    verdicts: dict[JudgeKey, Verdict] = {
        ("adherence", s.key): verdict("pass", "judge") for s in samples
    }
    judged = attach(samples, verdicts)
    assert {s.status for s in judged} == {"pass"}
    assert agreement(samples, verdicts) == agreement(judged, verdicts) == []


def test_probes_are_a_metric_of_their_own_and_a_release_turns_the_verdict_round() -> None:
    (found,) = agreement(*pairs([("pass", "pass")], kind="probe"))
    assert found.metric == "probe_recall"
    (found,) = agreement(*pairs([("pass", "fail"), ("fail", "pass")], expected="released"))
    assert (found.both_pass, found.both_fail, found.agreement) == (1, 1, 1.0)


def test_completion_is_compared_with_the_answers_that_rules_found() -> None:
    measured = [
        sample(dialogue=f"d{n}", answer=verdict(status, "answers"), asks="question")
        for n, status in enumerate(("pass", "fail", "fail", "undecided"))
    ]
    samples = [*measured, sample(dialogue="none")]
    verdicts: dict[JudgeKey, Verdict] = {
        ("completion", s.key): verdict("pass", "judge") for s in samples
    }
    (found,) = agreement(samples, verdicts)
    assert found.metric == "answers"
    assert (found.both_pass, found.only_judge, found.num_both) == (1, 2, 3)
    assert agreement(attach(samples, verdicts), verdicts) == [found]
