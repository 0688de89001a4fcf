from __future__ import annotations

from eval.metrics.curves import PASS_IS_BAD, curves
from eval.metrics.repetition import repetition
from tests.support.fake_samples import sample


def said(*texts: str, **changes):
    return [sample(turn=turn, reply=text, **changes) for turn, text in enumerate(texts, start=1)]


def statuses(samples) -> list[tuple[int, str]]:
    return [(o.sample.turn, o.status) for o in repetition(samples)]


def test_a_reply_is_compared_with_all_earlier_ones_of_its_dialogue() -> None:
    made = said("I am Napoleon.", "Well.", "i am  Napoleon.", "Fine.")
    assert statuses(reversed(made)) == [(2, "fail"), (3, "pass"), (4, "fail")]


def test_other_dialogues_arms_and_histories_do_not_count() -> None:
    made = [
        *said("Yes.", "No.", dialogue="a"),
        *said("No.", "Yes.", dialogue="b"),
        *said("No.", "Yes.", dialogue="a", arm="other"),
        *said("No.", "Yes.", dialogue="a", history="own"),
    ]
    assert {status for _, status in statuses(made)} == {"fail"}


def test_probes_and_replies_that_never_came_are_passed_over() -> None:
    made = [
        *said("Yes.", "", "Yes."),
        sample(turn=3, kind="probe", reply="Yes."),
        sample(turn=4, reply=" ", dialogue="b"),
    ]
    assert statuses(made) == [(3, "pass")]


def test_it_is_a_curve_on_which_high_is_bad() -> None:
    (point,) = (
        p for p in curves(said("Yes.", "Yes."))
        if (p.metric, p.family, p.split) == ("repetition", "all", "all")
    )  # fmt: skip
    assert (point.turn, point.rate, point.num_passed) == (2, 1.0, 1)
    assert "repetition" in PASS_IS_BAD
