"""The plan: which dialogue gets which instruction, fixed by the seed before the first token."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from gatt.catalog import Catalog
from gatt.dialogue import Dialogue
from gatt.errors import DataError
from gatt.instruction import Instruction
from gatt.instruction_config import InstructionConfig


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

    Sample i depends on the seed and i alone, so a larger plan begins with the
    smaller one. Dialogues are taken in turn; where there are fewer than
    samples they come again under another instruction. Of every stretch of
    samples the plain ones take the same share.

    Raises:
        CatalogError: unknown family, split or value, or no combination of them.
        DataError: no dialogue.
    """
    if not dialogues:
        raise DataError(
            "no dialogue to put instructions on: see the source's min_turns and filters"
        )
    pool = config.pool(catalog)
    plan = []
    for index in range(num_samples):
        rng = random.Random(f"{seed}/{index}")
        dialogue = dialogues[index % len(dialogues)]
        name = f"s{index:06d}"
        is_plain = int((index + 1) * plain_fraction) > int(index * plain_fraction)
        if is_plain:
            plan.append(PlannedSample(name, dialogue, None))
            continue
        plan.append(PlannedSample(name, dialogue, config.draw(catalog, pool, rng)))
    return plan
