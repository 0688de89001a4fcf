"""`not` and `all`: what they pass on, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from gatt.errors import VerifierError
from gatt.verifiers import build
from gatt.verifiers.negative_controls import JUNK
from gatt.verifiers.spec import VerifierSpec

TEA = {"kind": "terms", "any_of": ["tea"]}
LOWER = {"kind": "letter_case", "case": "lower"}


def _check(kind: str, of: object, reply: str) -> tuple[str, str, tuple[int, int] | None]:
    verdict = build(VerifierSpec(kind, {"of": of})).check(reply)
    assert verdict.verifier == kind
    return verdict.status, verdict.evidence, verdict.span


def test_not_turns_a_verdict_around_and_keeps_its_evidence() -> None:
    assert _check("not", TEA, "I like tea.") == ("fail", "terms: says 'tea'", (7, 10))
    assert _check("not", TEA, "I like milk.")[:2] == ("pass", "terms: says none of: tea")


def test_undecided_stays_undecided() -> None:
    assert _check("not", LOWER, "我喜欢喝茶。")[0] == "undecided"
    assert _check("all", [LOWER, TEA], "我喜欢喝茶 tea。")[0] == "pass"
    assert _check("all", [LOWER, {"kind": "words", "max": 9}], "我喜欢喝茶。")[0] == "undecided"


def test_one_fail_outweighs_what_is_undecided() -> None:
    status, evidence, _ = _check("all", [LOWER, TEA], "我喜欢喝茶。")
    assert (status, evidence) == ("fail", "terms: says none of: tea")


@pytest.mark.parametrize("of", [TEA, LOWER, {"kind": "haiku"}, {"kind": "not", "of": TEA}], ids=str)
def test_junk_fails_a_rule_and_its_opposite(of: dict[str, Any]) -> None:
    for kind, inner in (("not", of), ("all", [of, {"kind": "not", "of": of}])):
        verifier = build(VerifierSpec(kind, {"of": inner}))
        assert [reply for reply in JUNK if verifier.check(reply).status != "fail"] == []


def test_the_stored_form_of_a_spec_is_taken_too() -> None:
    stored = VerifierSpec("terms", {"any_of": ["tea"]}).as_dict()
    assert _check("not", stored, "I like milk.")[0] == "pass"


@pytest.mark.parametrize(
    ("kind", "of", "message"),
    [
        ("not", "words", "verifier 'not': 'of' holds 'words': expected a rule such as"),
        ("not", {"max": 3}, "verifier 'not', 'of': .*expected an object with a 'kind'"),
        ("not", {"kind": "wordz"}, "'of': unknown verifier kind 'wordz', did you mean 'words'"),
        ("not", {"kind": "words"}, "'of': verifier 'words': neither 'min' nor 'max'"),
        ("all", [], r"verifier 'all': 'of' is \[\]: expected a list of rules"),
        ("all", TEA, "verifier 'all': 'of' is .*: expected a list of rules"),
        ("all", [3], "verifier 'all': 'of' holds 3: expected a rule"),
        ("all", [TEA, {"kind": "judge", "rubric": "Kind."}], "'of' holds a 'judge' rule, whose"),
        ("not", {"kind": "all", "of": [{"kind": "judge", "rubric": "Kind."}]}, "beside 'all', not"),
    ],
)
def test_refused_parameters(kind: str, of: object, message: str) -> None:
    with pytest.raises(VerifierError, match=message):
        build(VerifierSpec(kind, {"of": of}))
