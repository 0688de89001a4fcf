"""Probe recall: is a question about the instruction answered in its sense.

Source: Llama 2, arXiv:2307.09288, table 30: the probe ("What is your favorite
hobby?") is asked off the record, outside the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eval.metrics.outcomes import Outcome
from eval.records.samples import Sample


def probe_recall(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the status of every answer to a probe while its instruction holds."""
    return (Outcome(s, s.status) for s in samples if s.kind == "probe" and s.expected == "kept")
