"""`question_about`: the topic stands in a question, not beside one."""

from __future__ import annotations

import pytest

from gatt.errors import VerifierError
from gatt.verifiers.question_about import QuestionAbout

DENTAL = QuestionAbout(topics=["dental insurance", "teeth"])


@pytest.mark.parametrize(
    "reply",
    [
        "Do you have dental insurance? 😊",
        "*Do you have dental insurance?*",
        "Dental insurance: do you have it?",
        "Hi!\n\n1. Do you have teeth?\n2. Or not.",
        "Is Dr. Smith covered by your dental insurance?",
        'He asked: "Any dental insurance?"',
    ],
)
def test_asked(reply: str) -> None:
    verdict = DENTAL.check(reply)
    assert verdict.status == "pass"
    assert verdict.span is not None
    assert "?" in reply[slice(*verdict.span)]


@pytest.mark.parametrize(
    ("reply", "evidence"),
    [
        ("Dental insurance is useful.", "asks no question"),
        ("Do you like tea? Dental insurance is good.", "no question about"),
        ("I have dental insurance. Do you like tea?", "no question about"),
        ("Do you have mental insurances?", "no question about"),
    ],
)
def test_not_asked(reply: str, evidence: str) -> None:
    verdict = DENTAL.check(reply)
    assert verdict.status == "fail"
    assert evidence in verdict.evidence


def test_questions_in_other_scripts() -> None:
    assert QuestionAbout(topics=["保険"]).check("歯科保険に入っていますか？").status == "pass"
    assert QuestionAbout(topics=["τσάι"]).check("Σας αρέσει το τσάι;").status == "pass"


@pytest.mark.parametrize(
    ("topics", "message"), [([], "'topics' is empty"), ("tea", "'topics' is 'tea'")]
)
def test_refused_parameters(topics: object, message: str) -> None:
    with pytest.raises(VerifierError, match=message):
        QuestionAbout(topics=topics)  # type: ignore[arg-type]
