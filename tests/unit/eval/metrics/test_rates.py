"""Rates of single replies, and curves over turns, on hand-made runs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import pytest

from eval.config import TAKEN
from eval.metrics.curves import (
    ALL,
    OWN_REPLIES,
    CurvePoint,
    OutcomeColumns,
    Rate,
    curves,
    rate_of,
    vacuous_curves,
)
from eval.metrics.intervals import wilson_interval
from eval.metrics.table import (
    Outcome,
    false_trigger,
    keeps,
    keeps_loose,
    probe_recall,
    repetition,
    survival,
    task_completion,
)
from eval.records.samples import Sample
from eval.results.write import samples_of_rows
from gatt.data.instruction import Entry
from gatt.errors import DataError
from gatt.verifiers.base import Verdict
from gatt.verifiers.spec import VerifierSpec
from tests.support.runs.fake_samples import instruction, sample

PLAIN: dict[str, Any] = {"instruction": None, "split": "none"}
WORDS = {"p": "pass", "f": "fail", "u": "undecided"}
MADE = [
    sample(dialogue=dialogue, turn=turn, status=WORDS[letter])
    for dialogue, letters in {"a": "ppp", "b": "pfp", "c": "upp", "d": "fu", "e": "puf"}.items()
    for turn, letter in zip((1, 2, 4), letters, strict=False)
]
DONE, MISSED = (Verdict(s, "similarity 0.4", "completion", 1) for s in ("pass", "fail"))
POLISH = instruction("language", "Polish")


def rates(outcomes: Iterable[Outcome]) -> dict[int, tuple[float | None, int, int]]:
    found = {turn: rate_of(rows) for turn, rows in OutcomeColumns.of(outcomes).by_turn()}
    return {t: (r.rate, r.num_dialogues, r.num_undecided) for t, r in found.items()}


RELEASED = [
    sample(turn=1, status="pass"),
    sample(turn=2, status="fail", expected="released"),
    sample(turn=3, status="pass"),
    sample(turn=2, status="pass", expected="released", kind="probe"),
]
LENIENT = [
    sample(status="fail", loose="pass"),
    sample(dialogue="d2", status="fail", loose=None),
    sample(dialogue="d3", status="fail", loose="undecided"),
]
MEASURED = [
    sample(status="fail", completion=DONE),
    sample(dialogue="d2", completion=MISSED, expected="released"),
    sample(dialogue="d3", completion=None),
    sample(dialogue="d4", completion=DONE, **PLAIN),
    sample(dialogue="d5", completion=MISSED, kind="probe"),
]
OTHERS = [
    sample(kind="probe", turn=2, status="fail"),
    sample(kind="probe", turn=2, status="pass", dialogue="d2"),
    sample(turn=3, status="pass", **PLAIN),
]


@pytest.mark.parametrize(
    ("metric", "samples", "expected"),
    [
        # Turn 1: p p u f p -> 3 of 4. Turn 2: p f p u u -> 2 of 3. Turn 4: p p p f -> 3 of 4.
        (keeps, MADE, {1: (3 / 4, 4, 1), 2: (2 / 3, 3, 2), 4: (3 / 4, 4, 0)}),
        # Turn 1: a b e live, d dead, c unknown -> 3 of 4.
        # Turn 2: a lives, b d dead, c e unknown -> 1 of 3.
        # Turn 4: a lives, b dead, e dead (u, then f), c unknown; d was not asked -> 1 of 3.
        (survival, MADE[::-1], {1: (3 / 4, 4, 1), 2: (1 / 3, 3, 2), 4: (1 / 3, 3, 1)}),
        *((m, RELEASED, {1: (1.0, 1, 0), 3: (1.0, 1, 0)}) for m in (keeps, keeps_loose, survival)),
        (probe_recall, RELEASED, {}),
        (keeps, LENIENT, {1: (0.0, 3, 0)}),
        (keeps_loose, LENIENT, {1: (1 / 2, 2, 1)}),
        (task_completion, MEASURED, {1: (2 / 3, 3, 0)}),
        (keeps, OTHERS, {}),
        (survival, OTHERS, {}),
        (probe_recall, OTHERS, {2: (1 / 2, 2, 0)}),
        (false_trigger, OTHERS, {3: (1.0, 1, 0)}),
    ],
)  # fmt: skip
def test_rates_by_hand(metric, samples, expected) -> None:
    assert rates(metric(samples)) == expected


def test_survival_keeps_arms_histories_and_instructions_apart() -> None:
    changes = [{"history": "own"}, {"arm": "gatt"}, {"instruction": POLISH}]
    made = [sample(turn=1, status="fail", **c) for c in changes] + [sample(turn=2, status="pass")]
    assert [o.status for o in survival(made) if o.sample.turn == 2] == ["pass"]


def said(*texts: str, **changes):
    return [sample(turn=turn, reply=text, **changes) for turn, text in enumerate(texts, start=1)]


def statuses(samples) -> list[tuple[int, str]]:
    return [(o.sample.turn, o.status) for o in repetition(samples)]


def test_a_reply_is_compared_with_all_earlier_ones_of_its_dialogue_and_no_other() -> None:
    made = said("I am Napoleon.", "Well.", "i am  Napoleon.", "Fine.")
    assert statuses(reversed(made)) == [(2, "fail"), (3, "pass"), (4, "fail")]
    made = [
        *said("Yes.", "No.", dialogue="a"),
        *said("No.", "Yes.", dialogue="b"),
        *said("No.", "Yes.", dialogue="a", arm="other"),
        *said("No.", "Yes.", dialogue="a", history="own"),
    ]
    assert {status for _, status in statuses(made)} == {"fail"}
    made = [*said("Yes.", "", "Yes."), sample(turn=3, kind="probe", reply="Yes.")]
    assert statuses(made) == [(3, "pass")]


def test_replies_of_turns_that_nobody_judged_count_where_they_are_known() -> None:
    def row(turn: int, text: str, *samples: Sample, arm: str = "gatt") -> dict[str, Any]:
        made = [s.as_dict() for s in samples]
        said = {"text": text, "finish": "stop", "num_tokens": 3}
        return {"key": f"{arm}/own/d/{turn}", "said": said, "samples": made}

    def judged(turn: int, text: str, **changes: Any) -> Sample:
        return sample(turn=turn, reply=text, history="own", **changes)

    rows = [
        row(1, "I am Napoleon.", judged(1, "I am Napoleon.")), row(2, "Well."), row(1, "Fine.", arm="base"),
        row(3, "well.", judged(3, "well."), judged(3, "Well.", kind="probe")),
        row(4, "Fine.", judged(4, "Fine.")), row(5, " ", judged(5, " ")), row(6, "Well.", judged(6, "Well.")),
    ]  # fmt: skip
    samples = samples_of_rows(rows)
    assert [(s.turn, s.is_repeated) for s in samples] == [
        (1, False), (3, True), (3, None), (4, False), (5, None), (6, True),
    ]  # fmt: skip
    assert statuses(samples) == [(3, "pass"), (4, "fail"), (6, "pass")]


def rate(*statuses: Any, is_pass_good: bool = True) -> Rate:
    made = [sample(dialogue=str(n), status=s) for n, s in enumerate(statuses)]
    return rate_of(OutcomeColumns.of(Outcome(s, s.status) for s in made), is_pass_good=is_pass_good)


def test_nothing_decided_is_not_measured_and_nobody_hides_behind_undecided_replies() -> None:
    assert rate("undecided") == Rate(
        rate=None, low=None, high=None, num_dialogues=0, num_instructions=0, num_passed=0,
        num_decided=0, num_undecided=1, pessimistic=0.0, optimistic=1.0,
    )  # fmt: skip
    # 10 of 12 decided pass, 4 are undecided: 10/16 and 14/16 bound what they could have been.
    made = ["pass"] * 10 + ["fail"] * 2 + ["undecided"] * 4
    found, errors = rate(*made), rate(*made, is_pass_good=False)
    assert (found.num_instructions, found.num_dialogues) == (1, 12)
    assert found.rate == 10 / 12
    assert (found.num_passed, found.num_decided, found.num_undecided) == (10, 12, 4)
    assert (found.pessimistic, found.optimistic) == (10 / 16, 14 / 16)
    assert (errors.pessimistic, errors.optimistic) == (14 / 16, 10 / 16)


FIGURE = {
    "instruction": instruction("figure", "Napoleon", "heldout_value"),
    "family": "figure",
    "split": "heldout_value",
}


def find(points: list[CurvePoint], **wanted: Any) -> list[CurvePoint]:
    return [p for p in points if all(getattr(p, k) == v for k, v in wanted.items())]


def test_curves_give_totals_splits_families_and_both() -> None:
    made = [sample(), sample(dialogue="d2", status="fail", **FIGURE)]
    found = find(curves(made), metric="keeps")
    assert {(p.split, p.family): p.rate for p in found} == {
        ("all", "all"): 0.5, ("all", "language"): 1.0, ("all", "figure"): 0.0, ("train", "all"): 1.0,
        ("train", "language"): 1.0, ("heldout_value", "all"): 0.0, ("heldout_value", "figure"): 0.0,
    }  # fmt: skip
    assert {p.metric for p in curves(made)} == {"keeps", "keeps_loose", "survival"}


def test_a_curve_record_is_flat_and_comes_back() -> None:
    (point,) = find(curves([sample()]), metric="keeps", split="all", family="all")
    record = asdict(point)
    low, high = wilson_interval(1, 1)
    assert record == {
        "arm": "base", "metric": "keeps", "history": "reference", "split": "all",
        "family": "all", "turn": 1, "rate": 1.0, "low": low, "high": high, "num_dialogues": 1,
        "num_passed": 1, "num_decided": 1, "num_undecided": 0, "pessimistic": 1.0,
        "optimistic": 1.0, "num_instructions": 1,
    }  # fmt: skip
    assert CurvePoint.from_dict(json.loads(json.dumps(record))) == point


@pytest.mark.parametrize(("raw", "found"), [({"arm": "base"}, "metric"), ([], "list")])
def test_a_broken_record_is_refused(raw: Any, found: str) -> None:
    with pytest.raises(DataError, match=found):
        CurvePoint.from_dict(raw)


def test_no_adapter_may_be_called_what_reports_call_something_else() -> None:
    assert set(TAKEN) == {OWN_REPLIES, ALL}


TEA = VerifierSpec("terms", {"any_of": ["tea"]})
TEA_ENTRY = Entry("x.tea", "x", "tea", ("Say tea.",), "tea.", (TEA,))


def totals(points: list[CurvePoint]) -> list[CurvePoint]:
    return find(points, split="all", family="all")


def test_own_replies_are_judged_once_whatever_the_arms_said() -> None:
    told = {"instruction": instruction("language", "French")}
    made = [
        sample(arm=arm, dialogue=d, status=status, reference=reference, **told)
        for arm, status in (("base", "fail"), ("gatt", "pass"))
        for d, reference in (("d1", "I know no French."), ("d2", "It was calm."), ("d3", None))
    ]
    (point,) = totals(vacuous_curves(made, ()))
    assert (point.metric, point.arm) == ("vacuous_keeps", "dialogue")
    assert (point.num_passed, point.num_decided, point.num_dialogues) == (1, 2, 2)
    plain = [
        sample(**PLAIN, family="plain", dialogue="d1", reference="We had tea.", status="fail"),
        sample(
            **PLAIN, family="plain", dialogue="d2", reference="It was calm.", status="undecided"
        ),
    ]
    (point,) = totals(vacuous_curves(plain, [TEA_ENTRY]))
    assert (point.metric, point.num_passed) == ("vacuous_false_trigger", 1)
    (asked,) = [p for p in totals(curves(plain)) if p.metric == "false_trigger"]
    # Here a pass is the error: undecided counts as one when the worst is assumed.
    assert (asked.rate, asked.pessimistic, asked.optimistic) == (0.0, 0.5, 0.0)
    assert asked.num_instructions == 0
