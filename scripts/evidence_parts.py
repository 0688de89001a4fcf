"""Write the parts of the samples that some ablations of `scripts/evidence.sh` take, a file each.

    python scripts/evidence_parts.py FOLDER FILE…

Every sample keeps the id, and so the draws, that it has where all files are trained on together.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from gatt.data.sample import GattSample, TurnTarget
from gatt.errors import GattError
from gatt.runs.atomic_file import atomic_write_text
from gatt.train.data.samples import read_all_samples

T = TypeVar("T")

PLAIN_SHARE = 0.15
SIZES = (50, 200)
TURNS = 8
"""What ablations take of a sample: only targets of these turns count here."""
ENTRIES_STRIDE = 4
"""One in so many entries of each family stands in `few_entries`."""


def evenly(items: Sequence[T], num: int) -> list[T]:
    """Return so many of the items, evenly spread, so of every file."""
    total = max(len(items), 1)
    return [item for at, item in enumerate(items) if (at + 1) * num // total > at * num // total]


def taught(sample: GattSample) -> list[TurnTarget]:
    """Return the targets that an ablation trains on."""
    return [target for target in sample.targets[:TURNS] if target.reply is not None]


def first_draws(sample: GattSample) -> list[TurnTarget]:
    """Return those that the teacher gave without a hint, a given beginning or an added sentence."""
    return [target for target in taught(sample) if target.kind == "sampled"]


def only(sample: GattSample, kept: Iterable[TurnTarget]) -> GattSample:
    """Return the sample with some of its targets alone."""
    turns = {target.turn for target in kept}
    targets = (
        target
        if target.turn in turns or target.reply is None
        else replace(target, reply=None, reason="left_out", kind=None)
        for target in sample.targets
    )
    return replace(sample, targets=tuple(targets))


def some_entries(told: Iterable[GattSample]) -> set[str]:
    """Return one in four entries of each family, in the order in which they come up."""
    by_family: dict[str, dict[str, None]] = {}
    for sample in told:
        for entry in sample.instruction.entries if sample.instruction else ():
            by_family.setdefault(entry.partition(".")[0], {}).setdefault(entry)
    return {entry for entries in by_family.values() for entry in list(entries)[::ENTRIES_STRIDE]}


def parts(samples: Sequence[GattSample]) -> dict[str, list[GattSample]]:
    """Return the samples of each part by its name.

    `told` has no plain sample, and `plain_15` 15 % of them. `unaided` teaches first draws alone, `as_many`
    as many targets of the same samples, whatever their kind. `few_entries` has all samples of a quarter of
    the entries, `many_entries` as many of all entries, so fewer of each. These four have the plain samples
    in the share of the whole.
    """
    told = [s for s in samples if not s.is_plain]
    plain = [s for s in samples if s.is_plain]
    share = len(plain) / max(len(told), 1)

    def beside(chosen: Iterable[GattSample], num_plain: int) -> list[GattSample]:
        by_id = {s.id: s for s in (*chosen, *evenly(plain, num_plain))}
        return [by_id[s.id] for s in samples if s.id in by_id]

    unaided = [s for s in told if first_draws(s)]
    # Drawn, not spread: of one that is kept the last one would stay, at turn 8.
    as_many = [only(s, random.Random(s.id).sample(taught(s), len(first_draws(s)))) for s in unaided]
    entries = some_entries(told)
    of_few = [s for s in told if s.instruction and set(s.instruction.entries) <= entries]
    return {
        "told": told,
        "plain_15": beside(told, round(len(told) * PLAIN_SHARE / (1 - PLAIN_SHARE))),
        **{f"samples_{num}": evenly(samples, num) for num in SIZES},
        "unaided": beside((only(s, first_draws(s)) for s in unaided), round(len(unaided) * share)),
        "as_many": beside(as_many, round(len(unaided) * share)),
        "few_entries": beside(of_few, int(len(of_few) * share)),
        "many_entries": beside(evenly(told, len(of_few)), int(len(of_few) * share)),
    }


def main() -> None:
    """Write each part to a file of its name."""
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder, *paths = map(Path, sys.argv[1:])
    try:
        found = parts(list(read_all_samples(paths)))
        for name, samples in found.items():
            lines = (json.dumps(s.as_dict(), ensure_ascii=False) + "\n" for s in samples)
            atomic_write_text(folder / f"{name}.jsonl", "".join(lines))
    except GattError as error:
        sys.exit(f"evidence_parts: {error}")


if __name__ == "__main__":
    main()
