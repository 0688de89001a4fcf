"""The dialogue's own replies as the reference of every rate."""

from __future__ import annotations

from typing import Any

from eval.metrics.curves import CurvePoint
from eval.metrics.own_replies import vacuous_curves
from gatt.data.instruction import Entry
from gatt.verifiers.spec import VerifierSpec
from tests.support.runs.fake_samples import instruction, sample

TEA = VerifierSpec("terms", {"any_of": ["tea"]})
TEA_ENTRY = Entry("x.tea", "x", "tea", ("Say tea.",), "tea.", (TEA,))
PLAIN = {"instruction": None, "split": "none", "family": "plain"}


def totals(points: list[CurvePoint], **wanted: Any) -> list[CurvePoint]:
    wanted = {"split": "all", "family": "all"} | wanted
    return [p for p in points if all(getattr(p, k) == v for k, v in wanted.items())]


def test_own_replies_are_judged_once_whatever_the_arms_said() -> None:
    told = {"instruction": instruction("language", "French")}
    made = [
        sample(arm=arm, dialogue=d, status=status, reference=reference, **told)
        for arm, status in (("base", "fail"), ("gatt", "pass"))
        for d, reference in (("d1", "I know no French."), ("d2", "It was calm."), ("d3", None))
    ]
    (point,) = totals(vacuous_curves(made, ()))
    assert (point.metric, point.arm) == ("vacuous_adherence", "dialogue")
    assert (point.num_passed, point.num_decided, point.num_dialogues) == (1, 2, 2)


def test_own_replies_of_plain_dialogues_are_false_triggers_where_they_follow_an_entry() -> None:
    made = [
        sample(**PLAIN, dialogue="d1", reference="We had tea.", status="fail"),
        sample(**PLAIN, dialogue="d2", reference="It was calm.", status="pass"),
    ]
    points = totals(vacuous_curves(made, [TEA_ENTRY]), history="reference")
    assert [(p.metric, p.num_passed, p.num_decided) for p in points] == [
        ("vacuous_false_trigger", 1, 2)
    ]
