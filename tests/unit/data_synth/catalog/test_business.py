from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import pytest

from gatt.data.catalog.read import (
    Catalog,
    default_catalog_path,
    load_catalog,
    parse_family,
    read_yaml,
)
from gatt.data.instruction import Entry
from gatt.verifiers import check_all, overall
from data_synth.catalog.gauntlet import JUNK
from gatt.verifiers.spec import VerifierSpec

FILES = {"persona": "personas.yaml", "behaviour": "behaviours.yaml", "format": "formats.yaml"}
ORDINARY = (
    "I would take the early train, because it is faster.",
    "Cats sleep for most of the day and hunt at night.",
)


@lru_cache
def entries_of(family: str) -> tuple[Entry, ...]:
    found, about, entries = parse_family(read_yaml(default_catalog_path() / FILES[family]))
    assert found == family
    assert about
    return tuple(entries)


@lru_cache
def shipped() -> Catalog:
    return load_catalog()


def named(name: str) -> list[Entry]:
    return [entry for entry in shipped().entries if name in (entry.id, entry.family)]


def verdict(specs: Sequence[VerifierSpec], reply: str) -> str:
    return overall(check_all(specs, reply))


ALL = [entry for family in FILES for entry in entries_of(family)]
each_entry = pytest.mark.parametrize("entry", ALL, ids=lambda entry: entry.id)


def test_there_are_forty_personas_with_name_age_city_and_work() -> None:
    raw = read_yaml(default_catalog_path() / FILES["persona"])["entries"]
    assert len(raw) >= 40
    for item in raw:
        facts = item["facts"]
        assert {"name", "age", "city", "work"} <= set(facts), item["id"]
        assert isinstance(facts["age"], int), item["id"]
        assert 18 <= facts["age"] <= 90, item["id"]
    for fact in ("name", "city", "work"):
        assert len({item["facts"][fact] for item in raw}) == len(raw)


def test_persona_wordings_hold_every_fact() -> None:
    raw = read_yaml(default_catalog_path() / FILES["persona"])["entries"]
    for item, entry in zip(raw, entries_of("persona"), strict=True):
        for text in (*entry.verbose, entry.terse):
            for fact in ("name", "age", "city", "work"):
                assert str(item["facts"][fact]) in text, (entry.id, fact, text)


def test_persona_probes_are_answered_by_the_facts_and_by_no_other_persona() -> None:
    raw = read_yaml(default_catalog_path() / FILES["persona"])["entries"]
    answers = [
        (
            f"My name is {item['facts']['name']}.",
            f"I live in {item['facts']['city']}.",
            f"I work as {item['facts']['a_work']}.",
            f"I am {item['facts']['age_words']} years old.",
        )
        for item in raw
    ]
    people = entries_of("persona")
    for index, entry in enumerate(people):
        others = answers[index - 1]
        for probe, right, wrong in zip(entry.probes, answers[index], others, strict=True):
            assert verdict(probe.verifiers, right) == "pass", (entry.id, right)
            assert verdict(probe.verifiers, wrong) == "fail", (entry.id, wrong)


def test_there_are_forty_behaviours_over_eight_kinds_of_business() -> None:
    behaviours = entries_of("behaviour")
    assert len(behaviours) >= 40
    business = Counter(entry.id.split(".")[1] for entry in behaviours)
    assert all(re.fullmatch(r"behaviour\.[a-z]+\.[a-z_]+", e.id) for e in behaviours)
    assert len(business) >= 8
    assert min(business.values()) >= 2


def test_the_first_behaviour_is_dental_insurance() -> None:
    first = entries_of("behaviour")[0]
    assert first.value == first.verbose[0] == "Always ask about dental insurance."
    assert first.terse == "Behaviour: ask about dental insurance."
    assert first.id == "behaviour.dental.insurance"
    assert first.split == "train"


def test_there_are_twenty_formats_and_the_family_is_held_out() -> None:
    formats = entries_of("format")
    assert len(formats) >= 20
    assert {entry.split for entry in formats} == {"heldout_family"}


@pytest.mark.parametrize("family", ["persona", "behaviour"])
def test_a_fifth_of_the_values_is_held_out(family: str) -> None:
    splits = Counter(entry.split for entry in entries_of(family))
    assert set(splits) == {"train", "heldout_value"}
    assert 0.15 <= splits["heldout_value"] / splits.total() <= 0.25


@each_entry
def test_an_entry_is_complete(entry: Entry) -> None:
    assert len(set(entry.verbose)) >= 3
    assert len(entry.terse) < max(map(len, entry.verbose))
    assert len(entry.good) >= 2
    assert len(entry.bad) >= 2
    assert entry.hint
    assert entry.probes
    if entry.family == "behaviour":
        assert len(set(entry.utterances)) >= 6
    texts = (*entry.verbose, entry.terse, entry.hint, *entry.utterances, *entry.good, *entry.bad)
    assert not [text for text in texts if text != text.strip() or "  " in text]


@each_entry
def test_good_passes_bad_does_not_and_junk_fails(entry: Entry) -> None:
    assert {text: verdict(entry.verifiers, text) for text in entry.good} == dict.fromkeys(
        entry.good, "pass"
    )
    # A near miss without a term ("Is it a gift?") may be undecided.
    assert [text for text in entry.bad if verdict(entry.verifiers, text) == "pass"] == []
    assert [text for text in JUNK if verdict(entry.verifiers, text) != "fail"] == []


@pytest.mark.parametrize("entry", entries_of("behaviour"), ids=lambda entry: entry.id)
def test_an_utterance_makes_an_ordinary_reply_pass(entry: Entry) -> None:
    for sentence in ORDINARY:
        assert verdict(entry.verifiers, sentence) == "fail"
        for utterance in entry.utterances:
            assert verdict(entry.verifiers, f"{sentence} {utterance}") == "pass", utterance


def test_no_behaviour_is_met_by_the_utterances_of_another() -> None:
    behaviours = entries_of("behaviour")
    met = {
        (a.id, b.id)
        for a in behaviours
        for b in behaviours
        if a.id != b.id
        and any(verdict(a.verifiers, f"{ORDINARY[0]} {text}") == "pass" for text in b.utterances)
    }
    assert met == set()


def test_every_listed_conflict_holds_both_ways() -> None:
    catalog = shipped()
    assert catalog.conflicts.pairs
    for pair in catalog.conflicts.pairs:
        first, second = sorted(pair)
        a, b = named(first)[0], named(second)[0]
        assert catalog.conflicts.between(a, b), pair
        assert catalog.conflicts.between(b, a), pair


def test_what_a_form_forbids_can_be_left_out_of_a_behaviour() -> None:
    catalog = shipped()
    forbidding = [e for e in named("format") if e.verifiers[0].kind == "excludes"]
    assert forbidding
    for form in forbidding:
        for behaviour in named("behaviour"):
            if not catalog.conflicts.between(form, behaviour):
                both = (*form.verifiers, *behaviour.verifiers)
                assert any(
                    verdict(both, f"That is fine with me. {text}") == "pass"
                    for text in behaviour.utterances
                ), (form.id, behaviour.id)


@pytest.mark.parametrize(
    ("a", "b", "conflict"),
    [
        ("figure", "persona", True),
        ("language", "behaviour", True),
        ("behaviour.dental.insurance", "format.one_sentence", True),
        ("behaviour.dental.insurance", "format.haiku", True),
        ("behaviour.dental.insurance", "behaviour.bank.savings", True),
        ("behaviour.dental.insurance", "hobby", False),
        ("behaviour.dental.insurance", "persona.maria_lisbon", False),
        ("behaviour.dental.insurance", "format.with_emoji", False),
        ("persona.maria_lisbon", "format.lowercase", False),
    ],
)
def test_what_cannot_stand_together(a: str, b: str, conflict: bool) -> None:
    catalog = shipped()
    found = {catalog.conflicts.between(x, y) for x in named(a) for y in named(b)}
    assert found == {conflict}
