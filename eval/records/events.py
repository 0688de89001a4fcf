"""Events: what the user does in the middle of a case, drawn from `events.yaml` or a file like it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from eval.records.case import Case, Event
from eval.records.samples import CHOICES, Expected
from gatt.data.catalog.ordinary_replies import is_ordinary
from gatt.data.instruction import Instruction
from gatt.errors import CatalogError, ConfigError, VerifierError
from gatt.runs.suggest import did_you_mean
from gatt.runs.yaml_file import read_mapping
from gatt.verifiers import build
from gatt.verifiers.spec import VerifierSpec

EVENT_FILE: Final = Path(__file__).parent / "events.yaml"
"""The kinds that are shipped."""
TOPIC_JUMP: Final = "topic_jump"
"""Also the kind of a turn at which one dialogue ends and the next begins."""

_KIND_KEYS = ("about", "expect", "families", "texts")
_TEXT_KEYS = ("text", "language", "verifiers")


@dataclass(frozen=True, slots=True)
class EventText:
    """One way to say it."""

    text: str
    language: str | None = None
    """No distraction from an instruction to write in this language."""
    verifiers: tuple[VerifierSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class EventKind:
    """Something users do, and what should happen."""

    name: str
    expect: Expected
    texts: tuple[EventText, ...]
    families: tuple[str, ...] = ()
    """Families of instructions it is meant for; none: all."""


def read_event_kinds(path: Path = EVENT_FILE) -> dict[str, EventKind]:
    """Return the kinds of a YAML file by their names; its form stands at the head of `events.yaml`.

    Raises:
        ConfigError: the file cannot be read, or with its place what is wrong in it.
    """
    kinds, places = read_mapping(path)
    return {
        name: _parse_kind(f"{places[name]}: {name}", name, kind) for name, kind in kinds.items()
    }


def with_events(
    cases: Sequence[Case],
    kinds: Sequence[EventKind],
    turns: Sequence[int],
    rng: random.Random,
) -> list[Case]:
    """Return the cases with an event at each of the turns; plain ones stay as they are.

    Kinds take turns in a Latin square, so that over the cases each comes at every
    turn as often, and neither depends on the other. One that releases comes last.
    It is left out where ordinary replies follow the instruction unasked ("use no
    digits"): leaving it alone could not be told from following it. So are kinds
    that are not meant for an instruction's family, and texts in its language.

    Args:
        cases: as `make_cases` draws them.
        kinds: at least one.
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
            turn: _draw(kind, case.instruction, rng)
            for turn, kind in zip(turns[len(turns) - len(chosen) :], chosen, strict=True)
        }
        found.append(replace(case, events={**case.events, **drawn}))
        number += 1
    return found


def _schedule(
    instruction: Instruction, kinds: Sequence[EventKind], num: int, shift: int
) -> list[EventKind]:
    fitting = [k for k in kinds if _fits(k, instruction)]
    steady = [k for k in fitting if k.expect == "kept"]
    last = [k for k in fitting if k.expect == "released"]
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


def _draw(kind: EventKind, instruction: Instruction, rng: random.Random) -> Event:
    text = rng.choice(_texts(kind, instruction))
    return Event(kind.name, text.text, kind.expect, text.verifiers)


def _parse_kind(where: str, name: str, raw: object) -> EventKind:
    found = _mapping(where, raw, _KIND_KEYS)
    expect = found.get("expect")
    if expect not in CHOICES["expected"]:
        raise ConfigError(
            f"{where}: 'expect' is {expect!r}: expected one of {', '.join(CHOICES['expected'])}"
        )
    families = found.get("families", [])
    if not isinstance(families, list) or not all(isinstance(f, str) for f in families):
        raise ConfigError(f"{where}: 'families' is {families!r}: expected a list of names")
    texts = found.get("texts")
    if not isinstance(texts, list) or not texts:
        raise ConfigError(f"{where}: 'texts' is {texts!r}: expected a list with at least one text")
    parsed = tuple(_parse_text(f"{where}: text {n}", t) for n, t in enumerate(texts, start=1))
    if expect == "released" and any(t.verifiers for t in parsed):
        raise ConfigError(
            f"{where}: texts with verifiers in a kind that releases: expected none, nothing holds there"
        )
    return EventKind(name, expect, parsed, tuple(families))


def _parse_text(where: str, raw: object) -> EventText:
    found = _mapping(where, raw, _TEXT_KEYS)
    text, language = found.get("text"), found.get("language")
    if not isinstance(text, str) or not text.strip():
        raise ConfigError(f"{where}: 'text' is {text!r}: expected what the user says")
    if language is not None and not isinstance(language, str):
        raise ConfigError(f"{where}: 'language' is {language!r}: expected a code such as fr")
    return EventText(text, language, parse_verifiers(where, found.get("verifiers", [])))


def parse_verifiers(where: str, raw: object) -> tuple[VerifierSpec, ...]:
    """Return verifiers from the flat form that people write, each built once to see that it can be.

    Raises:
        ConfigError: with its place: no list, an unknown kind, or parameters that it refuses.
    """
    if not isinstance(raw, list):
        raise ConfigError(f"{where}: 'verifiers' is {type(raw).__name__}: expected a list")
    specs = []
    for number, item in enumerate(raw, start=1):
        try:
            spec = VerifierSpec.from_dict(item)
            build(spec)
        except (CatalogError, VerifierError) as error:
            raise ConfigError(f"{where}: verifier {number}: {error}") from None
        specs.append(spec)
    return tuple(specs)


def _mapping(where: str, raw: object, known: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping):
        raise ConfigError(f"{where}: found {type(raw).__name__}: expected {', '.join(known)}")
    for key in raw:
        if key not in known:
            raise ConfigError(
                f"{where}: unknown key {key!r}{did_you_mean(key, known)} (known: {', '.join(known)})"
            )
    return raw
