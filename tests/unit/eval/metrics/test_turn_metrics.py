"""Adherence, survival, probe recall and false triggers on a hand-made run."""

from __future__ import annotations

from fake_samples import instruction, sample

from eval.metrics.adherence import adherence
from eval.metrics.false_trigger import false_trigger
from eval.metrics.outcomes import Outcome, Rate, rate_of
from eval.metrics.probe_recall import probe_recall
from eval.metrics.survival import survival
from eval.metrics.wilson import wilson_interval
from eval.samples import Sample


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


def rates(outcomes: dict[int, list[Outcome]]) -> dict[int, tuple[float | None, int, int]]:
    found = {turn: rate_of(counted) for turn, counted in outcomes.items()}
    return {t: (r.rate, r.num_dialogues, r.num_undecided) for t, r in found.items()}


def test_adherence_counts_undecided_apart() -> None:
    # Turn 1: p p u f p -> 3 of 4. Turn 2: p f p u u -> 2 of 3. Turn 4: p p p f -> 3 of 4.
    assert rates(adherence(MADE)) == {1: (3 / 4, 4, 1), 2: (2 / 3, 3, 2), 4: (3 / 4, 4, 0)}


def test_survival_dies_with_the_first_fail_and_doubts_with_the_undecided() -> None:
    # Turn 1: a b e live, d dead, c unknown -> 3 of 4.
    # Turn 2: a lives, b d dead, c e unknown -> 1 of 3.
    # Turn 4: a lives, b dead, e dead (u, then f), c unknown; d was not asked -> 1 of 3.
    assert rates(survival(MADE)) == {1: (3 / 4, 4, 1), 2: (1 / 3, 3, 2), 4: (1 / 3, 3, 1)}


def test_survival_keeps_arms_histories_and_instructions_apart() -> None:
    made = [
        sample(turn=1, status="fail", history="own"),
        sample(turn=2, status="pass"),
        sample(turn=1, status="fail", arm="gatt"),
        sample(turn=1, status="fail", instruction=instruction("language", "Polish")),
    ]
    assert [o.status for o in survival(made)[2]] == ["pass"]


def test_survival_does_not_depend_on_the_order_of_samples() -> None:
    assert rates(survival(MADE[::-1])) == rates(survival(MADE))


def test_probes_and_plain_dialogues_stay_out_of_adherence_and_survival() -> None:
    plain = {"instruction": None, "split": "none"}
    made = [
        sample(kind="probe", turn=2, status="fail"),
        sample(kind="probe", turn=2, status="pass", dialogue="d2"),
        sample(turn=3, status="pass", **plain),
    ]
    assert not adherence(made)
    assert not survival(made)
    assert rates(probe_recall(made)) == {2: (1 / 2, 2, 0)}
    assert rates(false_trigger(made)) == {3: (1.0, 1, 0)}


def test_nothing_decided_is_not_measured() -> None:
    assert rate_of([Outcome("a", "undecided")]) == Rate(
        rate=None, low=None, high=None, num_dialogues=0, num_passed=0, num_decided=0,
        num_undecided=1, pessimistic=0.0, optimistic=1.0,
    )  # fmt: skip


def test_nobody_hides_behind_undecided_replies() -> None:
    # 10 of 12 decided pass, 4 are undecided: 10/16 and 14/16 bound what they could have been.
    statuses = ["pass"] * 10 + ["fail"] * 2 + ["undecided"] * 4
    rate = rate_of([Outcome(str(n), s) for n, s in enumerate(statuses)])
    assert rate.rate == 10 / 12
    assert (rate.num_passed, rate.num_decided, rate.num_undecided) == (10, 12, 4)
    assert (rate.pessimistic, rate.optimistic) == (10 / 16, 14 / 16)
    errors = rate_of([Outcome(str(n), s) for n, s in enumerate(statuses)], is_pass_good=False)
    assert (errors.pessimistic, errors.optimistic) == (14 / 16, 10 / 16)


def test_a_rate_carries_its_interval() -> None:
    rate = rate_of([Outcome(str(n), "pass" if n < 3 else "fail") for n in range(4)])
    assert (rate.low, rate.high) == wilson_interval(3, 4)
