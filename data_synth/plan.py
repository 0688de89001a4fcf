"""The plan of a run as a value: what each sample is to be, in a few bytes a sample."""

from __future__ import annotations

import hashlib
import json
import random
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, overload

from gatt.dialogue import Dialogue
from gatt.instruction import Instruction

Draw = Callable[[random.Random], Instruction]


@dataclass(frozen=True)
class PlannedSample:
    """A sample to be: its instruction is None for a plain dialogue."""

    id: str
    dialogue: Dialogue
    instruction: Instruction | None


class Plan(Sequence[PlannedSample]):
    """The samples to make, in order.

    A sample is held as two numbers, the place of its dialogue and how many
    draws led to its instruction, and drawn again whenever it is asked for: a
    plan of a million samples takes some ten megabytes.
    """

    def __init__(self, dialogues: Sequence[Dialogue], draw: Draw, seed: int) -> None:
        """Start an empty plan; `data_synth.planning` fills it.

        Args:
            dialogues: what samples are made of.
            draw: makes an instruction from a random state; equal states give equal ones.
            seed: of the run.
        """
        self._dialogues = dialogues
        self._draw = draw
        self._seed = seed
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
        return PlannedSample(sample_id(number), self._dialogues[self._places[number]], instruction)

    @property
    def digest(self) -> str:
        """SHA-256 of all that the samples are made of: dialogues, instructions and their order."""
        return self._digest.sha.hexdigest()

    def num_turns(self, indices: Iterable[int]) -> int:
        """Return the number of turns of some samples."""
        return sum(self._turns[self._places[index]] for index in indices)

    def rng(self, index: int) -> random.Random:
        """Return the random state that the instruction of a sample is drawn from."""
        return random.Random(f"{self._seed}/{index}")

    def add(self, place: int, num_draws: int, instruction: Instruction | None) -> None:
        """Add the next sample.

        Args:
            place: of its dialogue.
            num_draws: draws from its random state, the last of which gave the
                instruction; 0 for a plain dialogue.
            instruction: the one that was drawn.
        """
        self._digest.add(place, self._dialogues[place], instruction)
        self._places.append(place)
        self._draws.append(num_draws)


def sample_id(index: int) -> str:
    """Return the id of a planned sample, counted from 0."""
    return f"s{index:06d}"


class _Digest:
    """What a plan is made of as one hash; each dialogue and combination counts in full once."""

    def __init__(self) -> None:
        self.sha = hashlib.sha256()
        self._dialogues: set[int] = set()
        self._instructions: set[bytes] = set()

    def add(self, place: int, dialogue: Dialogue, instruction: Instruction | None) -> None:
        row: list[Any] = [place]
        if place not in self._dialogues:
            self._dialogues.add(place)
            row.append(dialogue.as_dict())
        if instruction is not None:
            # Entries fix everything but the wording.
            key = short_hash(instruction.id)
            row.append([instruction.id, instruction.wording, instruction.text])
            if key not in self._instructions:
                self._instructions.add(key)
                row.append(instruction.as_dict())
        self.sha.update(json.dumps(row, sort_keys=True, ensure_ascii=False).encode())


def short_hash(text: str) -> bytes:
    """Return 8 bytes that tell a text apart, the same in every process."""
    return hashlib.blake2b(text.encode(), digest_size=8).digest()
