"""The instructions that the model can keep at all: those that the arm `alone` keeps.

"It forgets" may only be said of these, so a report leads with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from eval.records.arms import ALONE
from eval.records.samples import Sample
from gatt.verifiers.base import Status

ABLE: Final = "able"
"""The value of `split` for instructions that the model keeps alone in at least `LEAST` of its replies."""
UNABLE: Final = "unable"
"""The same for all others."""
LEAST: Final = 0.8


def able_instructions(samples: Iterable[Sample]) -> frozenset[str] | None:
    """Return the ids of the instructions that the arm `alone` keeps; None in a run without that arm.

    All its decided replies under an instruction count, at any turn. Where a turn asks the one who replies
    for a fact of the instruction ("What is your name?"), the fact must be right as well.
    """
    decided: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for sample in samples:
        if sample.arm == ALONE and sample.kind == "turn" and sample.instruction is not None:
            status = _kept(sample)
            decided[sample.instruction.id] += status != "undecided"
            kept[sample.instruction.id] += status == "pass"
    if not decided.total():
        return None
    return frozenset(name for name, num in decided.items() if num and kept[name] >= LEAST * num)


def _kept(sample: Sample) -> Status:
    asks_for_fact = sample.asks == "speaker" and sample.joint is not None
    return sample.joint or sample.keeps if asks_for_fact else sample.keeps
