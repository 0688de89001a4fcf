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
    ("line", "instead", "message"),
    [
        ('terse: "Hobby: tennis."', "terse: [a, b]", "'terse' is ['a', 'b']: expected a text"),
        ('terse: "Hobby: tennis."', "terse: true", "'terse' is True: expected a text, in quotes"),
        ("value: tennis", "value: x\n    hint: [a]", "'hint' is ['a']: expected a text"),
        ("value: tennis", "value: x\n    facts: [a]", "'facts' is ['a']: expected a mapping"),
        ("value: tennis", "value: x\n    facts: {c: }", "facts: 'c' is None: expected a text"),
        ("[{kind: terms, any_of: [tennis]}]", "{kind: terms}", "'verifiers' is {'kind': 'terms'}:"),
        (
            "[{kind: terms, any_of: [tennis]}]",
            "[{any_of: [x]}]",
            "entry 'hobby.tennis': verifier {",
        ),
        (
            "value: tennis",
            "value: x\n    probes: [What?]",
            "'probes' is ['What?']: expected a list",
        ),
        ("value: tennis", "value: x\n    probes: [{question: Q?}]", "probe 1: 'verifiers' is None"),
        (
            "value: tennis",
            "value: x\n    probes: [{question: Q?, verifiers: [{kind: terms, any_of: [x]}], expected: y}]",
            "probe 1: unknown key 'expected'",
        ),
        (
            "value: tennis",
            "value: x\n    value: y",
            "value' is already given in line 5, expected",
        ),
    ],
)
def test_what_is_wrong_in_an_entry_is_one_line(tmp_path: Path, line, instead, message) -> None:
    write(tmp_path, ENTRY.replace(line, instead))
    with pytest.raises(GattError) as found:
        load_catalog(tmp_path)
    assert message in str(found.value)
    # With the file: there may be several folders.
    assert str(tmp_path / "hobby.yaml") in str(found.value)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pair: [[hobby, hobby]]", "unknown key 'pair', did you mean 'pairs'?"),
        ("pairs: [hobby]", "'pairs' is ['hobby']: expected a list of lists of two or more names"),
        ("pairs: 5", "'pairs' is 5: expected a list of lists"),
        ("repeatable: hobby", "'repeatable' is 'hobby': expected a list of names"),
    ],
)
def test_conflicts_are_lists_of_names(tmp_path: Path, text: str, message: str) -> None:
    write(write(tmp_path, ENTRY), text, "conflicts.yaml")
    with pytest.raises(GattError, match=r".") as found:
        load_catalog(tmp_path)
    assert message in str(found.value)


def test_numbers_null_lists_and_facts_with_digits_are_fine(tmp_path: Path) -> None:
    text = ENTRY.replace(
        "value: tennis", "value: 7\n    facts: {city2: Lyon}\n    probes:"
    ).replace('"Hobby: tennis."', '"In {city2}."')
    write(write(tmp_path, text), "pairs:\nrepeatable:\n", "conflicts.yaml")
    (entry,) = load_catalog(tmp_path).entries
    assert (entry.value, entry.terse, entry.verbose) == ("7", "In Lyon.", ("You enjoy 7.",))
