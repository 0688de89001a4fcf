"""Write the parts of the samples that some ablations of `scripts/evidence.sh` take, a file each.

    python scripts/evidence_parts.py FOLDER FILE…

Every sample keeps the id, and so the draws, that it has where all files are trained on together: ids that
two files share get the number of the file behind them, as `gatt.train_samples` gives it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Sample = dict[str, Any]

PLAIN_SHARE = 0.15
SIZES = (50, 200)
FEW_ENTRIES = 4
"""One in so many entries of each family stands in `few_entries`."""


def whole(paths: Iterable[Path]) -> list[Sample]:
    """Return the samples of all files, with the ids that they have together."""
    found, seen = [], set()
    for number, path in enumerate(paths, start=1):
        for line in path.read_text(encoding="utf-8").splitlines():
            sample = json.loads(line)
            if sample["id"] in seen:
                sample["id"] = f"{sample['id']}.{number}"
            seen.add(sample["id"])
            found.append(sample)
    return found


def evenly(samples: Sequence[Sample], num: int) -> list[Sample]:
    """Return so many of the samples, evenly spread, so of every file."""
    total = max(len(samples), 1)
    return [s for at, s in enumerate(samples) if (at + 1) * num // total > at * num // total]


def is_plain(sample: Sample) -> bool:
    """Whether nobody was told anything there."""
    return sample["instruction"] is None


def few_entries(told: Iterable[Sample]) -> set[str]:
    """Return one in four entries of each family, in the order in which they come up."""
    by_family: dict[str, dict[str, None]] = {}
    for sample in told:
        for entry in sample["instruction"]["entries"]:
            by_family.setdefault(entry.partition(".")[0], {}).setdefault(entry)
    return {entry for entries in by_family.values() for entry in list(entries)[::FEW_ENTRIES]}


def unaided(sample: Sample) -> Sample:
    """Return the sample with those targets alone that the teacher gave at its first draw."""
    drawn = [
        turn if turn["kind"] == "sampled" else turn | {"reply": None, "reason": "rejected"}
        for turn in sample["turns"]
    ]
    return sample | {"turns": drawn}


def parts(samples: Sequence[Sample]) -> dict[str, list[Sample]]:
    """Return the samples of each part by its name.

    `few_entries` holds all samples of a quarter of the entries, `many_entries` as many of all entries, so
    fewer of each; the plain ones are the same in both.
    """
    told = [s for s in samples if not is_plain(s)]
    few = round(len(told) * PLAIN_SHARE / (1 - PLAIN_SHARE))

    def among(kept: Iterable[Sample], num_plain: int) -> list[Sample]:
        plain = evenly([s for s in samples if is_plain(s)], num_plain)
        ids = {s["id"] for s in (*kept, *plain)}
        return [s for s in samples if s["id"] in ids]

    entries = few_entries(told)
    of_few = [s for s in told if set(s["instruction"]["entries"]) <= entries]
    num_plain = len(of_few) * (len(samples) - len(told)) // max(len(told), 1)
    return {
        "told": told,
        "plain_15": among(told, few),
        **{f"samples_{num}": evenly(samples, num) for num in SIZES},
        "unaided": [unaided(s) for s in samples],
        "few_entries": among(of_few, num_plain),
        "many_entries": among(evenly(told, len(of_few)), num_plain),
    }


def write(folder: Path, found: dict[str, list[Sample]]) -> None:
    """Write each part to a file of its name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, samples in found.items():
        lines = (json.dumps(sample, ensure_ascii=False) + "\n" for sample in samples)
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    write(Path(sys.argv[1]), parts(whole(map(Path, sys.argv[2:]))))
