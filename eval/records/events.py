"""Events: what the user does in the middle of a case, drawn from `events.yaml` or a file like it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from eval.records.case import Case, Event
from eval.records.samples import Expected
from gatt.data.catalog.ordinary_replies import is_ordinary
from gatt.data.instruction import Instruction
from gatt.errors import CatalogError, ConfigError, VerifierError
from gatt.runs.typed import ShapeError, typed
from gatt.runs.yaml_file import read_mapping
from gatt.verifiers import build
from gatt.verifiers.spec import VerifierSpec

EVENT_FILE: Final = Path(__file__).parent / "events.yaml"
"""The kinds that are shipped."""
TOPIC_JUMP: Final = "topic_jump"
"""Also the kind of a turn at which one dialogue ends and the next begins."""


@dataclass(frozen=True)
class EventText:
    """One wording of what the user says."""

    text: str
    language: str | None = None
    """The text is no distraction from an instruction to write in this language."""
    verifiers: tuple[dict[str, Any], ...] = ()
    """In the flat form: what holds for the reply to this text as well."""

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ConfigError(f"text is {self.text!r}: expected what the user says")


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
    return {name: _parse_kind(f"{places[name]}: {name}", kind) for name, kind in kinds.items()}


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
        drawn = {
            turn: _draw(*chosen_kind, case.instruction, rng)
            for turn, chosen_kind in zip(turns[len(turns) - len(chosen) :], chosen, strict=True)
        }
        found.append(replace(case, events={**case.events, **drawn}))
        number += 1
    return found


def _schedule(
    instruction: Instruction, kinds: Mapping[str, EventKind], num: int, shift: int
) -> list[tuple[str, EventKind]]:
    fitting = [(name, k) for name, k in kinds.items() if _fits(k, instruction)]
    steady = [item for item in fitting if item[1].expect == "kept"]
    last = [item for item in fitting if item[1].expect == "released"]
    last = [last[shift % len(last)]] if last and not is_ordinary(instruction.verifiers) else []
    if not steady:
        return last
    return [steady[(shift + n) % len(steady)] for n in range(num - len(last))] + last


def _fits(kind: EventKind, instruction: Instruction) -> bool:
    is_meant = not kind.families or set(instruction.families) <= set(kind.families)
    return is_meant and bool(_texts(kind, instruction))


def _texts(kind: EventKind, instruction: Instruction) -> list[EventText]:
    own = {v.params.get("language") for v in instruction.verifiers}
    return [t for t in kind.texts if t.language is None or t.language not in own]


def _draw(name: str, kind: EventKind, instruction: Instruction, rng: random.Random) -> Event:
    drawn = rng.choice(_texts(kind, instruction))
    return Event(name, drawn.text, kind.expect, tuple(map(VerifierSpec.from_dict, drawn.verifiers)))


def _parse_kind(where: str, raw: object) -> EventKind:
    try:
        kind = typed(EventKind, raw)
    except ShapeError as error:
        raise ConfigError(f"{where}: {error}") from None
    for number, text in enumerate(kind.texts, start=1):
        parse_verifiers(f"{where}: text {number}", text.verifiers)
    return kind


def parse_verifiers(where: str, raw: Sequence[Mapping[str, Any]]) -> tuple[VerifierSpec, ...]:
    """Return verifiers from the flat form that people write, each built once as a check.

    Raises:
        ConfigError: with the place: an unknown kind, or parameters that the kind refuses.
    """
    specs = []
    for number, item in enumerate(raw, start=1):
        try:
            spec = VerifierSpec.from_dict(item)
            build(spec)
        except (CatalogError, VerifierError) as error:
            raise ConfigError(f"{where}: verifier {number}: {error}") from None
        specs.append(spec)
    return tuple(specs)
