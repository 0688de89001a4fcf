"""Rates of the committed runs, by where they stand in results/RUN/results.json."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

RESULTS: Final = Path(__file__).resolve().parents[3] / "results"
ARMS: Final = {"base": "base model", "base+reminder": "repeated on every turn", "gatt": "GAtt"}


@dataclass(frozen=True)
class Figure:
    """Where a rate stands."""

    run: str
    metric: str = "adherence"
    history: str = "own"
    split: str = "all"
    family: str = "all"

    def at(self, arm: str, turn: int) -> Mapping[str, Any] | None:
        """Return the record of an arm at a turn; None where it was not measured."""
        wanted = (arm, self.metric, self.history, self.split, self.family, turn)
        names = ("arm", "metric", "history", "split", "family", "turn")
        found = [
            c for c in results(self.run)["curves"] if tuple(c[name] for name in names) == wanted
        ]
        return found[0] if found else None


@cache
def results(run: str) -> dict[str, Any]:
    """Return what a run's `results.json` holds."""
    path = RESULTS / run / "results.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def percent(record: Mapping[str, Any] | None, *, with_interval: bool) -> str:
    """Return a rate as text, an en dash where there is none."""
    if record is None:
        return "–"
    text = f"{100 * record['rate']:.0f} %"
    if with_interval:
        text += f" [{100 * record['low']:.0f}, {100 * record['high']:.0f}]"
    return text


def counted(record: Mapping[str, Any] | None) -> str:
    """Return a rate as counts with its interval, an en dash where there is none."""
    if record is None:
        return "–"
    return (
        f"{record['num_passed']} of {record['num_decided']}, {percent(record, with_interval=True)}"
    )


def num_judged(records: Iterable[Mapping[str, Any] | None]) -> str:
    """Return how many replies the rates count, "74–80" where the turns differ; empty without any."""
    nums = sorted({record["num_decided"] for record in records if record is not None})
    return "–".join(str(num) for num in dict.fromkeys((*nums[:1], *nums[-1:])))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
