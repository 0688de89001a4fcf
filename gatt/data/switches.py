"""Which instruction is in force at which turn: changes in the middle of a dialogue. No torch here.

Changing the system message during the conversation is what Llama 2
(arXiv:2307.09288, section 3.3) leaves to future work. A change is announced
once, at its turn, by the user or in a later system message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from gatt.data.instruction import Instruction
from gatt.errors import DataError

SwitchKind = Literal["replace", "add", "cancel"]
SWITCH_KINDS: tuple[SwitchKind, ...] = get_args(SwitchKind)
SwitchPlace = Literal["user", "system"]
SWITCH_PLACES: tuple[str, ...] = get_args(SwitchPlace)


@dataclass(frozen=True)
class Switch:
    """One change of the instruction.

    Raises:
        DataError: a turn below 2, an unknown kind or place, a blank text, or a
            change to something new that does not say to what.
    """

    turn: int
    """The user message that it stands at, from 2: what holds from turn 1 on is no change."""
    kind: SwitchKind
    place: SwitchPlace
    """`user`: in front of that message; `system`: a system message of its own before it."""
    text: str
    """The announcement, as it stands in the dialogue."""
    instruction: Instruction | None
    """All that is in force from this turn on (with `add` the earlier one as well); None: nothing."""

    def __post_init__(self) -> None:
        where = f"switch at turn {self.turn!r}"
        if not isinstance(self.turn, int) or self.turn < 2:
            raise DataError(
                f"{where}: expected a turn from 2 on, turn 1 holds the first instruction"
            )
        for name, valid in (("kind", SWITCH_KINDS), ("place", SWITCH_PLACES)):
            if (value := getattr(self, name)) not in valid:
                raise DataError(
                    f"{where}: unknown {name} {value!r}: expected one of {', '.join(valid)}"
                )
        if not isinstance(self.text, str) or not self.text.strip():
            raise DataError(f"{where}: text is {self.text!r}: expected the words that announce it")
        if self.instruction is None and self.kind != "cancel":
            raise DataError(f"{where}: {self.kind!r} without instruction: expected what holds then")

    def as_dict(self) -> dict[str, Any]:
        """Return the change as a sample or a case holds it."""
        held = self.instruction.as_dict() if self.instruction else None
        return {**vars(self), "instruction": held}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Switch:
        """Return the change of its JSON form.

        Raises:
            KeyError: a key is missing.
        """
        values = {name: raw[name] for name in ("turn", "kind", "place", "text", "instruction")}
        held = values["instruction"]
        return cls(**values | {"instruction": Instruction.from_dict(held) if held else None})


def check_switches(
    where: str, first: Instruction | None, switches: Sequence[Switch], num_turns: int
) -> None:
    """Refuse changes that cannot be: of an instruction never given, or behind the last turn.

    Raises:
        DataError: names the turn.
    """
    before, held = 1, first
    for switch in switches:
        at = f"{where}: switch at turn {switch.turn}"
        if switch.turn > num_turns:
            raise DataError(
                f"{at}, but the dialogue has {num_turns} turns: expected a turn from 2 to {num_turns}"
            )
        if switch.turn <= before and switch is not switches[0]:
            raise DataError(f"{at} behind one at turn {before}: expected rising turns")
        if held is None and switch.kind != "add":
            raise DataError(
                f"{at}: {switch.kind!r} of an instruction that was never given: expected one before it"
            )
        before, held = switch.turn, switch.instruction


def last_switch(switches: Sequence[Switch], turn: int) -> Switch | None:
    """Return the last change up to a turn, that turn included."""
    return next((s for s in reversed(switches) if s.turn <= turn), None)


def in_force(
    first: Instruction | None, switches: Sequence[Switch], turn: int
) -> Instruction | None:
    """Return what holds at a turn, counted from 1; None where nothing does.

    A change at the turn itself counts.
    """
    switch = last_switch(switches, turn)
    return switch.instruction if switch else first


def last_end(switches: Sequence[Switch], turn: int) -> Switch | None:
    """Return the last `replace` or `cancel` up to a turn, that turn included."""
    return last_switch([s for s in switches if s.kind != "add"], turn)


def ended(first: Instruction | None, switches: Sequence[Switch], turn: int) -> Instruction | None:
    """Return what the last `replace` or `cancel` up to a turn has ended; None without one."""
    end = last_end(switches, turn)
    return in_force(first, switches, end.turn - 1) if end else None


def texts_in_force(
    first: str | None, switches: Sequence[Switch], num_turns: int
) -> tuple[str | None, ...]:
    """Return the words of what holds at each turn, turn 1 first."""
    texts = [first] * num_turns
    for switch in switches:
        held = switch.instruction.text if switch.instruction else None
        texts[switch.turn - 1 :] = [held] * (num_turns - switch.turn + 1)
    return tuple(texts)


def on_turns(switches: Sequence[Switch], turns: Sequence[int]) -> tuple[Switch, ...]:
    """Return the changes of some turns, counted as these turns alone are.

    `turns` are those that are left of the dialogue, ascending.
    """
    places = {turn: place for place, turn in enumerate(turns, start=1)}
    return tuple(replace(s, turn=places[s.turn]) for s in switches if s.turn in places)


def told_by_user(switches: Sequence[Switch]) -> tuple[Switch, ...]:
    """Return the changes with every announcement in the user's message.

    For chat templates that take no system message but the first.
    """
    return tuple(replace(s, place="user") for s in switches)
