"""A case: a dialogue, an instruction, a probe, and events at its turns; and one reply to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, PlainValidator

from eval.records.samples import Expected, Kind
from gatt.data.catalog.switch_leakage import Rules, ended_rules
from gatt.data.dialogue import Dialogue
from gatt.data.expectation import Expectation
from gatt.data.instruction import Instruction, Probe
from gatt.data.switches import Switch, check_switches, ended, in_force, last_switch
from gatt.errors import CatalogError, ConfigError, VerifierError
from gatt.verifiers import build
from gatt.verifiers.judge import JUDGE
from gatt.verifiers.spec import VerifierSpec

TOPIC_JUMP: Final = "topic_jump"
"""The kind of a turn at which one of several joined dialogues ends and the next begins."""
BLANK: Final = "…"
"""Stands in place of a missing reply: messages must not be empty."""


def _some_text(text: str) -> str:
    if not text.strip():
        raise ConfigError(f"{text!r}: expected some text")
    return text


def _verifiers(raw: Sequence[Mapping[str, Any]]) -> tuple[VerifierSpec, ...]:
    """Return verifiers from the flat form that people write, each built once as a check."""
    if not isinstance(raw, list):
        raise ConfigError(f"{raw!r}: expected a list of verifiers")
    specs = []
    for number, item in enumerate(raw, start=1):
        try:
            specs.append(VerifierSpec.from_dict(item))
            build(specs[-1])
        except (CatalogError, VerifierError) as error:
            raise ConfigError(f"verifier {number}: {error}") from None
    return tuple(specs)


Text = Annotated[str, AfterValidator(_some_text)]
"""A text in a file: not blank."""
Verifiers = Annotated[tuple[VerifierSpec, ...], PlainValidator(_verifiers)]
"""Verifiers in a file: in the flat form, of known kinds and with parameters that these take."""


@dataclass(frozen=True)
class Event:
    """What the user does at a turn besides talking."""

    kind: Text
    """Such as `topic_jump`."""
    expect: Literal["kept"] | None = None
    """Not read. Imports of SysBench by earlier versions wrote it; fingerprints of their folders hold it."""
    verifiers: Verifiers = ()
    """Rules of this turn alone, in addition to the instruction."""


@dataclass(frozen=True)
class Case:
    """One dialogue under one instruction, which may change; without one it counts false triggers.

    Raises:
        DataError: an impossible change, see `check_switches`.
    """

    id: str
    dialogue: Dialogue
    instruction: Instruction | None
    probe: Probe | None
    events: Mapping[int, Event] = field(default_factory=dict)
    """By turn, counted from 1."""
    has_replies: bool = True
    """Whether the dialogue has replies; without them `BLANK` stands between its turns."""
    twin: str = ""
    """The id, if an earlier case has the same dialogue and instruction but other events or probes; else ""."""
    turns: tuple[int, ...] | None = None
    """Turns whose replies are judged, whatever the configuration says; None: those of the configuration."""
    is_given: bool = False
    """The user's own messages have the instruction: no arm is given its text."""
    cluster: str = ""
    """Id that all dialogues share that begin alike; "" if no other begins alike."""
    switches: tuple[Switch, ...] = ()
    """Changes of the instruction, by turn. The first probe of a new instruction is asked."""
    canned: Mapping[str, str] = field(default_factory=dict)
    """By id of an instruction: what the arm `canned` always replies under it, see `eval.cases.canned`."""

    def __post_init__(self) -> None:
        check_switches(f"case {self.id!r}", self.instruction, self.switches, self.num_turns)

    @property
    def split(self) -> str:
        """The instruction's split; `none` without one."""
        return self.instruction.split if self.instruction else "none"

    @property
    def family(self) -> str:
        """The instruction's family; `plain` without one."""
        return self.instruction.family if self.instruction else "plain"

    @property
    def num_turns(self) -> int:
        """Number of user messages."""
        return self.dialogue.num_turns

    def user_turn(self, turn: int, kind: Kind = "turn") -> str:
        """Return what the user says at a turn, counted from 1: the message, or the question of the probe."""
        if kind == "probe" and (probe := self.probe_at(turn)) is not None:
            return probe.question
        return self.dialogue.user_turns[turn - 1]

    def reference(self, turn: int) -> str | None:
        """Return the dialogue's own reply to what the user says at a turn, None without one."""
        own = self.dialogue.replies if self.has_replies else ()
        return own[turn - 1] if turn <= len(own) else None

    def expectation(self, turn: int) -> Expectation | None:
        """Return what the reply to a user message must hold beside the instruction, None for nothing."""
        return self.dialogue.expectations[turn - 1]

    def asks_for_told(self, turn: int) -> bool:
        """Whether the user message asks for a fact that the user told at an earlier turn."""
        expectation = self.expectation(turn)
        return expectation is not None and expectation.kind == "told"

    def expected(self, turn: int) -> Expected:
        """Return `kept` if the instruction still holds at a turn, `released` after it was taken back."""
        switch = last_switch(self.switches, turn)
        return "released" if switch and switch.instruction is None else "kept"

    def held_at(self, turn: int) -> Instruction | None:
        """Return the instruction in force at a turn, None if none is."""
        return in_force(self.instruction, self.switches, turn)

    def ended_at(self, turn: int) -> Instruction | None:
        """Return the instruction that the last change up to a turn replaced or took back."""
        return ended(self.instruction, self.switches, turn)

    def ended_rules(self, turn: int) -> Rules:
        """Return the rules of ended instructions, see `gatt.data.catalog.switch_leakage`."""
        return ended_rules(self.instruction, self.switches, turn)

    def probe_at(self, turn: int) -> Probe | None:
        """Return the probe of the instruction at a turn, or of the one that was taken back."""
        for switch in reversed(self.switches):
            if switch.turn <= turn and switch.instruction is not None:
                return next(iter(switch.instruction.probes), None)
        return self.probe

    @property
    def release_turn(self) -> int | None:
        """The first turn from which on the instruction does not hold, None if it always holds."""
        return next((s.turn for s in self.switches if s.instruction is None), None)

    def instruction_at(self, turn: int, kind: Kind = "turn") -> Instruction | None:
        """Return the instruction with everything that must hold at a turn as its verifiers.

        It is the instruction in force, or the last one if that was taken back.
        """
        event = self.events.get(turn)
        instruction = self.held_at(turn) or self.ended_at(turn)
        if instruction is None or event is None or not event.verifiers or kind == "probe":
            return instruction
        held = instruction.verifiers
        if not held and all(v.kind != JUDGE for v in event.verifiers):
            # The rule of this turn does not replace the judge, which decides the instruction.
            held = (VerifierSpec(JUDGE, {"rubric": instruction.text}),)
        return replace(instruction, verifiers=(*held, *event.verifiers))

    def words(self) -> dict[str, Any]:
        """Return, as JSON takes it, all words of the case that a model can read: not the rules."""

        def words_of(instruction: Instruction | None) -> list[str]:
            probes = instruction.probes[:1] if instruction else ()
            return [instruction.text, *(p.question for p in probes)] if instruction else []

        given = {"is_given": True} if self.is_given else {}
        return given | {
            "id": self.id,
            "dialogue": {
                "id": self.dialogue.id,
                "messages": [message.as_dict() for message in self.dialogue.messages],
            },
            "instruction": self.instruction.text if self.instruction else None,
            "probe": self.probe.question if self.probe else None,
            "events": {str(t): [e.kind, None, e.expect] for t, e in sorted(self.events.items())},
            "switches": [
                [s.turn, s.kind, s.place, s.text, *words_of(s.instruction)] for s in self.switches
            ],
        }
