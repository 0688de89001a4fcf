"""Facts of a persona: what contradicts them, what states them, what leaves them alone."""

from __future__ import annotations

import pytest

from gatt.data.catalog.read import load_catalog
from gatt.errors import VerifierError
from gatt.verifiers.persona.facts import PersonaFacts
from gatt.verifiers.persona.in_character import InCharacter

FACTS = {"name": "Maria", "age": "34", "city": "Lisbon", "work": "nurse"}
TERMS = ("Maria", "Lisbon", "nurse", "nursing", "hospital", "ward", "patients", "night shift")
MARIA = PersonaFacts("in_character", FACTS, TERMS)
ROLE = InCharacter(any_of=TERMS, facts=FACTS)
EINSTEIN = PersonaFacts(
    "in_character", {"name": "Albert Einstein"}, ("Einstein", "relativity", "Princeton", "Ulm")
)


@pytest.mark.parametrize(
    ("reply", "fact"),
    [
        ("My name is Sara, and I am a nurse in Lisbon.", "name"),
        ("my name is sara and I work the night shift", "name"),
        ("My name's Dr. Tom Baker.", "name"),
        ("Hi, I'm Sarah, a nurse from Lisbon.", "name"),
        ("You can call me Anna.", "name"),
        ("I am called Beatriz.", "name"),
        ("This is Emma speaking.", "name"),
        ("My patients come first.\n- Emily", "name"),
        ("My name is not Maria, but I do work in a hospital.", "name"),
        ("I’m “Julia”, and my ward is full.", "name"),
        ("I am 22 years old and love my ward.", "age"),
        ("I'm 51, so my night shift feels long.", "age"),
        ("I am twenty-nine years old.", "age"),
        ("I just turned 40!", "age"),
        ("I'm a nurse. I'm thirty and I still like it.", "age"),
        ("I live in Paris, and my patients speak French.", "city"),
        ("I'm from Madrid.", "city"),
        ("I'm a nurse from New York, you know.", "city"),
        ("I work in a hospital, and I am based in downtown Chicago.", "city"),
        ("Here in Tokyo, my patients bow.", "city"),
        ("I don't live in Lisbon, but I am a nurse.", "city"),
        ("I have never been to Lisbon, but my patients have.", "city"),
        ("I'm Raymond, I fix elevators near the hospital.", "name"),
        ("I live in a small flat in Manchester, near my ward.", "city"),
        ("I am a lawyer in Lisbon.", "work"),
        ("I'm Maria, a school psychologist.", "work"),
        ("I'm Maria and I work in human resources.", "work"),
        ("I work as a software developer here in Lisbon.", "work"),
        ("I'm a very busy high school student from Lisbon.", "work"),
        ("I'm retired, so I walk along the river in Lisbon.", "work"),
        ("I don't have a job, I just live in Lisbon.", "work"),
        ("I am not a nurse, I only live in Lisbon.", "work"),
    ],
)
def test_another_fact_contradicts(reply: str, fact: str) -> None:
    found = MARIA.contradiction(reply)
    assert found is not None
    assert found.fact == fact
    verdict = ROLE.check(reply)
    assert verdict.status == "fail"
    assert verdict.span is not None


@pytest.mark.parametrize(
    "reply",
    [
        "My name is Maria, I'm 34, and I work as a nurse in Lisbon.",
        "My name is Maria Santos, and my patients call me Mimi.",
        "I'm Maria from Lisbon.",
        "I am thirty-four, and my night shift begins at ten.",
        "I was 22 years old when I came to the ward.",
        "When I am 60 years old, I will leave the hospital and rest.",
        "My daughter is 7 years old, and I take her to the ward.",
        "I am 10 minutes away from my hospital.",
        "I'm 100% sure that my patients like it.",
        "I'm from London originally, but Lisbon is my home.",
        "I lived in Paris for a year before I found my ward.",
        "I was in Rome last summer with my friends from the ward.",
        "My brother lives in London, I live in Lisbon.",
        "My mother is a teacher, I am a nurse.",
        "I'm a morning person, even after a night shift.",
        "I'm a student of life, and my ward is my school.",
        "I feel like I am a detective on my ward sometimes.",
        "As a nurse, I see what little sleep does.",
        "I am a lawyer's daughter, and my patients know it.",
        "If I am a doctor one day, I will still love my ward.",
        "I like tea, and I would take the train.",
        "My name is on the door of my ward.",
        "They call me Mama on my ward.",
        "I am Portuguese, and my ward is in Lisbon.",
        "My patients say I'm Christian by nature.",
    ],
)
def test_own_facts_and_other_people_contradict_nothing(reply: str) -> None:
    assert MARIA.contradiction(reply) is None


def test_a_claim_that_somebody_else_makes_is_not_the_speakers() -> None:
    assert (
        ROLE.check('My patients said: "I am Tom, I live in Paris." So I laughed.').status == "pass"
    )
    assert ROLE.check('"My name is Sara. I work in a hospital."').status == "fail"


def test_evidence_names_the_fact_and_quotes_the_claim() -> None:
    verdict = ROLE.check("My name is Sara, and I am a nurse in Lisbon.")
    assert verdict.evidence == "another name than the role's: 'My name is Sara'"
    assert verdict.span == (0, 15)


@pytest.mark.parametrize(
    "reply",
    ["My name is Albert, and relativity is mine.", "I am Einstein.", "Call me Albert.",
     "I'm Albert from Ulm."],
)  # fmt: skip
def test_part_of_a_name_is_that_name(reply: str) -> None:
    assert EINSTEIN.contradiction(reply) is None
    assert EINSTEIN.contradiction("My name is Isaac Newton.") is not None


def test_names_of_one_kind_of_work_do_not_exclude_each_other() -> None:
    amina = PersonaFacts("in_character", {"work": "software developer"}, ("code", "startup"))
    assert amina.contradiction("I am a programmer.") is None
    assert amina.contradiction("I'm a senior software engineer.") is None
    assert amina.contradiction("I am a baker.") is not None


def test_what_is_not_known_is_not_contradicted() -> None:
    nobody = PersonaFacts("in_character", {}, ("Maria",))
    assert nobody.contradiction("My name is Sara, I am 22 years old and live in Paris.") is None


def test_every_role_of_the_catalogue_knows_its_name() -> None:
    roles = [
        (entry, spec.params)
        for entry in load_catalog().entries
        for spec in entry.verifiers
        if spec.kind == "in_character"
    ]
    assert len(roles) > 150
    for entry, params in roles:
        facts = PersonaFacts("in_character", params["facts"], params["any_of"])
        name = params["facts"]["name"]
        for reply in (f"My name is {name}.", f"I am {name}, at your service.", f"Call me {name}."):
            assert facts.contradiction(reply) is None, entry.id
        other = "Bob Miller"
        assert facts.contradiction(f"My name is {other}.") is not None, entry.id
        if entry.family == "persona":
            own = (
                f"I am {params['facts']['age']} years old, I live in {params['facts']['city']} and"
            )
            assert facts.contradiction(f"{own} I am a {params['facts']['work']}.") is None, entry.id
            assert facts.contradiction("I'm a dentist.") is not None, entry.id


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ("Maria", "'facts' is 'Maria': expected an object with any of name, age, city, work"),
        ({"nam": "Maria"}, "unknown fact 'nam'.*name"),
        ({"name": " "}, "fact 'name' is ' ': expected a text"),
        ({"age": "old"}, "fact 'age' is 'old': expected a whole number of years"),
    ],
)
def test_refused_facts(facts: object, message: str) -> None:
    with pytest.raises(VerifierError, match=message):
        InCharacter(any_of=["Maria"], facts=facts)  # type: ignore[arg-type]
