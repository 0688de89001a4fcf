"""The shipped catalogue: complete entries, replies that are judged right, families that go together.

`make test-all` begins with `gatt catalog check`, which judges the replies of every entry.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import pytest

from data_synth.catalog_check import find_duplicates
from gatt.data.catalog.read import default_catalog_path, load_catalog, read_yaml
from gatt.data.instruction import Entry
from gatt.verifiers import check_all, overall
from gatt.verifiers.language.rule import LANGUAGES
from gatt.verifiers.spec import VerifierSpec

CATALOG = load_catalog()
OF: dict[str, list[Entry]] = {
    family: [e for e in CATALOG.entries if e.family == family] for family in CATALOG.families
}
LEAST = {"figure": 100, "hobby": 60, "language": 20, "persona": 40, "behaviour": 40, "format": 40}
PERSONAS = read_yaml(default_catalog_path() / "personas.yaml")["entries"]
ORDINARY = (
    "I would take the early train, because it is faster.",
    "Cats sleep for most of the day and hunt at night.",
    "I am fine, thank you. How was your day at work?",
    "My sister and I went to the shop this morning, and then we had lunch together.",
    "I do not know, but I would ask a doctor if the pain does not go away.",
    "I am sorry to hear that. I hope that my advice was of some help to you.",
)


def verdict(specs: Sequence[VerifierSpec], reply: str) -> str:
    return overall(check_all(specs, reply))


@pytest.mark.parametrize("family", LEAST)
def test_entries_are_enough_complete_and_a_fifth_is_held_out(family: str) -> None:
    entries = OF[family]
    assert len(entries) >= LEAST[family]
    splits = Counter(entry.split for entry in entries)
    if family == "format":
        # Kinds; the values that are held out of a trained kind are an entry of their own.
        num_kinds = splits["train"] + splits["heldout_family"]
        assert num_kinds >= LEAST[family]
        assert 0.2 <= splits["heldout_family"] / num_kinds <= 0.35
        assert splits["heldout_value"] >= 25
    else:
        assert 0.15 <= splits["heldout_value"] / splits.total() <= 0.25
    for entry in entries:
        assert len(set(entry.verbose)) >= 3, entry.id
        assert min(len(entry.good), len(entry.bad)) >= (0 if entry.program else 2), entry.id
        assert entry.hint, entry.id
        assert entry.probes, entry.id
        texts = (*entry.verbose, entry.terse, entry.hint, *entry.utterances, *entry.good)
        assert not [t for t in texts if t != t.strip() or "  " in t], entry.id


def test_values_and_wordings_stand_once() -> None:
    assert find_duplicates([("catalog", entry) for entry in CATALOG.entries]) == []
    assert {e.id.removeprefix("language.") for e in OF["language"]} == set(LANGUAGES) - {"en"}


def test_behaviours_are_of_many_kinds_of_business_and_begin_with_dental_insurance() -> None:
    business = Counter(entry.id.split(".")[1] for entry in OF["behaviour"])
    assert all(re.fullmatch(r"behaviour\.[a-z]+\.[a-z_]+", e.id) for e in OF["behaviour"])
    assert len(business) >= 8
    assert min(business.values()) >= 2
    first = OF["behaviour"][0]
    assert first.value == first.verbose[0] == "Always ask about dental insurance."
    assert (first.id, first.split) == ("behaviour.dental.insurance", "train")


def test_wordings_of_a_persona_hold_its_facts_and_probes_take_them_and_no_others() -> None:
    answers = []
    for item, entry in zip(PERSONAS, OF["persona"], strict=True):
        facts = item["facts"]
        assert 18 <= facts["age"] <= 90, entry.id
        for text in (*entry.verbose, entry.terse):
            told = [str(facts[fact]) in text for fact in ("name", "age", "city", "work")]
            assert all(told), (entry.id, text)
        answers.append((
            f"My name is {facts['name']}.",
            f"I live in {facts['city']}.",
            f"I work as {facts['a_work']}.",
            f"I am {facts['age_words']} years old.",
        ))  # fmt: skip
    for index, entry in enumerate(OF["persona"]):
        others = answers[index - 1]
        for probe, right, wrong in zip(entry.probes, answers[index], others, strict=True):
            assert verdict(probe.verifiers, right) == "pass", (entry.id, right)
            assert verdict(probe.verifiers, wrong) == "fail", (entry.id, wrong)


def test_the_probe_for_a_figures_name_takes_it_and_no_other() -> None:
    figures = OF["figure"]
    for entry, other in zip(figures, figures[1:] + figures[:1], strict=True):
        who = entry.probes[0]
        assert who.question == "Who are you?"
        assert verdict(who.verifiers, f"I am {entry.value}, at your service.") == "pass"
        wrong = verdict(who.verifiers, f"I am {other.value}, at your service.")
        assert wrong == "fail", (entry.id, other.id)


@pytest.mark.parametrize("reply", ORDINARY)
def test_an_ordinary_reply_passes_no_behaviour_and_breaks_no_role(reply: str) -> None:
    for entry in OF["behaviour"]:
        assert verdict(entry.verifiers, reply) == "fail", entry.id
    for entry in (*OF["hobby"], *OF["figure"], *OF["persona"]):
        assert verdict(entry.verifiers, reply) == "pass", entry.id


def test_an_utterance_makes_an_ordinary_reply_follow_its_behaviour_and_no_other() -> None:
    for entry in OF["behaviour"]:
        assert len(set(entry.utterances)) >= 6, entry.id
        replies = [f"{ORDINARY[0]} {text}" for text in entry.utterances]
        assert [r for r in replies if verdict(entry.verifiers, r) != "pass"] == [], entry.id
        for other in OF["behaviour"]:
            if other is not entry:
                met = [r for r in replies if verdict(other.verifiers, r) == "pass"]
                assert met == [], (entry.id, other.id)


def test_what_a_form_forbids_can_be_left_out_of_a_behaviour() -> None:
    forbidding = [e for e in OF["format"] if e.verifiers[0].kind == "excludes"]
    assert forbidding
    for form in forbidding:
        for behaviour in OF["behaviour"]:
            if not CATALOG.conflicts.between(form, behaviour):
                both = (*form.verifiers, *behaviour.verifiers)
                said = (f"That is fine with me. {text}" for text in behaviour.utterances)
                assert any(verdict(both, reply) == "pass" for reply in said), behaviour.id


@pytest.mark.parametrize(
    ("a", "b", "conflict"),
    [
        ("figure", "persona", True),
        ("language", "behaviour", True),
        ("behaviour.dental.insurance", "format.haiku", True),
        ("behaviour.dental.insurance", "behaviour.bank.savings", True),
        ("behaviour.dental.insurance", "hobby", False),
        ("behaviour.dental.insurance", "persona.maria_lisbon", False),
        ("behaviour.dental.insurance", "format.with_emoji", False),
        ("persona.maria_lisbon", "format.lowercase", False),
    ],
)
def test_what_cannot_stand_together(a: str, b: str, conflict: bool) -> None:
    between = CATALOG.conflicts.between
    some, others = ([e for e in CATALOG.entries if name in (e.id, e.family)] for name in (a, b))
    assert {between(*p) for x in some for y in others for p in ((x, y), (y, x))} == {conflict}
