"""Count what the arms of a run keep and answer over all judged turns, by what is asked.

    python scripts/research/checks/asked.py results/mia/samples.jsonl.xz

`own` is what the user's dialogues expect, `speaker` a fact of the speaker, `topic` what the instruction
forbids. Intervals are Wilson's and take the replies for independent.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from eval.metrics.intervals import wilson_interval
from eval.records.samples import Sample, read_samples


def counted(passes: Sequence[bool]) -> str:
    """Return how many of some verdicts passed, with the interval of the share."""
    if not passes:
        return "–"
    low, high = wilson_interval(sum(passes), len(passes))
    return f"{sum(passes)} of {len(passes)} [{100 * low:.0f}, {100 * high:.0f}]"


def main() -> None:
    """Print a row for each arm."""
    samples = list(read_samples(Path(sys.argv[1])))
    kinds = sorted({sample.asks for sample in samples if sample.asks})
    table = Table("", "keeps", "keeps and answers", *(f"answers: {kind}" for kind in kinds))
    for arm in dict.fromkeys(sample.arm for sample in samples):
        of_arm = [sample for sample in samples if sample.arm == arm]
        asked = [sample for sample in of_arm if sample.answer]
        table.add_row(
            arm,
            counted([sample.status == "pass" for sample in of_arm if is_decided(sample)]),
            counted([answers(s) and s.status == "pass" for s in asked if is_decided(s)]),
            *(counted([answers(s) for s in asked if s.asks == kind]) for kind in kinds),
        )
    Console(width=160).print(table)


def is_decided(sample: Sample) -> bool:
    """Whether the rules could tell if the instruction was kept."""
    return sample.status in ("pass", "fail")


def answers(sample: Sample) -> bool:
    """Whether the reply answers its turn."""
    return sample.answer is not None and sample.answer.status == "pass"


if __name__ == "__main__":
    main()
