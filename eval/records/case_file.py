"""Case files: one case a line, written by hand or by `gatt suite import`.

::

    {"id": "tea-1", "user_turns": ["Hi!", "..."],
     "instruction": {"text": "Always ...", "family": "behaviour", "verifiers": [{"kind": "terms", ...}]},
     "probes": [{"question": "What ...?", "verifiers": [...]}],
     "events": {"3": {"kind": "topic_jump", "verifiers": [...]}},
     "switches": [{"turn": 5, "kind": "replace", "text": "From now on ...", "instruction": {...}}]}

A turn may say what its reply must hold, in place of a text::

    {"content": "How long can I return boots?", "expect": {"any_of": ["30 days", "thirty days"]}}

`expect` also takes `none_of` and `verifiers`, and stands in the user messages of `messages` in the same way.

`switches` change the instruction: `replace` and `add` have a new `instruction`, `cancel` has none.
`"place": "system"` makes the text a system message before that turn. `messages`, instead of `user_turns`,
contains the replies of a dialogue too. A case without `instruction` is a plain one. The judge
decides an instruction without verifiers.

`"turns": "last"`, or a list of turns, says which replies of the case are judged, whatever the configuration
says. `"placement": "none"` in an instruction says that the user's own messages have it: its text is not given
to any arm, and is what the judge reads.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, PlainValidator

from eval.records.case import BLANK, Case, Event, Text, Verifiers
from gatt.data.dialogue import Dialogue, Message, parse_messages
from gatt.data.expectation import Expectation
from gatt.data.instruction import Instruction, Probe, Split, combine
from gatt.data.switches import Switch, SwitchKind, SwitchPlace
from gatt.errors import CatalogError, ConfigError, DataError, VerifierError
from gatt.runs.store import parsed_records
from gatt.runs.values import ShapeError, typed
from gatt.verifiers import build

CaseLine = dict[str, Any]
"""One case, with the keys of a case file."""

_LONG_MESSAGE_WORDS: Final = 12
RESERVED: Final = ("all", "plain", "combined")
"""Names of tables for totals, for cases without instruction and for several families at once."""


def _not_reserved(family: str) -> str:
    if family in RESERVED:
        raise ConfigError(f"{family!r}: expected another name than {', '.join(RESERVED)}")
    return family


def _expectation(raw: object) -> Expectation:
    try:
        expectation = Expectation.from_dict(raw)
        for spec in expectation.verifiers:
            build(spec)
    except (DataError, CatalogError, VerifierError) as error:
        raise ConfigError(str(error)) from None
    return expectation


@dataclass(frozen=True)
class _WrittenInstruction:
    text: Text
    family: Annotated[Text, AfterValidator(_not_reserved)]
    value: str = ""
    split: Split = "heldout_value"
    verifiers: Verifiers = ()
    placement: Literal["none"] | None = None
    """`none`: the text already stands in the user's messages."""


@dataclass(frozen=True)
class _WrittenProbe:
    question: Text
    verifiers: Verifiers = ()


@dataclass(frozen=True)
class _WrittenSwitch:
    turn: int
    kind: SwitchKind
    text: str
    place: SwitchPlace = "user"
    instruction: _WrittenInstruction | None = None
    probes: tuple[_WrittenProbe, ...] = ()


@dataclass(frozen=True)
class _WrittenTurn:
    content: Text
    expect: Annotated[Expectation | None, PlainValidator(_expectation)] = None


@dataclass(frozen=True)
class _WrittenCase:
    """A line of the file."""

    id: Text
    messages: tuple[dict[str, Any], ...] | None = None
    user_turns: tuple[str | _WrittenTurn, ...] | None = None
    instruction: _WrittenInstruction | None = None
    probes: tuple[_WrittenProbe, ...] = ()
    events: dict[int, Event] = field(default_factory=dict)
    turns: tuple[int, ...] | Literal["last"] | None = None
    switches: tuple[_WrittenSwitch, ...] = ()
    constraints: Any = None
    """What imports of earlier versions wrote; not read."""

    def __post_init__(self) -> None:
        # Row keys of the roll-outs hold the id between slashes.
        if "/" in self.id:
            raise ConfigError(f"id is {self.id!r}: expected a text without '/'")
        if (self.messages is None) == (self.user_turns is None):
            raise ConfigError("expected one of 'messages' and 'user_turns'")
        if self.user_turns == ():
            raise ConfigError("user_turns is empty: expected at least one text")
        if self.turns is not None and self.turns != "last":
            _check_turns(self.turns)
        if len(self.probes) > 1:
            raise ConfigError(
                f"{len(self.probes)} probes: expected one a case, make a case of each"
            )
        has_rules = any(event.verifiers for event in self.events.values())
        if self.instruction is None and (self.probes or self.switches or has_rules):
            raise ConfigError(
                "probes, switches, or events with verifiers without instruction: expected the instruction"
            )


def _check_turns(turns: tuple[int, ...]) -> None:
    if not turns or turns != tuple(sorted(set(turns))) or turns[0] < 1:
        raise ConfigError(f"turns is {list(turns)}: expected rising turns from 1 on, or 'last'")


def read_cases(path: Path) -> tuple[Case, ...]:
    """Return the cases of a JSONL file.

    Raises:
        DataError: with file and line: a missing or empty file, broken JSON, an
            unknown key, a case that breaks its contract, or a repeated id.
    """
    cases: dict[str, Case] = {}
    for number, case in parsed_records(path, _parse, is_whole=True):
        if case.id in cases:
            raise DataError(
                f"{path} line {number}: id {case.id!r} is repeated: expected unique ids"
            )
        cases[case.id] = case
    if not cases:
        raise DataError(f"{path}: no case in it: expected one JSON object a line")
    return _with_shared_ids(cases.values())


def _with_shared_ids(cases: Iterable[Case]) -> tuple[Case, ...]:
    """Return the cases with shared ids for equal dialogues and equal instructions.

    Intervals need independent units: the same user messages are one dialogue, and the same
    words and rules one instruction. Each is named after its first case; if two instructions
    would get one name, `@` and the case are added. Cases that share both, and differ in
    events or probes only, are twins.
    """
    listed = list(cases)
    clusters = _clusters(listed)
    dialogues: dict[tuple[str, ...], str] = {}
    instructions: dict[str, str] = {}
    pairs: set[tuple[str, str]] = set()
    shared = []
    for case in listed:
        name = dialogues.setdefault(case.dialogue.user_turns, case.id)
        dialogue = Dialogue(name, case.dialogue.messages)
        instruction = case.instruction
        if instruction is not None:
            content = replace(instruction, id="", entries=(), probes=())
            content_text = json.dumps(content.as_dict(), sort_keys=True)
            taken = instruction.id in instructions.values()
            own = f"{instruction.id}@{case.id}" if taken else instruction.id
            instruction = replace(instruction, id=instructions.setdefault(content_text, own))
        pair = (name, instruction.id if instruction else "")
        twin = case.id if pair in pairs else ""
        pairs.add(pair)
        cluster = clusters.get(case.id, "")
        shared.append(
            replace(case, dialogue=dialogue, instruction=instruction, twin=twin, cluster=cluster)
        )
    return tuple(shared)


def _clusters(cases: Sequence[Case]) -> dict[str, str]:
    """Return for each case the first case whose dialogue begins alike, if there are several.

    Dialogues begin alike with the same exchange (a message and its reply; two messages where a file has no
    replies), or where the first message of one begins that of the other and is long: "Hi!" says nothing.
    Dialogues of the same messages are one already, see `_with_shared_ids`.
    """
    exchanges: dict[tuple[str, ...], list[Case]] = defaultdict(list)
    begun: dict[str, list[Case]] = defaultdict(list)
    root = ""
    for case in sorted(cases, key=lambda c: c.dialogue.user_turns[0]):
        first, *later = case.dialogue.user_turns
        answer = case.dialogue.replies[0] if case.has_replies else next(iter(later), None)
        if answer is not None:
            exchanges[first, answer].append(case)
        if not root or not first.startswith(root):
            root = first if len(first.split()) >= _LONG_MESSAGE_WORDS else ""
        if root:
            begun[root].append(case)
    order = {case.id: number for number, case in enumerate(cases)}
    clusters: dict[str, str] = {}
    for members in (*begun.values(), *exchanges.values()):
        if len({case.dialogue.user_turns for case in members}) > 1:
            first_id = min((case.id for case in members), key=order.__getitem__)
            for case in members:
                clusters.setdefault(case.id, first_id)
    return clusters


def _parse(number: int, raw: dict[str, Any]) -> Case:
    try:
        return _case(typed(_WrittenCase, {"id": str(number), **raw}))
    except (ConfigError, ShapeError) as error:
        raise DataError(str(error)) from None


def _case(written: _WrittenCase) -> Case:
    dialogue = _dialogue(written)
    instruction = None
    if written.instruction is not None:
        instruction = _instruction(written.id, written.instruction, written.probes)
    turns = (dialogue.num_turns,) if written.turns == "last" else written.turns
    if turns and turns[-1] > dialogue.num_turns:
        raise DataError(f"turns is {list(turns)}: expected turns from 1 to {dialogue.num_turns}")
    if any(s.instruction and s.instruction.placement for s in written.switches):
        raise DataError("placement in a switch: expected it in the first instruction only")
    for turn in written.events:
        if not 1 <= turn <= dialogue.num_turns:
            raise DataError(f"event at turn {turn}: expected a turn from 1 to {dialogue.num_turns}")
    case = Case(
        written.id,
        dialogue,
        instruction,
        instruction.probes[0] if instruction and instruction.probes else None,
        written.events,
        has_replies=written.messages is not None and len(dialogue.replies) > 0,
        switches=_switches(written.id, written.switches, instruction),
        turns=turns,
        is_given=written.instruction is not None and written.instruction.placement == "none",
    )
    for turn, event in written.events.items():
        if event.verifiers and case.expected(turn) == "released":
            raise DataError(
                f"event at turn {turn}: 'verifiers' after a release: expected a switch of kind 'replace' for a "
                "rule that takes the place of another"
            )
    return case


def _switches(
    name: str, written: Sequence[_WrittenSwitch], first: Instruction | None
) -> tuple[Switch, ...]:
    switches: list[Switch] = []
    held = first
    for number, given in enumerate(written, start=1):
        new = None
        if given.instruction is not None:
            if given.kind == "cancel":
                raise DataError(f"switch {number}: 'cancel' with 'instruction': expected none")
            new = _instruction(f"{name}@{given.turn}", given.instruction, given.probes[:1])
            if given.kind == "add" and held is not None:
                both = combine(held, new)
                new = replace(both, probes=new.probes or both.probes)
        switches.append(Switch(given.turn, given.kind, given.place, given.text, new))
        held = new
    return tuple(switches)


def _dialogue(written: _WrittenCase) -> Dialogue:
    if written.messages is not None:
        dialogue = Dialogue(written.id, parse_messages(list(written.messages)))
        if dialogue.has_system:
            raise DataError("'messages' begin with a system message: expected it as 'instruction'")
        return dialogue
    asked = [
        Message("user", turn)
        if isinstance(turn, str)
        else Message("user", turn.content, turn.expect)
        for turn in written.user_turns or ()
    ]
    messages = [m for message in asked for m in (message, Message("assistant", BLANK))]
    return Dialogue(written.id, tuple(messages[:-1]))


def _instruction(
    name: str, written: _WrittenInstruction, probes: Sequence[_WrittenProbe]
) -> Instruction:
    return Instruction(
        id=f"{written.family}.{written.value or name}",
        text=written.text,
        wording="verbose",
        entries=(written.value or name,),
        families=(written.family,),
        split=written.split,
        verifiers=written.verifiers,
        probes=tuple(Probe(probe.question, probe.verifiers) for probe in probes),
    )
