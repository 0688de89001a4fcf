"""Cases: a dialogue, an instruction and a probe, the same for every arm."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from eval.config import EvalConfig
from gatt.catalog import Catalog
from gatt.dialogue import Dialogue
from gatt.errors import CatalogError, DataError
from gatt.instruction import Entry, Instruction, Probe, compose


@dataclass(frozen=True)
class Case:
    """One dialogue under one instruction (None: plain, for false triggers)."""

    id: str
    dialogue: Dialogue
    instruction: Instruction | None
    probe: Probe | None

    @property
    def split(self) -> str:
        """The instruction's split; `none` without one."""
        return self.instruction.split if self.instruction else "none"

    @property
    def family(self) -> str:
        """The instruction's family; `plain` without one."""
        return self.instruction.family if self.instruction else "plain"


def make_cases(config: EvalConfig, catalog: Catalog, dialogues: Sequence[Dialogue]) -> list[Case]:
    """Return the cases of a configuration: per split, then the plain ones.

    Families take turns, so that each has its share of every split; within a
    family entries are drawn without repetition until all were used. A split in
    which the chosen families and values have no entry is an error unless no
    value was chosen by name. Dialogues are taken in turn, and none gets the
    same instruction twice: the metrics could not tell such cases apart.

    Raises:
        CatalogError: unknown family or value, or no entry in any split.
        DataError: no dialogue, or too few of them.
    """
    if not dialogues:
        raise DataError("no dialogue to evaluate on: see the source's min_turns")
    cases: list[Case] = []
    empty: list[str] = []
    used: set[tuple[str, str]] = set()
    for split in config.splits:
        try:
            pool = config.instructions.select(catalog, (split,))
        except CatalogError:
            config.instructions.select(catalog, ())
            empty.append(split)
            continue
        rng = random.Random(f"{config.seed}/{split}")
        for index, entries in enumerate(_draws(config, catalog, pool, rng)):
            instruction = compose(entries, rng, config.instructions.terse_probability)
            probe = rng.choice(instruction.probes) if instruction.probes else None
            turn = [*dialogues[index % len(dialogues) :], *dialogues[: index % len(dialogues)]]
            dialogue = next((d for d in turn if (d.id, instruction.id) not in used), None)
            if dialogue is None:
                raise DataError(
                    f"split {split!r}: {config.num_dialogues} cases from {len(dialogues)} dialogues and "
                    f"{len(pool)} catalogue entries repeat {instruction.id!r} on a dialogue: lower "
                    "num_dialogues, or allow more of either"
                )
            used.add((dialogue.id, instruction.id))
            cases.append(Case(f"{split}-{index:04d}", dialogue, instruction, probe))
    if not cases and config.num_dialogues:
        raise CatalogError(
            f"no catalogue entry in splits {', '.join(empty)} with the chosen families and values: "
            "choose others"
        )
    if config.num_plain > len(dialogues):
        raise DataError(
            f"num_plain is {config.num_plain}, but the source gives {len(dialogues)} dialogues: lower it"
        )
    cases += [
        Case(f"plain-{n:04d}", d, None, None) for n, d in enumerate(dialogues[: config.num_plain])
    ]
    return cases


def _draws(
    config: EvalConfig, catalog: Catalog, pool: Sequence[Entry], rng: random.Random
) -> list[tuple[Entry, ...]]:
    weights = config.instructions.num_entries
    families = sorted({e.family for e in pool})
    decks: dict[str, list[Entry]] = {}
    drawn: list[tuple[Entry, ...]] = []
    for index in range(config.num_dialogues):
        size = rng.choices(range(1, len(weights) + 1), weights=weights)[0]
        chosen: list[Entry] = []
        for step in range(size):
            family = families[(index + step) % len(families)]
            deck = decks.setdefault(family, [])
            if not deck:
                deck += [e for e in pool if e.family == family]
                rng.shuffle(deck)
            entry = next(
                (e for e in deck if not any(catalog.conflicts.between(e, c) for c in chosen)), None
            )
            if entry is not None:
                deck.remove(entry)
                chosen.append(entry)
        drawn.append(tuple(chosen))
    return drawn
