"""`judge`: a kind that no rule decides."""

from __future__ import annotations

import pytest

from gatt.errors import VerifierError
from gatt.verifiers import Verdict, build, check_all, overall
from gatt.verifiers.graded.judge import is_open
from gatt.verifiers.spec import VerifierSpec

SPEC = VerifierSpec("judge", {"rubric": "The reply speaks as a pirate would."})
SHORT = VerifierSpec("words", {"max": 3})


def test_text_is_left_to_the_judge() -> None:
    verdict = build(SPEC).check("Arr, that be a fine question.")
    assert verdict.status == "undecided"
    assert verdict.evidence == "for the judge: 'The reply speaks as a pirate would.'"
    assert is_open(verdict)


def test_degenerate_text_fails_without_a_judge() -> None:
    verdict = build(SPEC).check("arr arr arr arr arr arr arr arr arr arr arr arr")
    assert verdict.status == "fail"
    assert not is_open(verdict)


def test_a_rule_beside_it_can_fail_but_not_pass_the_reply() -> None:
    assert overall(check_all([SPEC, SHORT], "Arr, that be a fine question.")) == "fail"
    assert overall(check_all([SPEC, SHORT], "Arr, aye!")) == "undecided"


def test_other_verdicts_do_not_wait_for_the_judge() -> None:
    assert not is_open(Verdict("undecided", "two words", "language", 1))
    assert not is_open(Verdict("pass", "as a pirate", "judge", 1))


@pytest.mark.parametrize("rubric", ["", "  \n", 3, None, ["a pirate"]])
def test_a_rubric_must_be_text(rubric: object) -> None:
    with pytest.raises(VerifierError, match=r"'rubric' is .*: expected what a reply must be like"):
        build(VerifierSpec("judge", {"rubric": rubric}))


def test_a_missing_rubric_is_named() -> None:
    with pytest.raises(VerifierError, match=r"verifier 'judge': .*'rubric'"):
        build(VerifierSpec("judge"))
