"""Instructions as a user names them: an entry of the catalogue, or words of their own."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable

from gatt.data.catalog.read import Catalog
from gatt.data.instruction import Entry, Instruction, compose

FREE_TEXT = "text"
"""Id of an instruction that is no entry of the catalogue."""
GetCatalog = Callable[[], Catalog]
"""Gives the catalogue when it is asked for."""


def from_text(text: str) -> Instruction:
    """Return the instruction of free text, by which no rule can judge."""
    return Instruction(FREE_TEXT, text, "verbose", (), (), "train", ())


def from_entry(entry: Entry) -> Instruction:
    """Return the instruction of a catalogue entry, in its first verbose wording."""
    first = dataclasses.replace(entry, verbose=entry.verbose[:1])
    return compose([first], random.Random(0), terse_probability=0.0)


def named(text: str, catalog: GetCatalog) -> Instruction:
    """Return the entry of an id, which is one word that begins with a family; or the free text.

    Raises:
        CatalogError: a family of the catalogue has no such entry.
    """
    family, dot, _ = text.partition(".")
    if dot and not text.split()[1:] and family in catalog().families:
        return from_entry(catalog().entry(text))
    return from_text(text)


def in_words(instruction: Instruction | None) -> str:
    """Return the text of what holds, with what of it no rule judges."""
    if instruction is None:
        return "no instruction"
    if not instruction.verifiers:
        return f"{instruction.text} (free text: replies are not judged)"
    is_mixed = FREE_TEXT in instruction.id.split("+")
    return f"{instruction.text}{' (its free text is not judged)' if is_mixed else ''}"
