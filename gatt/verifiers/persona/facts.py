"""What a reply says of its speaker against the facts of a persona: "My name is Sara", not Tom.

English only, and in the first person only. A claim counts as one if its form leaves little
doubt: a name by an introduction, an age with "years old" or at the end of a clause, a home by
"I live in" and a known city, a work by "I am a" and a known occupation. What is neither said
nor denied contradicts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from gatt.verifiers.phrases import Patterns, read_phrases, word_set
from gatt.verifiers.rule import Span
from gatt.verifiers.text.folding import fold, fold_text

_RE = Patterns("persons")
_OWN_LIFE = Patterns("own_life")
_FIRST_NAMES = word_set("persons", "first_names")
_OCCUPATIONS: list[list[str]] = read_phrases("persons")["OCCUPATIONS"]
_NO_WORK = word_set("persons", "no_work")
_DEEDS = [(one["of"], re.compile(one["deed"])) for one in read_phrases("persons")["deeds"]]
_TITLES = word_set("persons", "titles")
_NUMBERS = {
    word: size * number
    for size, key, first in ((1, "units", 1), (10, "tens", 2))
    for number, word in enumerate(read_phrases("persons")[key].split(), first)
}
_STEM = 4


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known of a persona; an age is a whole number, also as a text."""

    name: str | None = None
    age: int | str | None = None
    city: str | None = None
    work: str | None = None

    def __post_init__(self) -> None:
        for fact, value in self.known.items():
            if not (value.isdigit() if fact == "age" else value.strip()):
                raise ValueError(f"fact {fact!r} is {value!r}: expected a text, as age a number")

    @property
    def known(self) -> dict[str, str]:
        """The facts that are given, as texts."""
        return {fact: str(value) for fact, value in vars(self).items() if value is not None}


class PersonaFacts:
    """What contradicts the facts of a persona; nobody contradicts himself with the terms of his own."""

    def __init__(self, facts: Facts, terms: Sequence[str]) -> None:
        self._own = facts.known
        self._terms = tuple(fold_text(term) for term in terms)
        self._names = _name_words(self._own.get("name", ""), *(t for t in terms if t[0].isupper()))

    def contradiction(self, reply: str) -> tuple[str, Span] | None:
        """Return the fact and the place of the first claim that is not the persona's; None without one.

        The first person of those whom the reply quotes has to be left out.
        """
        if not self._own or not _RE.FIRST_PERSON.search(reply):
            return None
        for fact, denial in self._denials.items():
            if denied := denial.search(reply):
                return fact, denied.span()
        for fact, others in (
            ("name", self._other_names),
            ("age", self._other_ages),
            ("city", self._other_homes),
            ("work", self._other_works),
        ):
            for start, end in others(reply) if fact in self._own else ():
                if not _RE.SUPPOSED.search(reply[:start]):
                    return fact, (start, end)
        return None

    def perhaps_other_work(self, reply: str) -> Span | None:
        """Return where a reply claims a work, by a word's form or a deed, that may not be the persona's."""
        if "work" not in self._own:
            return None
        own = self._own_works
        for found in _RE.PERHAPS_JOB.finditer(reply):
            said = re.split("[ -]", fold_text(found["said"]))
            # "A carpet seller" deals in carpets.
            is_own = any(word[:_STEM] == work[:_STEM] for word in said for work in own)
            if said[-1] not in _NO_WORK and not is_own:
                return found.span()
        folded = fold(reply)
        for line, deed in _DEEDS:
            claimed = deed.search(folded.text)
            if claimed and own.isdisjoint(line) and not any(w in self._own["work"] for w in line):
                return folded.span(*claimed.span())
        return None

    @cached_property
    def _own_works(self) -> set[str]:
        """The persona's work, its words, its terms and what others may call the same work."""
        own = fold_text(self._own["work"])
        known = {own, *own.split(), *self._terms}
        return known | {word for line in _OCCUPATIONS if known.intersection(line) for word in line}

    @cached_property
    def _denials(self) -> dict[str, re.Pattern[str]]:
        """Fact -> how a reply denies it. Compiled at first use: a run uses few of a catalogue's personas."""
        return {
            fact: re.compile(_RE.text(f"DENIED_{fact.upper()}", OWN=re.escape(value)))
            for fact, value in self._own.items()
        }

    def _other_names(self, reply: str) -> Iterator[Span]:
        for pattern in (_RE.NAMED, _RE.PRESENTED, _RE.CALLED, _RE.SIGNED):
            for found in pattern.finditer(reply):
                is_small = found["said"] is None
                said = _name_words(found["small"] if is_small else found["said"])
                is_doubtful = is_small or pattern in (_RE.CALLED, _RE.SIGNED)
                if is_doubtful and _FIRST_NAMES.isdisjoint(said):
                    continue
                if self._names.isdisjoint(said):
                    yield found.span()

    def _other_ages(self, reply: str) -> Iterator[Span]:
        for found in _RE.AGED.finditer(reply):
            said = found["said"] or found["other"] or found["beside"]
            number = sum(_NUMBERS.get(word) or int(word) for word in re.split("[ -]", said.lower()))
            if number != int(self._own["age"]):
                yield found.span()

    def _other_homes(self, reply: str) -> Iterator[Span]:
        own = fold_text(self._own["city"])
        for found in _RE.HOMES.finditer(reply):
            said = fold_text(found["said"])
            is_known = own in said or any(said in term for term in self._terms)
            # "I am from London, but Lisbon is my home."
            is_only_origin = not found["lives"] and own in fold_text(reply)
            if not is_known and not is_only_origin:
                yield found.span()

    def _other_works(self, reply: str) -> Iterator[Span]:
        for found in _RE.JOBLESS.finditer(reply):
            yield found.span()
        if field := _OWN_LIFE.WORKS_IN.search(fold_text(reply)):
            yield field.span()
        for found in _RE.JOB.finditer(reply):
            said = fold_text(found["said"])
            is_own = any(said == work or said.endswith(f" {work}") for work in self._own_works)
            if not is_own and self._own_works.isdisjoint(said.split()):
                yield found.span()


def _name_words(*names: str) -> set[str]:
    folded = (fold_text(name).replace("'s", "").replace(".", " ") for name in names)
    return {word for name in folded for word in re.findall(r"[^\W_]+", name)} - _TITLES
