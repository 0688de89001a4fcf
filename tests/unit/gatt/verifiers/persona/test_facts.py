"""Facts of a persona: the roles of the catalogue; single replies stand in `replies.yaml`."""

from __future__ import annotations

from gatt.data.catalog.read import load_catalog
from gatt.verifiers.persona.facts import Facts, PersonaFacts


def test_every_role_of_the_catalogue_knows_its_name() -> None:
    roles = [
        (entry, spec.params)
        for entry in load_catalog().entries
        for spec in entry.verifiers
        if spec.kind == "in_character"
    ]
    assert len(roles) > 150
    for entry, params in roles:
        facts = PersonaFacts(Facts(**params["facts"]), params["any_of"])
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


def test_what_is_not_known_is_not_contradicted() -> None:
    nobody = PersonaFacts(Facts(), ("Maria",))
    assert nobody.contradiction("My name is Sara, I am 22 years old and live in Paris.") is None
