from __future__ import annotations

from typing import Any

from eval.metrics.per_reply.repetition import repetition
from eval.records.samples import Sample
from eval.rollout.rows import samples_of_rows
from tests.support.runs.fake_samples import sample


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


def test_replies_of_turns_that_nobody_judged_count_where_they_are_known() -> None:
    def row(turn: int, text: str, *samples: Sample, arm: str = "gatt") -> dict[str, Any]:
        said = {"text": text, "finish": "stop", "num_tokens": 3}
        return {
            "key": f"{arm}/own/d/{turn}",
            "said": said,
            "samples": [s.as_dict() for s in samples],
        }

    def judged(turn: int, text: str, **changes: Any) -> Sample:
        return sample(turn=turn, reply=text, history="own", **changes)

    rows = [
        row(1, "I am Napoleon.", judged(1, "I am Napoleon.")),
        row(2, "Well."),
        row(1, "Fine.", arm="base"),
        row(3, "well.", judged(3, "well."), judged(3, "Well.", kind="probe")),
        row(4, "Fine.", judged(4, "Fine.")),
        row(5, " ", judged(5, " ")),
        row(6, "Well.", judged(6, "Well.")),
    ]
    samples = samples_of_rows(rows)
    assert [(s.turn, s.is_repeated) for s in samples] == [
        (1, False), (3, True), (3, None), (4, False), (5, None), (6, True),
    ]  # fmt: skip
    assert statuses(samples) == [(3, "pass"), (4, "fail"), (6, "pass")]
    # The first judged one, too, where more is known than the judged ones.
    assert statuses([s for s in samples if s.turn > 3]) == [(4, "fail"), (6, "pass")]
    # Of people's history only the judged replies are known.
    read = {"key": "gatt/reference/d", "samples": [s.as_dict() for s in said("Yes.", "Yes.")]}
    assert {s.is_repeated for s in samples_of_rows([read])} == {None}


def test_probes_and_replies_that_never_came_are_passed_over() -> None:
    made = [
        *said("Yes.", "", "Yes."),
        sample(turn=3, kind="probe", reply="Yes."),
        sample(turn=4, reply=" ", dialogue="b"),
    ]
    assert statuses(made) == [(3, "pass")]
