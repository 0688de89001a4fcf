"""Case files: one case a line, written by hand or by `gatt suite import`.

::

    {"id": "tea-1", "user_turns": ["Hi!", "..."],
     "instruction": {"text": "Always ...", "family": "behaviour", "verifiers": [{"kind": "terms", ...}]},
     "probes": [{"question": "What ...?", "verifiers": [...]}],
     "events": {"3": {"kind": "topic_jump", "text": "...", "expect": "kept"}},
     "switches": [{"turn": 5, "kind": "replace", "text": "From now on ...", "instruction": {...}}]}

`switches` change the instruction: `replace` and `add` with what is new, `cancel` without;
`"place": "system"` makes the text a system message before that turn.
A verifier of the kind `score` has a function of the user's own grade the reply, see `eval.scoring.scores`.
`messages` in place of `user_turns` brings the replies of a dialogue along. Without
`instruction` the case is a plain one. An instruction without verifiers is left to
the judge.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from eval.records.case import BLANK, Case, Event
from eval.records.events import parse_verifiers
from eval.records.samples import CHOICES
from gatt.data.dialogue import Dialogue, Message, parse_messages
from gatt.data.instruction import SPLITS, Instruction, Probe, combine
from gatt.data.switches import Switch
from gatt.errors import ConfigError, DataError
from gatt.runs.store import parsed_records
from gatt.runs.suggest import did_you_mean
from gatt.verifiers.graded.score import DECIDED_LATER

DEFAULT_SPLIT: Final = "heldout_value"
RESERVED: Final = ("all", "plain", "combined")
"""Families that tables use for totals, for cases without instruction and for several at once."""
COVERED_BY: Final = ("rules", "judge", "not covered")

_CASE_KEYS = (
    "id",
    "messages",
    "user_turns",
    "instruction",
    "probes",
    "events",
    "switches",
    "constraints",
)
_INSTRUCTION_KEYS = ("text", "family", "value", "split", "verifiers")
_EVENT_KEYS = ("kind", "text", "expect", "verifiers")
_SWITCH_KEYS = ("turn", "kind", "place", "text", "instruction", "probes")
_PROBE_KEYS = ("question", "verifiers")
_CONSTRAINT_KEYS = ("id", "text", "by")


@dataclass(frozen=True, slots=True)
class CaseFile:
    """The cases of a file, and what became of the constraints that they were made from."""

    cases: tuple[Case, ...]
    constraints: tuple[Mapping[str, str], ...]
    """`id`, `text` and `by` of each, as importers write them; empty for files without."""


def read_cases(path: Path) -> CaseFile:
    """Return the cases of a JSONL file.

    Raises:
        DataError: with file and line: a missing or empty file, broken JSON, an
            unknown key, a case that breaks its contract, or a repeated id.
    """
    cases: dict[str, Case] = {}
    constraints: list[Mapping[str, str]] = []
    for number, (case, named) in parsed_records(path, lambda n, raw: _parse(n, raw), is_whole=True):
        if case.id in cases:
            raise DataError(
                f"{path} line {number}: id {case.id!r} stands there twice: expected unique ids"
            )
        cases[case.id] = case
        constraints += named
    if not cases:
        raise DataError(f"{path}: no case in it: expected one JSON object a line")
    return CaseFile(_with_shared_ids(cases.values()), tuple(constraints))


def _with_shared_ids(cases: Iterable[Case]) -> tuple[Case, ...]:
    """Return the cases, those that say the same to the model under the same ids.

    Intervals count what is independent: the same user messages are one dialogue,
    and the same words and rules one instruction, named after the first case that
    has them; a name that two instructions would share gets the case behind it.
    Cases that share both, since they differ in events or probes, are twins.
    """
    dialogues: dict[tuple[str, ...], str] = {}
    instructions: dict[str, str] = {}
    pairs: set[tuple[str, str]] = set()
    found = []
    for case in cases:
        name = dialogues.setdefault(case.dialogue.user_turns, case.id)
        dialogue = Dialogue(name, case.dialogue.messages)
        instruction = case.instruction
        if instruction is not None:
            content = replace(instruction, id="", entries=(), probes=())
            told = json.dumps(content.as_dict(), sort_keys=True)
            taken = instruction.id in instructions.values()
            own = f"{instruction.id}@{case.id}" if taken else instruction.id
            instruction = replace(instruction, id=instructions.setdefault(told, own))
        pair = (name, instruction.id if instruction else "")
        twin = case.id if pair in pairs else ""
        pairs.add(pair)
        found.append(replace(case, dialogue=dialogue, instruction=instruction, twin=twin))
    return tuple(found)


def _parse(number: int, raw: object) -> tuple[Case, list[Mapping[str, str]]]:
    found = _object("a case", raw, _CASE_KEYS)
    name = found.get("id", str(number))
    if not isinstance(name, str):
        raise DataError(f"'id' is {name!r}: expected a text")
    # Row keys of the roll-outs hold the id between slashes.
    if not name.strip() or "/" in name:
        raise DataError(f"'id' is {name!r}: expected some text without '/'")
    try:
        return _case(name, found), _constraints(found.get("constraints", []))
    except ConfigError as error:
        raise DataError(str(error)) from None


def _case(name: str, raw: Mapping[str, Any]) -> Case:
    dialogue, has_replies = _dialogue(name, raw)
    probes = _probes(raw.get("probes", []))
    if len(probes) > 1:
        raise DataError(f"{len(probes)} probes: expected one a case, make a case of each")
    instruction = None
    if raw.get("instruction") is not None:
        instruction = _instruction(name, raw["instruction"], probes)
    elif probes:
        raise DataError("'probes' without 'instruction': expected what they ask for")
    events = _events(raw.get("events", {}), dialogue.num_turns)
    if instruction is None and any(e.verifiers or e.expect for e in events.values()):
        raise DataError("'events' with 'expect' or 'verifiers' without 'instruction': expected one")
    if instruction is not None:
        _check_releases(instruction, events)
    case = Case(name, dialogue, instruction, probes[0] if probes else None, events, has_replies)
    return replace(case, switches=_switches(name, raw.get("switches", []), instruction))


def _switches(name: str, raw: object, first: Instruction | None) -> tuple[Switch, ...]:
    if not isinstance(raw, list):
        raise DataError(f"'switches' is {type(raw).__name__}: expected a list")
    if raw and first is None:
        raise DataError("'switches' without 'instruction': expected what they change")
    found: list[Switch] = []
    held = first
    for number, item in enumerate(raw, start=1):
        where = f"switch {number}"
        given = _object(where, item, _SWITCH_KEYS)
        kind, text, turn = (given.get(key) for key in ("kind", "text", "turn"))
        new = None
        if given.get("instruction") is not None:
            if kind == "cancel":
                raise DataError(f"{where}: 'cancel' with 'instruction': expected none")
            probes = _probes(given.get("probes", []))
            new = _instruction(f"{name}@{turn}", given["instruction"], probes[:1])
            if kind == "add" and held is not None:
                both = combine(held, new)
                new = replace(both, probes=new.probes or both.probes)
        found.append(Switch(turn, kind, given.get("place", "user"), text, new))  # type: ignore[arg-type]
        held = new
    return tuple(found)


def _check_releases(instruction: Instruction, events: Mapping[int, Event]) -> None:
    """Refuse what could not be judged behind a release.

    Raises:
        DataError: a rule at a turn at which nobody can say what else holds.
    """
    is_released = False
    for turn, event in sorted(events.items()):
        if event.verifiers and event.expect is None and is_released:
            raise DataError(
                f"event at turn {turn}: 'verifiers' behind a release: expected 'expect' beside them"
            )
        is_released = event.expect == "released" or (is_released and event.expect is None)
        kinds = {v.kind for v in instruction.verifiers}
        if event.verifiers and is_released and (not kinds or kinds & DECIDED_LATER):
            raise DataError(
                f"event at turn {turn}: releases from an instruction that the judge or a score decides, and "
                "has 'verifiers': expected rules in the instruction, or no 'verifiers' here"
            )


def _dialogue(name: str, raw: Mapping[str, Any]) -> tuple[Dialogue, bool]:
    if ("messages" in raw) == ("user_turns" in raw):
        raise DataError("expected one of 'messages' and 'user_turns'")
    if "messages" in raw:
        dialogue = Dialogue(name, parse_messages(raw["messages"]))
        if dialogue.has_system:
            raise DataError("'messages' begin with a system message: expected it as 'instruction'")
        return dialogue, len(dialogue.replies) > 0
    turns = raw["user_turns"]
    if not isinstance(turns, list) or not turns or not all(isinstance(t, str) for t in turns):
        raise DataError(f"'user_turns' is {turns!r}: expected a list of texts")
    messages = [m for turn in turns for m in (Message("user", turn), Message("assistant", BLANK))]
    return Dialogue(name, tuple(messages[:-1])), False


def _instruction(name: str, raw: object, probes: Sequence[Probe]) -> Instruction:
    found = _object("'instruction'", raw, _INSTRUCTION_KEYS)
    for key in ("text", "family"):
        if not isinstance(found.get(key), str) or not found[key].strip():
            raise DataError(f"'instruction.{key}' is {found.get(key)!r}: expected some text")
    if found["family"] in RESERVED:
        raise DataError(f"'instruction.family' is {found['family']!r}: expected another name")
    value = found.get("value", "")
    if not isinstance(value, str):
        raise DataError(f"'instruction.value' is {value!r}: expected a text")
    split = found.get("split", DEFAULT_SPLIT)
    if split not in SPLITS:
        raise DataError(f"'instruction.split' is {split!r}: expected one of {', '.join(SPLITS)}")
    return Instruction(
        id=f"{found['family']}.{value or name}",
        text=found["text"],
        wording="verbose",
        entries=(value or name,),
        families=(found["family"],),
        split=split,
        verifiers=parse_verifiers("'instruction'", found.get("verifiers", [])),
        probes=tuple(probes),
    )


def _probes(raw: object) -> list[Probe]:
    if not isinstance(raw, list):
        raise DataError(f"'probes' is {type(raw).__name__}: expected a list")
    probes = []
    for number, item in enumerate(raw, start=1):
        found = _object(f"probe {number}", item, _PROBE_KEYS)
        if not isinstance(found.get("question"), str) or not found["question"].strip():
            raise DataError(
                f"probe {number}: 'question' is {found.get('question')!r}: expected some text"
            )
        verifiers = parse_verifiers(f"probe {number}", found.get("verifiers", []))
        probes.append(Probe(found["question"], verifiers))
    return probes


def _events(raw: object, num_turns: int) -> dict[int, Event]:
    events = {}
    for turn, item in _object("'events'", raw, None).items():
        if not str(turn).isdecimal() or not 1 <= int(turn) <= num_turns:
            raise DataError(f"event at turn {turn!r}: expected a turn from 1 to {num_turns}")
        where = f"event at turn {turn}"
        found = _object(where, item, _EVENT_KEYS)
        kind, text, expect = found.get("kind"), found.get("text"), found.get("expect")
        if not isinstance(kind, str) or not kind.strip():
            raise DataError(f"{where}: 'kind' is {kind!r}: expected a name such as topic_jump")
        if text is not None and (not isinstance(text, str) or not text.strip()):
            raise DataError(f"{where}: 'text' is {text!r}: expected what the user says, or null")
        if expect is not None and expect not in CHOICES["expected"]:
            raise DataError(
                f"{where}: 'expect' is {expect!r}: expected null or one of {', '.join(CHOICES['expected'])}"
            )
        if int(turn) in events:
            raise DataError(f"{where}: stands there twice: expected each turn once")
        events[int(turn)] = Event(
            kind, text, expect, parse_verifiers(where, found.get("verifiers", []))
        )
    return events


def _constraints(raw: object) -> list[Mapping[str, str]]:
    if not isinstance(raw, list):
        raise DataError(f"'constraints' is {type(raw).__name__}: expected a list")
    found: list[Mapping[str, str]] = []
    for number, item in enumerate(raw, start=1):
        constraint = _object(f"constraint {number}", item, _CONSTRAINT_KEYS)
        if constraint.get("by") not in COVERED_BY:
            raise DataError(
                f"constraint {number}: 'by' is {constraint.get('by')!r}: expected one of "
                f"{', '.join(COVERED_BY)}"
            )
        found.append({key: str(constraint.get(key, "")) for key in _CONSTRAINT_KEYS})
    return found


def _object(where: str, raw: object, known: Sequence[str] | None) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping):
        raise DataError(f"{where}: found {type(raw).__name__}: expected an object")
    for key in raw:
        if known is not None and key not in known:
            raise DataError(
                f"{where}: unknown key {key!r}{did_you_mean(key, known)} (known: {', '.join(known)})"
            )
    return raw
