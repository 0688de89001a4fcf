"""The plan: which dialogue gets which instruction, fixed by the seed before the first token."""

from __future__ import annotations

import logging
import random
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from gatt.catalog import Catalog
from gatt.dialogue import Dialogue
from gatt.errors import DataError
from gatt.instruction import Instruction
from gatt.instruction_config import InstructionConfig

log = logging.getLogger(__name__)

MOST_DRAWS = 300
"""Draws for one dialogue before it is held to have every instruction that there is."""


@dataclass(frozen=True)
class PlannedSample:
    """A sample to be: its instruction is None for a plain dialogue."""

    id: str
    dialogue: Dialogue
    instruction: Instruction | None


def plan_samples(
    dialogues: Sequence[Dialogue],
    catalog: Catalog,
    config: InstructionConfig,
    *,
    num_samples: int,
    plain_fraction: float,
    seed: int,
) -> list[PlannedSample]:
    """Return the samples to make, in order.

    Sample i depends on the seed and the samples before it, so a larger plan
    begins with the smaller one. Of every stretch of samples the plain ones take
    the same share.

    Dialogues are taken in turn. Where there are fewer than samples they come
    again in a seeded order: under another instruction, then under another
    wording of one they had, and never twice under the same text. A plain
    dialogue has nothing to tell its copies apart: it comes again only after all
    others have come as often, and a warning says so.

    Raises:
        CatalogError: unknown family, split or value, or no combination of them.
        DataError: no dialogue, or fewer pairs of a dialogue and an instruction
            than samples; says how many can be made.
    """
    if not dialogues:
        raise DataError(
            "no dialogue to put instructions on: see the source's min_turns and filters"
        )
    pool = config.pool(catalog)
    plain = _Deck(len(dialogues), f"{seed}/plain")
    instructed = _Deck(len(dialogues), f"{seed}/instructed")
    given = [_Given() for _ in dialogues]
    plan: list[PlannedSample] = []
    for index in range(num_samples):
        rng = random.Random(f"{seed}/{index}")
        name = f"s{index:06d}"
        if int((index + 1) * plain_fraction) > int(index * plain_fraction):
            plan.append(PlannedSample(name, dialogues[plain.take(index)], None))
            continue
        found = _next_pair(instructed, given, index, partial(config.draw, catalog, pool, rng))
        if found is None:
            raise DataError(
                f"num_samples is {num_samples}, but {len(dialogues)} dialogues and {len(pool)} "
                f"catalogue entries give {index} samples without the same words on the same "
                f"dialogue: set num_samples to {index}, or allow more dialogues or entries"
            )
        place, instruction = found
        plan.append(PlannedSample(name, dialogues[place], instruction))
    if plain.num_rounds > 1:
        log.warning(
            "%d plain samples from %d dialogues: some come up %d times without an instruction; "
            "lower plain_fraction or num_samples, or give more dialogues",
            sum(p.instruction is None for p in plan),
            len(dialogues),
            plain.num_rounds,
        )
    return plan


class _Deck:
    """Hands out places so that each comes once before any comes again."""

    def __init__(self, size: int, seed: str) -> None:
        self.size = size
        """Places that are handed out; smaller by those withdrawn."""
        self.num_rounds = 0
        self._all = size
        self._order = random.Random(seed).sample(range(size), size)
        self._left: OrderedDict[int, None] = OrderedDict()

    def take(self, index: int) -> int:
        """Return the place of a sample's own turn if it is still there, else the next one."""
        if not self._left:
            self._left = OrderedDict.fromkeys(self._order)
            self.num_rounds += 1
        own = index % self._all
        place = own if own in self._left else next(iter(self._left))
        del self._left[place]
        return place

    def withdraw(self, place: int) -> None:
        """Hand a place out no more; it has just been taken."""
        self._order.remove(place)
        self.size -= 1


@dataclass
class _Given:
    """What one dialogue has had."""

    entries: set[frozenset[str]] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    has_all_entries: bool = False


def _next_pair(
    deck: _Deck, given: Sequence[_Given], index: int, draw: Callable[[], Instruction]
) -> tuple[int, Instruction] | None:
    """Return the next dialogue for which there is something new, and that; None if none is left."""
    while deck.size:
        place = deck.take(index)
        instruction = _draw_new(draw, given[place])
        if instruction is not None:
            return place, instruction
        deck.withdraw(place)
    return None


def _draw_new(draw: Callable[[], Instruction], given: _Given) -> Instruction | None:
    """Return an instruction that the dialogue has not had, or else one in other words, or None."""
    if not given.has_all_entries:
        for _ in range(MOST_DRAWS):
            instruction = draw()
            # The order of the entries makes no other instruction.
            entries = frozenset(instruction.entries)
            if entries not in given.entries:
                given.entries.add(entries)
                given.texts.add(instruction.text)
                return instruction
        given.has_all_entries = True
    for _ in range(MOST_DRAWS):
        instruction = draw()
        if instruction.text not in given.texts:
            given.texts.add(instruction.text)
            return instruction
    return None
