"""Catalogue files as people write them: what is no text, no list or stands twice is one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatt.data.catalog.read import load_catalog
from gatt.errors import GattError

ENTRY = """
family: hobby
entries:
  - id: hobby.tennis
    value: tennis
    verbose: ["You enjoy {value}."]
    terse: "Hobby: tennis."
    verifiers: [{kind: terms, any_of: [tennis]}]
"""


def write(folder: Path, text: str, name: str = "hobby.yaml") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("line", "instead", "fact"),
    [
        ('terse: "Hobby: tennis."', "terse: [a, b]", "'terse' is ['a', 'b']"),
        ('terse: "Hobby: tennis."', "terse: ' '", "'terse' is ' '"),
        ("value: tennis", "value: x\n    facts: [a]", "'facts' is ['a']"),
        ("value: tennis", "value: x\n    facts: {c: }", "'facts' is {'c': None}"),
        ("value: tennis", "value: x\n    speaker: [a]", "'speaker' is ['a']"),
        ("value: tennis", "value: x\n    speaker: {name: []}", "'speaker' is {'name': []}"),
        ("value: tennis", "value: x\n    examples: [a]", "'examples' has 1"),
        ("[{kind: terms, any_of: [tennis]}]", "{kind: terms}", "'verifiers' is a mapping"),
        ("[{kind: terms, any_of: [tennis]}]", "[]", "'verifiers' is ()"),
        ("[{kind: terms, any_of: [tennis]}]", "[{any_of: [x]}]", "'verifiers.0.kind'"),
        ("value: tennis", "value: x\n    probes: [What?]", "'probes.0' is 'What?'"),
        ("value: tennis", "value: x\n    probes: [{question: Q?}]", "'probes.0.verifiers'"),
        ("value: tennis", "value: x\n    split: trian", "'split' is 'trian'"),
        ("value: tennis", "value: x\n    hnit: a", "'hnit', did you mean 'hint'"),
        ("value: tennis", "value: x\n    value: y", "value' is already given in line 5"),
    ],
)
def test_what_is_wrong_in_an_entry_is_one_line(tmp_path: Path, line, instead, fact) -> None:
    write(tmp_path, ENTRY.replace(line, instead))
    with pytest.raises(GattError) as found:
        load_catalog(tmp_path)
    # With the file: there may be several folders.
    for part in (fact, str(tmp_path / "hobby.yaml")):
        assert part in str(found.value)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pair: [[hobby, hobby]]", "unknown key 'pair', did you mean 'pairs'?"),
        ("pairs: [hobby]", "'pairs.0' is 'hobby'"),
        ("repeatable: hobby", "'repeatable' is 'hobby'"),
        ("repeatable: [hoby]", "unknown family or entry: hoby"),
    ],
)
def test_conflicts_are_lists_of_names(tmp_path: Path, text: str, message: str) -> None:
    write(write(tmp_path, ENTRY), text, "conflicts.yaml")
    with pytest.raises(GattError, match=r".") as found:
        load_catalog(tmp_path)
    assert message in str(found.value)


def test_numbers_null_lists_and_facts_with_digits_are_fine(tmp_path: Path) -> None:
    text = ENTRY.replace(
        "value: tennis",
        "value: 7\n    facts: {city2: Lyon}\n    speaker: {home: '{city2}', age: [7]}\n    probes:",
    ).replace('"Hobby: tennis."', '"In {city2}."')
    write(write(tmp_path, text), "pairs:\nrepeatable:\n", "conflicts.yaml")
    (entry,) = load_catalog(tmp_path).entries
    assert (entry.value, entry.terse, entry.verbose) == ("7", "In Lyon.", ("You enjoy 7.",))
    assert entry.facts == {"home": ("Lyon",), "age": ("7",)}
