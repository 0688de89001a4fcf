"""`says` and its parts: denials, reversals, reports and definitions do not say a thing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gatt.data.catalog.read import load_catalog
from gatt.errors import VerifierError
from gatt.verifiers import check_all, overall
from gatt.verifiers.text.chat_spelling import spelt_out, with_typos_mended
from gatt.verifiers.topics.polarity import clauses_around, is_denied
from gatt.verifiers.topics.price import Price
from gatt.verifiers.topics.says import Says
from gatt.verifiers.topics.sentence_encoder import PACKAGE

SOUP = Says(any_of=["soup"])


@pytest.mark.parametrize(
    ("clause", "denied"),
    [
        ("we do not offer it", True),
        ("skip the soup", True),
        ("never skip the soup", False),
        ("do not miss the soup", False),
        ("never travel without a passport", False),
        ("you can do without it", True),
        ("you don't have to floss", True),
        ("there is no charge for it", False),
        ("why not try it", False),
        ("it isn't only tasty", False),
        ("if you have not seen it, go", False),
        ("neither sell nor recommend it", True),
        ("don't put off your visit", False),
    ],
)
def test_negations_are_counted(clause: str, denied: bool) -> None:
    assert is_denied(clause) is denied


def test_a_clause_is_cut_where_another_subject_begins() -> None:
    text = "we have no lift, but you can use the stairs, which are wide"
    start = text.index("stairs")
    [clause] = clauses_around(text, start, start + 1)
    assert clause.strip() == "but you can use the stairs"


@pytest.mark.parametrize(
    ("reply", "evidence"),
    [
        ("We have no soup.", "denies it"),
        ("Soup? Not today.", "takes it back"),
        ("He likes our soup.", "tells of others"),
        ("If I had a soup, you would get it.", "only imagines"),
        ("There was soup for you.", "tells of the past"),
        ("Soup is a dish that is mostly water.", "only explains"),
        ("How much is your soup?", "only asks about"),
        ("The guest before you asked for soup.", "tells of others"),
        ("I think that Oxford has soup.", "tells of others"),
        ("Take a salad instead of soup.", "passes over"),
        ("We neither sell nor recommend soup.", "denies it"),
        ("I'd advise you against our soup.", "denies it"),
        ("Some eat soup.", "is no word to the user about"),
        ("Do try the tea.", "says none of: soup"),
        ("I will mention the soup in every reply. It rains.", "says none of: soup"),
    ],
)
def test_what_is_not_said(reply: str, evidence: str) -> None:
    verdict = SOUP.check(reply)
    assert verdict.status == "fail"
    assert evidence in verdict.evidence


@pytest.mark.parametrize("reply", ["Soup", "- Bread\n- **Soup**", "Sorry, all our soups are out."])
def test_a_heading_or_an_apology_is_undecided(reply: str) -> None:
    assert SOUP.check(f"We are open. \n\n{reply}").status == "undecided"


def test_the_evidence_is_the_sentence() -> None:
    reply = "We have no tea. Do try our soup!"
    verdict = SOUP.check(reply)
    assert verdict.status == "pass"
    assert verdict.span is not None
    assert reply[slice(*verdict.span)] == "Do try our soup!"


@pytest.mark.parametrize(
    ("params", "fact"),
    [
        ({"any_of": []}, "'any_of'"),
        ({"any_of": ["tea"], "place": "middle"}, "'middle'"),
        ({"any_of": ["tea"], "beside": ["milk"]}, "'milk'"),
        ({"any_of": ["tea"], "beside": [[]]}, "'beside'"),
        ({"any_of": ["tea"], "unless": "milk"}, "'unless'"),
    ],
)
def test_parameters_without_sense_are_refused(params: dict[str, Any], fact: str) -> None:
    with pytest.raises(VerifierError, match=fact):
        Says(**params)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("whats ur order nr?", "what's your order number?"),
        ("your policy no.?", "your policy number?"),
        ("no. tea", "no. tea"),
    ],
)
def test_short_forms_are_written_out(typed: str, meant: str) -> None:
    assert spelt_out(typed) == meant


@pytest.mark.parametrize(
    ("typed", "term", "meant"),
    [
        ("medecine", "medicine", "medicine"),
        ("ariving", "arriving", "arriving"),
        ("breakafst", "breakfast", "breakfast"),
        # Other words, no slips.
        ("advised", "adviser", "advised"),
        ("driving", "arriving", "driving"),
    ],
)
def test_slips_are_mended(typed: str, term: str, meant: str) -> None:
    assert with_typos_mended(typed, [term]) == meant


def test_a_price_in_any_words() -> None:
    assert Price().check("It is about 120 USD, fitted.").status == "pass"
    assert Price().check("It takes about 120 minutes.").status == "fail"


def test_hard_replies_to_every_behaviour() -> None:
    pytest.importorskip(PACKAGE)
    text = Path(__file__).with_name("behaviour_replies.yaml").read_text(encoding="utf-8")
    cases = yaml.safe_load(text)
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
