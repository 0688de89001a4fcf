"""Each part of an instruction has its own rate, and one that nothing judges is named."""

from __future__ import annotations

from eval.metrics.parts import part_rates
from gatt.data.instruction import with_rubrics
from gatt.data.parts import Part
from gatt.verifiers.base import Verdict
from gatt.verifiers.spec import VerifierSpec
from tests.support.runs.fake_samples import sample as fake_sample
from tests.support.runs.stages import hobby

ROLE = Part(about="you are Mia", num_verifiers=1, facts=("name",))
SHORT = Part(about="two sentences", num_verifiers=1)
NEVER = Part(about="no advice", asks=("Which pills?",))
OPEN = Part(about="be polite", rubric="The reply is polite.")
MIA = hobby(
    "x",
    probes=(),
    verifiers=(VerifierSpec("role", {"names": ["Mia"]}), VerifierSpec("sentences", {"max": 2})),
    parts=(ROLE, SHORT, NEVER, OPEN),
)


def verdict(status) -> Verdict:
    return Verdict(status, "seen", "rule", 1)


def reply(role="pass", short="pass", answer=None, asks=None, asks_what="", **changes):
    return fake_sample(
        instruction=MIA,
        verdicts=(verdict(role), verdict(short)),
        answer=answer and verdict(answer),
        asks=asks,
        asks_what=asks_what,
        **changes,
    )


def test_a_role_counts_where_it_is_asked_for_and_a_form_everywhere() -> None:
    samples = [
        reply(role="fail", short="fail", turn=1),
        reply(answer="pass", asks="speaker", asks_what="name", turn=2),
        reply(role="fail", answer="pass", asks="speaker", asks_what="name", turn=3),
        reply(answer="fail", asks="topic", asks_what="no advice", turn=4),
        reply(answer="pass", asks="own", turn=5, short="undecided"),
    ]
    rates = {
        r.part: (r.num_kept, r.num_replies, r.num_undecided, r.is_judged)
        for r in part_rates(samples)
    }
    assert rates == {
        "you are Mia": (1, 2, 0, True),
        "two sentences": (3, 4, 1, True),
        "no advice": (0, 1, 0, True),
        "be polite": (0, 0, 0, False),
    }


def test_a_judge_gets_the_rubrics_of_what_no_rule_can_tell() -> None:
    judged = with_rubrics(MIA)
    assert judged.verifiers[-1] == VerifierSpec("judge", {"rubric": "The reply is polite."})
    assert [part.about for part in judged.parts] == [
        "you are Mia", "two sentences", "no advice", "be polite",
    ]  # fmt: skip
    assert list(judged.verifiers_of(judged.parts[-1])) == [2]
    assert with_rubrics(judged) == judged


def test_a_part_that_waits_for_a_judge_is_not_judged() -> None:
    asked = VerifierSpec("judge", {"rubric": "The reply is polite."})
    part = Part(about="be polite", num_verifiers=1)
    polite = hobby("polite", probes=(), verifiers=(asked,), parts=(part,))
    for status, expected in (("undecided", (0, 1, False)), ("fail", (1, 0, True))):
        (rate,) = part_rates([fake_sample(instruction=polite, verdicts=(verdict(status),))])
        assert (rate.num_replies, rate.num_undecided, rate.is_judged) == expected
