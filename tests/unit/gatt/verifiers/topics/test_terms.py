"""`terms` and its matcher: words, inflection, accents, scripts."""

from __future__ import annotations

import pytest

from gatt.errors import VerifierError
from gatt.verifiers.text.matching import TermMatcher
from gatt.verifiers.topics.terms import Terms


@pytest.mark.parametrize(
    ("term", "text"),
    [
        ("art", "Art!"),
        ("art", "the arts' council"),
        ("art", "some *art* here"),
        ("tennis", "I love _tennis_, really"),
        ("tennis", "I love **ten**nis"),
        ("hiking", "I hike, and hikers know"),
        ("swimming", "We swim daily"),
        ("caring", "I care"),
        ("baking", "She bakes"),
        ("dancing", "a dancer"),
        ("cycling", "I cycled home"),
        ("sewing", "I sew"),
        ("study", "she studies"),
        ("paint", "painting, painted, painter"),
        ("running", "a quick run"),
        ("dental insurance", "dental  insurance"),
        ("dental insurance", "**Dental**\ninsurance"),
        ("dental plan", "our dental plans"),
        ("bird watching", "bird-watching"),
        ("Mark", "Mark's book"),
        ("Łódź", "in Lodz"),
        ("café", "CAFÉS"),
        ("café", "cafe\u0301"),
        ("Straße", "STRASSE"),
        ("don't", "I don’t know"),
        ("テニス", "私はテニスが好き"),
        ("テニス", "ﾃﾆｽが好き"),
        ("테니스", "나는 테니스를 좋아해"),
        ("tennis", "我喜欢tennis。"),
        ("C++", "I write C++."),
        ("🎾", "I like 🎾 a lot"),
    ],
)
def test_the_term_is_found(term: str, text: str) -> None:
    assert TermMatcher([term]).first(text)


@pytest.mark.parametrize(
    ("term", "text"),
    [
        ("art", "start, artful, heart, artist"),
        ("evening", "even now"),
        ("caring", "my car"),
        ("spring", "spr"),
        ("Mark", "a marker was marked"),
        ("dental insurance", "dental and other insurance"),
        ("가", "각"),
        ("か", "が"),
        ("AI", "rain, said"),
        ("go", "good dogs"),
    ],
)
def test_a_part_of_another_word_is_no_hit(term: str, text: str) -> None:
    assert TermMatcher([term]).first(text) is None


def test_the_span_leads_back_into_the_reply() -> None:
    reply = "Ich wohne in der **Haupt**straße Nr. 5."
    hit = TermMatcher(["Hauptstrasse"]).first(reply)
    assert hit is not None
    assert hit.text == "Haupt**straße"
    assert reply[slice(*hit.span)] == hit.text


def test_min_count_counts_occurrences_of_any_term() -> None:
    verifier = Terms(any_of=["tea", "milk"], min_count=3)
    assert verifier.check("Tea, then milk, then more tea.").status == "pass"
    verdict = verifier.check("Tea, then milk.")
    assert verdict.status == "fail"
    assert "2 of 3" in verdict.evidence


def test_min_count_counts_all_of_where_any_of_is_empty() -> None:
    verifier = Terms(all_of=["tea"], min_count=2)
    assert verifier.check("Tea is good.").status == "fail"
    assert verifier.check("Tea is good, tea is life.").status == "pass"


def test_all_of_names_what_is_missing() -> None:
    verdict = Terms(all_of=["tea", "milk"]).check("I drink tea.")
    assert verdict.status == "fail"
    assert "milk" in verdict.evidence


def test_a_forbidden_term_fails_with_its_place() -> None:
    verdict = Terms(none_of=["sugar"]).check("Two sugars for me.")
    assert verdict.status == "fail"
    assert verdict.span == (4, 10)


def test_absence_in_a_very_short_reply_is_undecided() -> None:
    verifier = Terms(none_of=["sugar"])
    assert verifier.check("Sure thing.").status == "undecided"
    assert verifier.check("Sure, I will do it.").status == "pass"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "no term: expected at least one"),
        ({"any_of": "tea"}, "'any_of' is 'tea': expected a list of texts"),
        ({"all_of": ["tea", 3]}, "'all_of' holds 3: expected texts only"),
        ({"none_of": [" "]}, "'none_of' holds ' ': expected texts only"),
        ({"any_of": ["tea"], "min_count": 0}, "'min_count' is 0: expected a whole number"),
        ({"any_of": ["tea"], "min_count": True}, "'min_count' is True"),
    ],
)
def test_refused_parameters(params: dict[str, object], message: str) -> None:
    with pytest.raises(VerifierError, match=message):
        Terms(**params)  # type: ignore[arg-type]
