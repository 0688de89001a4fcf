"""The plan of a run: which dialogue gets which instruction, fixed by the seed before any sampling."""

from __future__ import annotations

import hashlib
import json
import random
from array import array
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from data_synth.config import SynthConfig
from gatt.data.catalog.read import Catalog
from gatt.data.catalog.switch_draw import SwitchDraw
from gatt.data.dialogue import Dialogue
from gatt.data.instruction import Instruction
from gatt.data.speaker_turns import TRAINED_TOPIC_SHARE, asking_the_speaker
from gatt.data.switches import Switch, in_force
from gatt.errors import DataError

MOST_DRAWS = 300
"""Draws for one dialogue without a new instruction, after which it is taken to have had all of them."""


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


def plan_samples(dialogues: Sequence[Dialogue], catalog: Catalog, config: SynthConfig) -> Plan:
    """Return the samples to make, in order.

    Sample i depends only on the seed and the samples before it, so a larger plan
    begins with the smaller one. Plain samples are spread evenly over the plan.

    Dialogues are taken in turn. If there are fewer dialogues than samples, they are
    used again in a seeded order: first under another instruction, then under another
    wording of an earlier instruction, and never twice under the same text. A plain
    dialogue is used again only after all others have been used as often.

    Some questions of a dialogue become questions about the speaker where the instruction has the answers; in
    a user's own dialogues they are put between.

    Changes of the instruction are drawn from random states of their own: instructions
    and dialogues are the same with and without changes.

    Raises:
        CatalogError: unknown family, split or value, or no combination of them.
        DataError: no dialogue, or fewer pairs of a dialogue and an instruction
            than samples; says how many can be made. Or a change at a turn that
            no dialogue has.
    """
    if not dialogues:
        raise DataError(
            "no dialogue to put instructions on: see the source's min_turns and filters"
        )
    plan = Plan(dialogues, catalog, config)
    is_own = config.source.has_own_replies
    plain = _Deck(len(dialogues), f"{config.seed}/plain", in_order=is_own)
    instructed = _Deck(len(dialogues), f"{config.seed}/instructed", in_order=is_own)
    given: list[dict[str, set[bytes]]] = [{"entries": set(), "texts": set()} for _ in dialogues]
    share = config.plain_fraction
    for index in range(config.num_samples):
        if int((index + 1) * share) > int(index * share):
            plan.add(plain.take(index), 0, None)
            continue
        rng: random.Random | None = None
        num_draws, instruction = 0, None
        while instructed.num_places and instruction is None:
            place = instructed.take(index)
            if rng is None or is_own:
                rng, num_draws = plan.next_rng(place), 0
            num, instruction = _draw_new(plan, rng, given[place])
            num_draws += num
            if instruction is None:
                instructed.withdraw(place)
        if instruction is None:
            raise DataError(
                f"num_samples is {config.num_samples}, but {len(dialogues)} dialogues and "
                f"{len(plan.pool)} catalogue entries give {index} samples without the same words on the "
                f"same dialogue: set num_samples to {index}, or allow more dialogues or entries"
            )
        plan.add(place, num_draws, instruction)
    return plan


class Plan(Sequence[PlannedSample]):
    """The samples to make, in order; `plan_samples` fills it.

    A sample is stored as the place of its dialogue, how often that one came before, and the number of
    draws up to its instruction. The instruction is drawn again at every access, so
    that a plan of a million samples takes about ten megabytes.
    """

    def __init__(
        self, dialogues: Sequence[Dialogue], catalog: Catalog, config: SynthConfig
    ) -> None:
        choice = config.instructions
        self.pool = choice.pool(catalog)
        """Entries that may be drawn."""
        self.draw = partial(choice.draw, catalog, self.pool)
        """Makes an instruction from a random state; equal states give equal instructions."""
        self._switch: SwitchDraw | None = None
        if config.switch is not None:
            config.switch.refuse_past(max(dialogue.num_turns for dialogue in dialogues))
            self._switch = SwitchDraw(config.switch, catalog, self.pool, choice.terse_probability)
        self._dialogues = dialogues
        self._seed = config.seed
        self._part = config.part
        self._turns = [dialogue.num_turns for dialogue in dialogues]
        self._lengths = array("L")
        """Turns of each sample, those about the speaker included."""
        self._has_own_replies = config.source.has_own_replies
        self._places = array("L")
        self._draws = array("L")
        self._uses = array("L")
        """How often the dialogue of each sample came under an instruction before."""
        self._num_uses: Counter[int] = Counter()
        self._sha = hashlib.sha256()
        self._hashed: set[int | str] = set()
        """Dialogues and combinations of entries, each of which is hashed in full once."""

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: Any) -> Any:
        """Return the sample of an index, or the list of those of a slice."""
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        rng, instruction = random.Random(self._key(number)), None
        for _ in range(self._draws[number]):
            instruction = self.draw(rng)
        return self._planned(number, instruction)

    @property
    def digest(self) -> str:
        """SHA-256 of dialogues, instructions, changes and their order."""
        return self._sha.hexdigest()

    def num_turns(self, indices: Iterable[int]) -> int:
        """Return the number of turns of some samples."""
        return sum(self._lengths[index] for index in indices)

    def next_rng(self, place: int) -> random.Random:
        """Return the random state from which the instruction of the next sample is drawn.

        Args:
            place: of its dialogue; it decides the state for a user's own dialogues alone.
        """
        return random.Random(self._key_of(len(self), place, self._num_uses[place]))

    def source_dialogue(self, index: int) -> Dialogue:
        """Return the dialogue of a sample as its source gives it, without questions put between."""
        return self._dialogues[self._places[index]]

    def add(self, place: int, num_draws: int, instruction: Instruction | None) -> None:
        """Add the next sample.

        Args:
            place: of its dialogue.
            num_draws: draws from its random state; the last one gave the instruction.
                0 for a plain dialogue.
            instruction: the last draw.
        """
        self._places.append(place)
        self._draws.append(num_draws)
        self._uses.append(self._num_uses[place])
        if instruction is not None:
            self._num_uses[place] += 1
        planned = self._planned(len(self) - 1, instruction)
        row: list[Any] = [place]
        if place not in self._hashed:
            row.append(self._dialogues[place].as_dict())
        if planned.dialogue != self._dialogues[place]:
            row.append(planned.dialogue.user_turns)
        if instruction is not None:
            # The entries decide everything except the wording.
            row.append([instruction.id, instruction.wording, instruction.text])
            if instruction.id not in self._hashed:
                row.append(instruction.as_dict())
            self._hashed.add(instruction.id)
        self._hashed.add(place)
        row += [switch.as_dict() for switch in planned.switches or ()]
        self._sha.update(json.dumps(row, sort_keys=True, ensure_ascii=False).encode())
        self._lengths.append(planned.dialogue.num_turns)

    def _key(self, index: int) -> str:
        return self._key_of(index, self._places[index], self._uses[index])

    def _key_of(self, index: int, place: int, use: int) -> str:
        own = f"{self._dialogues[place].id}/{use}"
        return f"{self._seed}/{own if self._has_own_replies else index}"

    def _planned(self, index: int, instruction: Instruction | None) -> PlannedSample:
        switches: tuple[Switch, ...] | None = None
        place, seed = self._places[index], self._key(index)
        if self._switch is not None:
            rng = random.Random(f"{seed}/switch")
            drawn = instruction and self._switch.draw(instruction, self._turns[place], rng)
            switches = (drawn,) if drawn else ()
        dialogue = asking_the_speaker(
            self._dialogues[place], instruction, switches or (), seed, self._part,
            is_own=self._has_own_replies, topic_share=TRAINED_TOPIC_SHARE,
        )  # fmt: skip
        return PlannedSample(sample_id(index), dialogue, instruction, switches)


def sample_id(index: int) -> str:
    """Return the id of a planned sample, counted from 0."""
    return f"s{index:06d}"


class _Deck:
    """Gives each place once before any place again."""

    def __init__(self, size: int, seed: str, *, in_order: bool) -> None:
        self._size, self._in_order = size, in_order
        self._order = (
            list(range(size)) if in_order else random.Random(seed).sample(range(size), size)
        )
        self._left: OrderedDict[int, None] = OrderedDict()

    @property
    def num_places(self) -> int:
        """Number of places that were not withdrawn."""
        return len(self._order)

    def take(self, index: int) -> int:
        """Return the next place; if the order is free, that with the sample's own number while it is left."""
        if not self._left:
            self._left = OrderedDict.fromkeys(self._order)
        own = index % self._size
        is_left = own in self._left and not self._in_order
        place = own if is_left else next(iter(self._left))
        del self._left[place]
        return place

    def withdraw(self, place: int) -> None:
        """Never give a place again; it has just been taken."""
        self._order.remove(place)


def _draw_new(
    plan: Plan, rng: random.Random, given: dict[str, set[bytes]]
) -> tuple[int, Instruction | None]:
    """Return how often was drawn, and an instruction that is new to the dialogue, else one in new words.

    `given` holds short hashes of what the dialogue has had, because all texts would fill the memory.
    """
    num_draws = 0
    for what in list(given):
        for _ in range(MOST_DRAWS):
            num_draws += 1
            instruction = plan.draw(rng)
            # The same entries in another order are the same instruction.
            names = {"entries": "\n".join(sorted(instruction.entries)), "texts": instruction.text}
            if _short_hash(names[what]) not in given[what]:
                for name, had in given.items():
                    had.add(_short_hash(names[name]))
                return num_draws, instruction
        if what == "entries":
            # It has had all of them.
            del given[what]
    return num_draws, None


def _short_hash(text: str) -> bytes:
    """Return an 8-byte hash of a text, the same in every process."""
    return hashlib.blake2b(text.encode(), digest_size=8).digest()
