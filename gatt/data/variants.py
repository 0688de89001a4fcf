"""Parameters of a catalogue entry: one entry stands for many, and each instruction draws its own. No torch."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, Final

PLACEHOLDER: Final = re.compile(r"\{([a-z_][a-z0-9_]*(?:\.[a-z_]+)?)\}")


@dataclass(frozen=True)
class Variants:
    """The forms that an entry with parameters takes."""

    values: Mapping[str, tuple[Any, ...]]
    """Parameter -> its values. A value that is a mapping gives several placeholders at once (`{n: 3, words:
    three}`); the first of them names it."""
    make: Callable[[Mapping[str, Any]], Any]
    """Returns the entry of some facts, by placeholder."""

    def __len__(self) -> int:
        """Return the number of forms."""
        return prod(map(len, self.values.values()))

    def draw(self, rng: random.Random) -> Any:
        """Return the entry of drawn values; the same state gives the same entry."""
        return self.of([rng.choice(values) for values in self.values.values()])

    def named(self, label: str) -> Any | None:
        """Return the entry of a label (see `label`); None if no choice of values has this label."""
        chosen = (given for given in self.choices() if self.label(given) == label)
        return next(map(self.of, chosen), None)

    def choices(self) -> Iterator[tuple[Any, ...]]:
        """Yield the values of each form, in order."""
        return product(*self.values.values())

    def of(self, given: tuple[Any, ...] | list[Any]) -> Any:
        """Return the entry of one value for each parameter."""
        return self.make(self.facts(given))

    def facts(self, given: tuple[Any, ...] | list[Any]) -> dict[str, Any]:
        """Return what fills the placeholders, and the label of the form under `form`."""
        facts: dict[str, Any] = {"form": self.label(given)}
        for name, value in zip(self.values, given, strict=True):
            facts |= value if isinstance(value, Mapping) else {name: value}
        return facts

    def label(self, given: tuple[Any, ...] | list[Any]) -> str:
        """Return what stands in brackets behind the id of an entry: the values in words."""
        firsts = (next(iter(v.values())) if isinstance(v, Mapping) else v for v in given)
        # "+" parts the ids of an instruction's entries.
        return "; ".join(str(first).replace("+", "plus") for first in firsts)


def fill(value: Any, facts: Mapping[str, Any]) -> Any:
    """Fill '{name}' placeholders in every text of a nested value.

    A text that is nothing but a placeholder becomes the fact itself: a number, say, or a list. Inside of a
    text the first of a list stands for it.

    Raises:
        KeyError: a placeholder that is no fact.
    """
    if isinstance(value, str):
        whole = PLACEHOLDER.fullmatch(value)
        if whole and not isinstance(facts[whole[1]], str):
            return facts[whole[1]]
        return PLACEHOLDER.sub(lambda match: _text(facts[match[1]]), value)
    if isinstance(value, Mapping):
        return {key: fill(item, facts) for key, item in value.items()}
    if isinstance(value, list):
        return [fill(item, facts) for item in value]
    return value


def _text(fact: Any) -> str:
    return str(fact[0] if isinstance(fact, list) else fact)
