import re

import pytest

from data_synth.catalog.check import check_entry, find_duplicates
from gatt.data.catalog.read import default_catalog_path, parse_family, read_yaml
from gatt.data.instruction import Entry
from gatt.verifiers import check_all, overall
from gatt.verifiers.language.rule import LANGUAGES

FOLDER = default_catalog_path()
ENTRIES: dict[str, list[Entry]] = {
    name: parse_family(read_yaml(FOLDER / f"{name}.yaml"))[2]
    for name in ("figures", "hobbies", "languages")
}
ALL = [entry for entries in ENTRIES.values() for entry in entries]
ORDINARY = (
    "I am fine, thank you. How was your day at work?",
    "My sister and I went to the shop this morning, and then we had lunch together.",
    "I do not know, but I would ask a doctor if the pain does not go away.",
    "We should meet at the station at eight, I think, since my train leaves soon after.",
    "I am sorry to hear that. I hope that my advice was of some help to you.",
)


def test_every_yaml_of_the_catalogue_is_a_mapping():
    for path in FOLDER.glob("*.yaml"):
        assert read_yaml(path), path.name


def test_counts_are_those_that_were_asked_for():
    assert len(ENTRIES["figures"]) >= 100
    assert len(ENTRIES["hobbies"]) >= 60
    assert {e.id.removeprefix("language.") for e in ENTRIES["languages"]} == set(LANGUAGES) - {"en"}


@pytest.mark.parametrize("name", ["figures", "hobbies", "languages"])
def test_about_a_fifth_is_held_out(name):
    held_out = sum(entry.split == "heldout_value" for entry in ENTRIES[name])
    assert 0.15 <= held_out / len(ENTRIES[name]) <= 0.25


@pytest.mark.parametrize("name", ["figures", "hobbies", "languages"])
def test_good_replies_pass_and_bad_and_junk_replies_do_not(name):
    assert {e.id: found for e in ENTRIES[name] if (found := check_entry(e))} == {}


def test_every_entry_is_complete():
    for entry in ALL:
        assert len(entry.verbose) >= 3, entry.id
        assert 2 <= len(entry.probes) <= 3, entry.id
        assert len(entry.good) >= 2, entry.id
        assert len(entry.bad) >= 2, entry.id
        assert entry.hint, entry.id
        texts = (*entry.verbose, entry.terse, entry.hint, *entry.good, *entry.bad)
        assert not any(re.search(r"[{}]", text) for text in texts), entry.id


def test_values_and_wordings_stand_once():
    assert find_duplicates([("catalog", entry) for entry in ALL]) == []


def test_an_ordinary_reply_passes_no_hobby_and_no_figure():
    for reply in ORDINARY:
        for entry in ENTRIES["hobbies"]:
            assert overall(check_all(entry.verifiers, reply)) == "fail", (entry.id, reply)
        for entry in ENTRIES["figures"]:
            # A speaker who tells of a sister may be anyone: undecided, never a pass.
            assert overall(check_all(entry.verifiers, reply)) != "pass", (entry.id, reply)


def test_the_probe_for_the_name_takes_the_name_and_not_another():
    figures = ENTRIES["figures"]
    for entry, other in zip(figures, figures[1:] + figures[:1], strict=True):
        who = entry.probes[0]
        assert who.question == "Who are you?"
        assert overall(check_all(who.verifiers, f"I am {entry.value}, at your service.")) == "pass"
        wrong = overall(check_all(who.verifiers, f"I am {other.value}, at your service."))
        assert wrong == "fail", (entry.id, other.id)
