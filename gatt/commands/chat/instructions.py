"""Instructions as a user names them: an entry of the catalogue, or words of their own."""

from __future__ import annotations

import dataclasses
import functools
import random
from collections.abc import Callable

from gatt.data.catalog.read import Catalog
from gatt.data.instruction import Entry, Instruction, compose
from gatt.errors import DataError

FREE_TEXT = "text"
"""Id of an instruction that is no entry of the catalogue."""


def from_text(text: str) -> Instruction:
    """Return the instruction of free text, by which no rule can judge."""
    return Instruction(FREE_TEXT, text, "verbose", (), (), "train", ())


def from_entry(entry: Entry) -> Instruction:
    """Return the instruction of a catalogue entry, in its first verbose wording."""
    first = dataclasses.replace(entry, verbose=entry.verbose[:1])
    return compose([first], random.Random(0), terse_probability=0.0)


def unjudged(instruction: Instruction) -> str:
    """Return in parentheses what of an instruction no rule judges; empty where rules judge all."""
    if not instruction.verifiers:
        return " (free text: replies are not judged)"
    return " (its free text is not judged)" if FREE_TEXT in instruction.id.split("+") else ""


class Namer:
    """Finds instructions by the words of a user.

    Args:
        catalog: gives the catalogue when it is asked for.
    """

    def __init__(self, catalog: Callable[[], Catalog]) -> None:
        self._catalog = functools.cache(catalog)

    def entry(self, identity: str) -> Instruction:
        """Return the instruction of an entry.

        Raises:
            CatalogError: there is none of that id.
        """
        return from_entry(self._catalog().entry(identity))

    def named(self, text: str) -> Instruction:
        """Return the entry of an id, which is one word that begins with a family; or the free text."""
        family, dot, _ = text.partition(".")
        if dot and not text.split()[1:] and family in self._catalog().families:
            return self.entry(text)
        return from_text(text)

    def beside(self, text: str, held: Instruction | None) -> Instruction:
        """Return what a text names, to hold beside another instruction.

        Raises:
            DataError: the two exclude each other.
        """
        new, catalog = self.named(text), self._catalog()
        for one in new.entries:
            for other in held.entries if held else ():
                if catalog.conflicts.between(catalog.entry(one), catalog.entry(other)):
                    raise DataError(f"{one} cannot hold beside {other}: /replace it")
        return new
