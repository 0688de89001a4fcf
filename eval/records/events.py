"""Events: what the user does in the middle of a case, drawn from `events.yaml` or a file like it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from eval.records.case import Case, Event, Text, Verifiers
from eval.records.samples import Expected
from gatt.data.catalog.ordinary_replies import is_ordinary
from gatt.data.instruction import Instruction
from gatt.errors import ConfigError
from gatt.runs.typed import ShapeError, typed
from gatt.runs.yaml_file import read_mapping

EVENT_FILE: Final = Path(__file__).parent / "events.yaml"
"""The kinds that are shipped."""
TOPIC_JUMP: Final = "topic_jump"
"""Also the kind of a turn at which one dialogue ends and the next begins."""


@dataclass(frozen=True)
class EventText:
    """One wording of what the user says."""

    text: Text
    language: str | None = None
    """The text is no distraction from an instruction to write in this language."""
    verifiers: Verifiers = ()
    """What holds for the reply to this text as well."""


@dataclass(frozen=True)
class EventKind:
    """Something that users do, and what should happen."""

    expect: Expected
    texts: tuple[EventText, ...]
    families: tuple[str, ...] = ()
    """Families of instructions that the kind is meant for; none: all."""
    about: str = ""

    def __post_init__(self) -> None:
        if not self.texts:
            raise ConfigError("texts is empty: expected at least one")
        if self.expect == "released" and any(text.verifiers for text in self.texts):
            raise ConfigError(
                "texts with verifiers in a kind that releases: expected none, nothing holds there"
            )


def read_event_kinds(path: Path = EVENT_FILE) -> dict[str, EventKind]:
    """Return the kinds of a YAML file by their names; the head of `events.yaml` describes the form.

    Raises:
        ConfigError: the file cannot be read, or a mistake in it, with its place.
    """
    kinds, places = read_mapping(path)
    found = {}
    for name, kind in kinds.items():
        try:
            found[name] = typed(EventKind, kind)
        except ShapeError as error:
            raise ConfigError(f"{places[name]}: {name}: {error}") from None
    return found


def with_events(
    cases: Sequence[Case],
    kinds: Mapping[str, EventKind],
    turns: Sequence[int],
    rng: random.Random,
) -> list[Case]:
    """Return the cases with an event at each of the turns; plain ones stay as they are.

    Kinds take turns in a Latin square: over the cases each kind stands equally often at
    every turn. A kind that releases comes last. It is left out if ordinary replies satisfy
    the instruction ("use no digits"), because a reply that ignores such an instruction
    satisfies it too. Kinds for other families are left out, and so are texts in the
    instruction's language.

    Args:
        cases: as `make_cases` draws them.
        kinds: by name, at least one.
        turns: rising, from 1 on.
        rng: draws the texts.
    """
    found = []
    number = 0
    for case in cases:
        if case.instruction is None:
            found.append(case)
            continue
        chosen = _schedule(case.instruction, kinds, len(turns), number)
        events = dict(case.events)
        for turn, (name, kind) in zip(turns[len(turns) - len(chosen) :], chosen, strict=True):
            drawn = rng.choice(_texts(kind, case.instruction))
            events[turn] = Event(name, drawn.text, kind.expect, drawn.verifiers)
        found.append(replace(case, events=events))
        number += 1
    return found


def _schedule(
    instruction: Instruction, kinds: Mapping[str, EventKind], num: int, shift: int
) -> list[tuple[str, EventKind]]:
    fitting = [(name, k) for name, k in kinds.items() if _texts(k, instruction)]
    steady = [item for item in fitting if item[1].expect == "kept"]
    last = [item for item in fitting if item[1].expect == "released"]
    last = [last[shift % len(last)]] if last and not is_ordinary(instruction.verifiers) else []
    if not steady:
        return last
    return [steady[(shift + n) % len(steady)] for n in range(num - len(last))] + last


def _texts(kind: EventKind, instruction: Instruction) -> list[EventText]:
    """Return the texts of a kind that fit an instruction, none if the kind is for other families."""
    if kind.families and not set(instruction.families) <= set(kind.families):
        return []
    own = {v.params.get("language") for v in instruction.verifiers}
    return [t for t in kind.texts if t.language is None or t.language not in own]
