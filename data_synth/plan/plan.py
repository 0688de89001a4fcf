"""The plan of a run: dialogue and instruction of each sample, in a few bytes a sample."""

from __future__ import annotations

import hashlib
import json
import random
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, overload

from gatt.data.dialogue import Dialogue
from gatt.data.instruction import Instruction
from gatt.data.switches import Switch, in_force

Draw = Callable[[random.Random], Instruction]
DrawSwitch = Callable[[Instruction, int, random.Random], Switch | None]


@dataclass(frozen=True)
class PlannedSample:
    """A sample without its replies; its instruction is None for a plain dialogue."""

    id: str
    dialogue: Dialogue
    instruction: Instruction | None
    switches: tuple[Switch, ...] | None = None
    """Changes of the instruction, see `gatt.data.sample.GattSample`."""

    def instruction_at(self, turn: int) -> Instruction | None:
        """Return the instruction in force at a turn, counted from 1."""
        return in_force(self.instruction, self.switches or (), turn)


class Plan(Sequence[PlannedSample]):
    """The samples to make, in order.

    A sample is stored as two numbers: the place of its dialogue, and the number of
    draws up to its instruction. The instruction is drawn again at every access, so
    that a plan of a million samples takes about ten megabytes.
    """

    def __init__(
        self,
        dialogues: Sequence[Dialogue],
        draw: Draw,
        seed: int,
        draw_switch: DrawSwitch | None = None,
    ) -> None:
        """Make an empty plan; `data_synth.plan.make_plan` fills it.

        Args:
            dialogues: of the samples.
            draw: makes an instruction from a random state; equal states give equal instructions.
            seed: of the run.
            draw_switch: makes the change of an instruction, or None, from a random state
                of its own, so that instructions do not depend on changes.
        """
        self._dialogues = dialogues
        self._draw = draw
        self._seed = seed
        self._draw_switch = draw_switch
        self._turns = [dialogue.num_turns for dialogue in dialogues]
        self._places = array("L")
        self._draws = array("L")
        self._digest = _Digest()

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> PlannedSample: ...

    @overload
    def __getitem__(self, index: slice) -> list[PlannedSample]: ...

    def __getitem__(self, index: int | slice) -> PlannedSample | list[PlannedSample]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        rng = self.rng(number)
        instruction = None
        for _ in range(self._draws[number]):
            instruction = self._draw(rng)
        return self._planned(number, self._places[number], instruction)

    @property
    def digest(self) -> str:
        """SHA-256 of dialogues, instructions, changes and their order."""
        return self._digest.sha.hexdigest()

    def num_turns(self, indices: Iterable[int]) -> int:
        """Return the number of turns of some samples."""
        return sum(self._turns[self._places[index]] for index in indices)

    def rng(self, index: int) -> random.Random:
        """Return the random state from which the instruction of a sample is drawn."""
        return random.Random(f"{self._seed}/{index}")

    def add(self, place: int, num_draws: int, instruction: Instruction | None) -> None:
        """Add the next sample.

        Args:
            place: of its dialogue.
            num_draws: draws from its random state; the last one gave the instruction.
                0 for a plain dialogue.
            instruction: the last draw.
        """
        planned = self._planned(len(self), place, instruction)
        self._digest.add(place, planned.dialogue, instruction, planned.switches)
        self._places.append(place)
        self._draws.append(num_draws)

    def _planned(self, index: int, place: int, instruction: Instruction | None) -> PlannedSample:
        switches: tuple[Switch, ...] | None = None
        if self._draw_switch is not None:
            rng = random.Random(f"{self._seed}/{index}/switch")
            drawn = instruction and self._draw_switch(instruction, self._turns[place], rng)
            switches = (drawn,) if drawn else ()
        return PlannedSample(sample_id(index), self._dialogues[place], instruction, switches)


def sample_id(index: int) -> str:
    """Return the id of a planned sample, counted from 0."""
    return f"s{index:06d}"


class _Digest:
    """Hash of a plan; each dialogue and combination of entries is hashed in full once."""

    def __init__(self) -> None:
        self.sha = hashlib.sha256()
        self._dialogues: set[int] = set()
        self._instructions: set[bytes] = set()

    def add(
        self,
        place: int,
        dialogue: Dialogue,
        instruction: Instruction | None,
        switches: Sequence[Switch] | None,
    ) -> None:
        row: list[Any] = [place]
        if place not in self._dialogues:
            self._dialogues.add(place)
            row.append(dialogue.as_dict())
        if instruction is not None:
            # The entries decide everything except the wording.
            key = short_hash(instruction.id)
            row.append([instruction.id, instruction.wording, instruction.text])
            if key not in self._instructions:
                self._instructions.add(key)
                row.append(instruction.as_dict())
        row += [switch.as_dict() for switch in switches or ()]
        self.sha.update(json.dumps(row, sort_keys=True, ensure_ascii=False).encode())


def short_hash(text: str) -> bytes:
    """Return an 8-byte hash of a text, the same in every process."""
    return hashlib.blake2b(text.encode(), digest_size=8).digest()
