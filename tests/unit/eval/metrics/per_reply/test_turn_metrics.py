"""The metrics of single turns on a hand-made run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from eval.metrics.outcomes import Outcome, Rate, Rows, rate_of
from eval.metrics.per_reply.adherence import adherence, adherence_loose
from eval.metrics.per_reply.false_trigger import false_trigger
from eval.metrics.per_reply.probe_recall import probe_recall
from eval.metrics.per_reply.survival import survival
from eval.metrics.per_reply.task_completion import task_completion
from eval.records.samples import Sample
from gatt.verifiers.base import Verdict
from tests.support.runs.fake_samples import instruction, sample

PLAIN: dict[str, Any] = {"instruction": None, "split": "none"}


def run(**statuses: str) -> list[Sample]:
    """Turns 1, 2, 4 of each dialogue from letters: p(ass), f(ail), u(ndecided), - not asked."""
    words = {"p": "pass", "f": "fail", "u": "undecided"}
    return [
        sample(dialogue=dialogue, turn=turn, status=words[letter])
        for dialogue, letters in statuses.items()
        for turn, letter in zip((1, 2, 4), letters, strict=True)
        if letter != "-"
    ]


MADE = run(a="ppp", b="pfp", c="upp", d="fu-", e="puf")


def rates(outcomes: Iterable[Outcome]) -> dict[int, tuple[float | None, int, int]]:
    found = {turn: rate_of(rows) for turn, rows in Rows.of(outcomes).by_turn()}
    return {t: (r.rate, r.num_dialogues, r.num_undecided) for t, r in found.items()}


def rate(*statuses: Any, is_pass_good: bool = True) -> Rate:
    made = [sample(dialogue=str(n), status=s) for n, s in enumerate(statuses)]
    return rate_of(Rows.of(Outcome(s, s.status) for s in made), is_pass_good=is_pass_good)


def test_adherence_counts_undecided_apart() -> None:
    # Turn 1: p p u f p -> 3 of 4. Turn 2: p f p u u -> 2 of 3. Turn 4: p p p f -> 3 of 4.
    assert rates(adherence(MADE)) == {1: (3 / 4, 4, 1), 2: (2 / 3, 3, 2), 4: (3 / 4, 4, 0)}


def test_survival_dies_with_the_first_fail_and_doubts_with_the_undecided() -> None:
    # Turn 1: a b e live, d dead, c unknown -> 3 of 4.
    # Turn 2: a lives, b d dead, c e unknown -> 1 of 3.
    # Turn 4: a lives, b dead, e dead (u, then f), c unknown; d was not asked -> 1 of 3.
    assert rates(survival(MADE[::-1])) == {1: (3 / 4, 4, 1), 2: (1 / 3, 3, 2), 4: (1 / 3, 3, 1)}


def test_survival_keeps_arms_histories_and_instructions_apart() -> None:
    made = [
        sample(turn=1, status="fail", history="own"),
        sample(turn=2, status="pass"),
        sample(turn=1, status="fail", arm="gatt"),
        sample(turn=1, status="fail", instruction=instruction("language", "Polish")),
    ]
    assert [o.status for o in survival(made) if o.sample.turn == 2] == ["pass"]


def test_turns_that_release_the_model_count_for_no_metric_of_keeping() -> None:
    made = [
        sample(turn=1, status="pass"),
        sample(turn=2, status="fail", expected="released"),
        sample(turn=3, status="pass"),
        sample(turn=2, status="pass", expected="released", kind="probe"),
    ]
    expected = {1: (1.0, 1, 0), 3: (1.0, 1, 0)}
    for metric in (adherence, adherence_loose, survival):
        assert rates(metric(made)) == expected
    assert rates(probe_recall(made)) == {}


def test_leniency_counts_where_it_was_asked_for() -> None:
    made = [
        sample(status="fail", loose="pass"),
        sample(dialogue="d2", status="fail", loose=None),
        sample(dialogue="d3", status="fail", loose="undecided"),
    ]
    assert rates(adherence(made)) == {1: (0.0, 3, 0)}
    assert rates(adherence_loose(made)) == {1: (1 / 2, 2, 1)}


def test_task_completion_counts_what_was_measured_plain_dialogues_too() -> None:
    done, missed = (Verdict(s, "similarity 0.4", "completion", 1) for s in ("pass", "fail"))
    made = [
        sample(status="fail", completion=done),
        sample(dialogue="d2", completion=missed, expected="released"),
        sample(dialogue="d3", completion=None),
        sample(dialogue="d4", completion=done, **PLAIN),
        sample(dialogue="d5", completion=missed, kind="probe"),
    ]
    assert rates(task_completion(made)) == {1: (2 / 3, 3, 0)}


def test_probes_and_plain_dialogues_stay_out_of_adherence_and_survival() -> None:
    made = [
        sample(kind="probe", turn=2, status="fail"),
        sample(kind="probe", turn=2, status="pass", dialogue="d2"),
        sample(turn=3, status="pass", **PLAIN),
    ]
    assert not list(adherence(made))
    assert not list(survival(made))
    assert rates(probe_recall(made)) == {2: (1 / 2, 2, 0)}
    assert rates(false_trigger(made)) == {3: (1.0, 1, 0)}


def test_nothing_decided_is_not_measured() -> None:
    assert rate("undecided") == Rate(
        rate=None, low=None, high=None, num_dialogues=0, num_instructions=0, num_passed=0,
        num_decided=0, num_undecided=1, pessimistic=0.0, optimistic=1.0,
    )  # fmt: skip


def test_nobody_hides_behind_undecided_replies() -> None:
    # 10 of 12 decided pass, 4 are undecided: 10/16 and 14/16 bound what they could have been.
    statuses = ["pass"] * 10 + ["fail"] * 2 + ["undecided"] * 4
    found = rate(*statuses)
    assert found.rate == 10 / 12
    assert (found.num_passed, found.num_decided, found.num_undecided) == (10, 12, 4)
    assert (found.pessimistic, found.optimistic) == (10 / 16, 14 / 16)
    errors = rate(*statuses, is_pass_good=False)
    assert (errors.pessimistic, errors.optimistic) == (14 / 16, 10 / 16)


def test_a_rate_says_how_many_instructions_it_rests_on() -> None:
    made = [
        sample(dialogue=d, instruction=instruction("language", value))
        for d, value in (("d1", "French"), ("d2", "French"), ("d3", "Polish"))
    ]
    plain = [sample(dialogue=d, **PLAIN) for d in ("p1", "p2")]
    assert rate_of(Rows.of(adherence(made))).num_instructions == 2
    both = rate_of(Rows.of(Outcome(s, s.status) for s in (*made, *plain)))
    assert (both.num_instructions, both.num_dialogues) == (2, 5)
