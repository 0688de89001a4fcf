"""What changed from the baseline of an evaluation to another arm, in both directions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from eval.metrics.curves import ALL
from eval.metrics.table import is_lenient, is_pass_good


@dataclass(frozen=True, kw_only=True)
class Change:
    """A paired difference, over the replies that are decided under both arms."""

    metric: str
    history: str
    turn: int | None
    """None: all turns together."""
    difference: float
    low: float
    high: float
    """Ends of the 95 % interval."""
    num_dialogues: int
    num_pairs: int
    outcome: Literal["improved", "got worse", "unclear"]
    """Improved or worse where the interval leaves 0 out."""


def changes(results: Mapping[str, Any], arm: str) -> Iterator[Change]:
    """Yield the changes of an arm against the baseline over all instructions, from `results.json`.

    Of each curve only all turns together and the last turn are read: a table of every turn would show some
    change by chance. Lenient readings are left out: the strict ones stand beside them.
    """
    records = [
        record
        for record in results["differences"]
        if record["arm"] == arm and record["split"] == ALL and not is_lenient(record["metric"])
    ]
    last: dict[tuple[str, str], int] = {}
    for record in records:
        if record["turn"] is not None:
            last[record["metric"], record["history"]] = record["turn"]
    for record in records:
        if record["turn"] not in (None, last.get((record["metric"], record["history"]))):
            continue
        sign = 1 if is_pass_good(record["metric"]) else -1
        low, high = sorted((sign * record["low"], sign * record["high"]))
        outcome: Any = "improved" if low > 0 else "got worse" if high < 0 else "unclear"
        names = (
            "metric", "history", "turn", "difference", "low", "high", "num_dialogues", "num_pairs",
        )  # fmt: skip
        yield Change(**{name: record[name] for name in names}, outcome=outcome)
