"""Makes the plan: which dialogue gets which instruction, fixed by the seed before any sampling."""

from __future__ import annotations

import logging
import random
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from data_synth.plan.plan import Draw, Plan, short_hash
from gatt.data.catalog.choice import InstructionConfig
from gatt.data.catalog.read import Catalog
from gatt.data.catalog.switch_draw import SwitchConfig, SwitchDraw
from gatt.data.dialogue import Dialogue
from gatt.data.instruction import Instruction
from gatt.errors import DataError

log = logging.getLogger(__name__)

MOST_DRAWS = 300
"""Draws for one dialogue without a new instruction, after which it is taken to have had all of them."""


def plan_samples(
    dialogues: Sequence[Dialogue],
    catalog: Catalog,
    config: InstructionConfig,
    *,
    num_samples: int,
    plain_fraction: float,
    seed: int,
    switch: SwitchConfig | None = None,
) -> Plan:
    """Return the samples to make, in order.

    Sample i depends only on the seed and the samples before it, so a larger plan
    begins with the smaller one. Plain samples are spread evenly over the plan.

    Dialogues are taken in turn. If there are fewer dialogues than samples, they are
    used again in a seeded order: first under another instruction, then under another
    wording of an earlier instruction, and never twice under the same text. Copies of
    a plain dialogue are equal: one is used again only after all others have been used
    as often, and a warning says so.

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
    pool = config.pool(catalog)
    draw = partial(config.draw, catalog, pool)
    draw_switch = None
    if switch is not None:
        switch.refuse_past(max(dialogue.num_turns for dialogue in dialogues))
        draw_switch = SwitchDraw(switch, catalog, pool, config.terse_probability).draw
    plan = Plan(dialogues, draw, seed, draw_switch)
    plain = _Deck(len(dialogues), f"{seed}/plain")
    instructed = _Deck(len(dialogues), f"{seed}/instructed")
    given = [_Given() for _ in dialogues]
    num_plain = 0
    for index in range(num_samples):
        if int((index + 1) * plain_fraction) > int(index * plain_fraction):
            plan.add(plain.take(index), 0, None)
            num_plain += 1
            continue
        drawing = _Drawing(draw, plan.rng(index))
        found = _next_pair(instructed, given, index, drawing)
        if found is None:
            raise DataError(
                f"num_samples is {num_samples}, but {len(dialogues)} dialogues and {len(pool)} "
                f"catalogue entries give {index} samples without the same words on the same "
                f"dialogue: set num_samples to {index}, or allow more dialogues or entries"
            )
        place, instruction = found
        plan.add(place, drawing.num_draws, instruction)
    if plain.num_rounds > 1:
        log.warning(
            "%d plain samples from %d dialogues: some come up %d times without an instruction; "
            "lower plain_fraction or num_samples, or give more dialogues",
            num_plain,
            len(dialogues),
            plain.num_rounds,
        )
    return plan


class _Drawing:
    """Draws instructions from one random state and counts them."""

    def __init__(self, draw: Draw, rng: random.Random) -> None:
        self._draw = draw
        self._rng = rng
        self.num_draws = 0

    def next(self) -> Instruction:
        self.num_draws += 1
        return self._draw(self._rng)


class _Deck:
    """Gives each place once before any place again."""

    def __init__(self, size: int, seed: str) -> None:
        self.size = size
        """Number of places that were not withdrawn."""
        self.num_rounds = 0
        self._all = size
        self._order = random.Random(seed).sample(range(size), size)
        self._left: OrderedDict[int, None] = OrderedDict()

    def take(self, index: int) -> int:
        """Return the place of the same number as the sample if it is left, else the next one."""
        if not self._left:
            self._left = OrderedDict.fromkeys(self._order)
            self.num_rounds += 1
        own = index % self._all
        place = own if own in self._left else next(iter(self._left))
        del self._left[place]
        return place

    def withdraw(self, place: int) -> None:
        """Never give a place again; it has just been taken."""
        self._order.remove(place)
        self.size -= 1


@dataclass
class _Given:
    """Instructions that one dialogue has had, as short hashes, because all texts would fill the memory."""

    entries: set[bytes] = field(default_factory=set)
    texts: set[bytes] = field(default_factory=set)
    has_all_entries: bool = False


def _next_pair(
    deck: _Deck, given: Sequence[_Given], index: int, drawing: _Drawing
) -> tuple[int, Instruction] | None:
    """Return the next dialogue and a new instruction for it; None if no dialogue can get one."""
    while deck.size:
        place = deck.take(index)
        instruction = _draw_new(drawing, given[place])
        if instruction is not None:
            return place, instruction
        deck.withdraw(place)
    return None


def _draw_new(drawing: _Drawing, given: _Given) -> Instruction | None:
    """Return an instruction that is new to the dialogue, else one in new words, else None."""
    if not given.has_all_entries:
        for _ in range(MOST_DRAWS):
            instruction = drawing.next()
            # The same entries in another order are the same instruction.
            entries = short_hash("\n".join(sorted(instruction.entries)))
            if entries not in given.entries:
                given.entries.add(entries)
                given.texts.add(short_hash(instruction.text))
                return instruction
        given.has_all_entries = True
        given.entries.clear()
    for _ in range(MOST_DRAWS):
        instruction = drawing.next()
        text = short_hash(instruction.text)
        if text not in given.texts:
            given.texts.add(text)
            return instruction
    return None
