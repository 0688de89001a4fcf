"""Instructions: composition from one seed, conflicts, and their JSON form."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest

from gatt.data.instruction import Conflicts, Entry, Instruction, Probe, compose, draw_entries
from gatt.errors import CatalogError
from gatt.verifiers.spec import VerifierSpec


def entry(identity: str, family: str, **changes) -> Entry:
    settings = {
        "value": identity,
        "verbose": (f"Always {identity}.", f"From now on, {identity}."),
        "terse": f"{family}: {identity}.",
        "verifiers": (VerifierSpec(family, {"value": identity}),),
    }
    return Entry(identity, family, **{**settings, **changes})


FRENCH = entry("french", "language", hint="Write French.", utterances=("Oui.",))
NAPOLEON = entry("napoleon", "figure", split="heldout_value", hint="Say you are Napoleon.")


def test_compose_joins_terse_wordings_and_keeps_the_strictest_split() -> None:
    made = compose([FRENCH, NAPOLEON], random.Random(0), terse_probability=1.0)
    assert made.text == "language: french. figure: napoleon."
    assert (made.id, made.family, made.split) == ("french+napoleon", "combined", "heldout_value")
    assert made.verifiers == FRENCH.verifiers + NAPOLEON.verifiers
    assert made.hint == "Write French. Say you are Napoleon."
    assert made.utterances == ("Oui.",)


def test_a_combination_has_the_utterances_of_all_and_the_beginnings_of_its_role() -> None:
    role = (VerifierSpec("role", {"names": ["Napoleon"]}),)
    chess = entry("chess", "hobby", utterances=("I play chess.",), prefills=("I love chess, so",))
    shop = entry("shop", "behaviour", utterances=("Any coupon?", "I play chess."))
    napoleon = entry("napoleon", "figure", verifiers=role, prefills=("As Napoleon, I",))
    silent = entry("ada", "persona", verifiers=role)
    both = compose([chess, napoleon, shop], random.Random(0))
    assert both.utterances == ("I play chess.", "Any coupon?")
    assert both.prefills == ("As Napoleon, I",)
    assert compose([chess, shop], random.Random(0)).prefills == ("I love chess, so",)
    assert compose([silent, chess], random.Random(0)).prefills == ("I love chess, so",)
    assert compose([shop, silent], random.Random(0)).prefills == ()
    # One alone has a verbose wording, drawn from the seed.
    texts = {compose([FRENCH], random.Random(s), terse_probability=0.0).text for s in range(20)}
    assert texts == set(FRENCH.verbose)
    assert compose([FRENCH], random.Random(3)) == compose([FRENCH], random.Random(3))


def test_json_and_back() -> None:
    probe = Probe("Who are you?", (VerifierSpec("terms", {"any": ["Napoleon"]}),))
    facts = {"name": ("Napoleon", "Bonaparte")}
    made = compose([entry("x", "figure", probes=(probe,), facts=facts)], random.Random(0))
    assert made.facts == facts
    raw = json.loads(json.dumps(made.as_dict()))
    assert Instruction.from_dict(raw) == made
    assert Instruction.from_dict({k: v for k, v in raw.items() if k != "facts"}).facts == {}
    assert isinstance(raw["facts"], str)
    assert isinstance(raw["verifiers"][0]["params"], str)  # the same type for every kind


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: VerifierSpec.from_dict({"n": 1}), "expected an object with a 'kind'"),
        (
            lambda: VerifierSpec.from_dict({"kind": "a", "params": "{"}),
            "verifier 'a': broken JSON in 'params'",
        ),
        (
            lambda: VerifierSpec.from_dict({"kind": "a", "params": "[1]"}),
            "verifier 'a': 'params' hold list: expected an object",
        ),
        (lambda: compose([], random.Random(0)), "needs at least one catalogue entry, found none"),
        (
            lambda: draw_entries([FRENCH], 2, Conflicts(), random.Random(0)),
            "cannot combine 2 entries without a conflict from 1 candidates",
        ),
    ],
)
def test_refusals(make, message) -> None:
    with pytest.raises(CatalogError, match=message):
        make()


def test_conflicts() -> None:
    other = entry("german", "language")
    table = Conflicts(frozenset({frozenset(("language", "napoleon"))}), frozenset({"figure"}))
    assert table.between(FRENCH, other)  # one family
    assert table.between(NAPOLEON, FRENCH)  # a pair of family and entry, in either order
    assert table.between(FRENCH, NAPOLEON)
    caesar = entry("caesar", "figure")
    assert not table.between(caesar, NAPOLEON)  # a repeatable family
    assert table.between(caesar, caesar)
    assert not table.between(caesar, FRENCH)


def test_draw_is_family_first_and_free_of_conflicts() -> None:
    pool = [entry(f"f{i}", "figure") for i in range(50)] + [FRENCH]
    rng = random.Random(0)
    firsts = Counter(draw_entries(pool, 1, Conflicts(), rng)[0].family for _ in range(1000))
    assert 400 < firsts["language"] < 600  # not one in 51
    for seed in range(50):
        chosen = draw_entries(pool, 2, Conflicts(), random.Random(seed))
        assert {e.family for e in chosen} == {"figure", "language"}
