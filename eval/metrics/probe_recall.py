"""Probe recall: is a question about the instruction answered in its sense.

Source: Llama 2, arXiv:2307.09288, table 30: the probe ("What is your favorite
hobby?") is asked off the record, outside the history.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from eval.metrics.outcomes import Outcome, Outcomes
from eval.samples import Sample


def probe_recall(samples: Iterable[Sample]) -> Outcomes:
    """Return the status of every answer to a probe, by the turn it was asked at."""
    found: dict[int, list[Outcome]] = defaultdict(list)
    for sample in samples:
        if sample.kind == "probe":
            found[sample.turn].append(Outcome(sample.dialogue, sample.status))
    return found
