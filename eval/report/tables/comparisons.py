"""Tables of the page beside the rates: arms against each other, and how far to trust it all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.metrics.curves import ALL
from eval.report.data.headline import bounds, percent
from eval.report.data.lists import Record
from eval.report.data.selection import SPLIT_NAMES, Curves, few_turns, turn_name

MOST_DIFFERENCE_TURNS = 6
"""Turns that a pair of arms is compared at; all are in `results.json`."""
SUMMARY_NAMES: Mapping[str, str] = {
    "half_life": "half-life",
    "area": "area under the curve",
    "recovery": "recovery after a miss",
}


@dataclass(frozen=True)
class DifferenceRow:
    """One paired difference, in percentage points."""

    arm: str
    baseline: str
    where: str
    turn: str
    """`all` for all of them together."""
    text: str
    interval: str
    p_value: str
    p_adjusted: str
    detectable: str
    num_dialogues: int
    whisker: tuple[float, float, float]
    """Low bound, difference and high bound as per cent of the width from -100 to 100 points."""
    is_clear: bool
    """Whether the interval leaves out zero."""


def difference_tables(
    curves: Curves, differences: Sequence[Record]
) -> list[tuple[str, list[DifferenceRow]]]:
    """Return the paired differences of each metric: of all turns together, and at a few of them."""
    tables = []
    differences = _told_once(differences)
    for metric in dict.fromkeys((*curves.metrics, *(d["metric"] for d in differences))):
        found = [d for d in differences if d["metric"] == metric]
        known = sorted({d["turn"] for d in found if d["turn"] is not None})
        turns = {None, *few_turns(known, MOST_DIFFERENCE_TURNS)}
        splits = [curves.main_split, *(s for s in (ALL, *curves.splits) if s != curves.main_split)]
        rows = sorted(
            (d for d in found if d["turn"] in turns),
            key=lambda d: (
                _rank(d["history"], curves.histories),
                _rank(d["split"], splits),
                _rank(d["arm"], curves.arms),
                _rank(d["baseline"], curves.arms),
                -1 if d["turn"] is None else d["turn"],
            ),
        )
        if rows:
            tables.append((metric, [_difference(d, curves) for d in rows]))
    return tables


def _told_once(records: Sequence[Record]) -> list[Record]:
    """Return the records without the totals of curves that have one split alone, which say it twice."""
    splits: dict[tuple[str, ...], set[str]] = {}
    for record in records:
        splits.setdefault(_curve(record), set()).add(record["split"])
    return [r for r in records if r["split"] != ALL or len(splits[_curve(r)]) != 2]


def _curve(record: Record) -> tuple[str, ...]:
    return tuple(record.get(key, "") for key in ("metric", "history", "arm", "baseline"))


def _rank(value: str, order: Sequence[str]) -> int:
    return order.index(value) if value in order else len(order)


def _difference(record: Record, curves: Curves) -> DifferenceRow:
    low, middle, high = (100 * record[k] for k in ("low", "difference", "high"))
    where = SPLIT_NAMES.get(record["split"], record["split"])
    if len(curves.histories) > 1:
        where += f", {record['history']} history"
    return DifferenceRow(
        arm=record["arm"],
        baseline=record["baseline"],
        where=where,
        turn=_turn(record),
        text=_signed(middle),
        interval=f"[{_signed(low)}, {_signed(high)}]",
        p_value=p_text(record.get("p_value")),
        p_adjusted=p_text(record.get("p_adjusted")),
        detectable=_points(record["detectable"]) if "detectable" in record else "",
        num_dialogues=record["num_dialogues"],
        whisker=((low + 100) / 2, (middle + 100) / 2, (high + 100) / 2),
        is_clear=low > 0 or high < 0,
    )


def _turn(record: Record) -> str:
    if record["turn"] is None:
        return "all"
    return turn_name(record["metric"], record["turn"]).removeprefix("turn ")


def _signed(points: float) -> str:
    """Return percentage points with their sign; a minus of typography, and no "-0"."""
    rounded = round(points)
    return f"+{rounded}" if rounded > 0 else f"−{-rounded}" if rounded < 0 else "0"


def _points(share: float | None) -> str:
    return percent(None) if share is None else f"±{100 * share:.0f}"


def p_text(p_value: float | None) -> str:
    """Return a p-value as papers print it."""
    if p_value is None:
        return ""
    if p_value < 0.001:
        return "<0.001"
    return f"{p_value:.2f}" if p_value >= 0.1 else f"{p_value:.3f}"


@dataclass(frozen=True)
class SummaryRow:
    """What one curve comes down to: name of a summary -> its value and interval."""

    arm: str
    metric: str
    where: str
    num_dialogues: int
    cells: Mapping[str, tuple[str, str]]


def summary_rows(curves: Curves, summaries: Sequence[Record]) -> list[SummaryRow]:
    """Return the summaries of every arm over all families: one row a curve."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in _told_once(summaries):
        if record["family"] == ALL:
            key = tuple(record[k] for k in ("metric", "history", "split", "arm"))
            groups.setdefault(key, []).append(record)
    splits = [curves.main_split, *(s for s in (ALL, *curves.splits) if s != curves.main_split)]
    orders = (curves.metrics, curves.histories, splits, curves.arms)
    rows = []
    for key in sorted(groups, key=lambda k: [_rank(v, o) for v, o in zip(k, orders, strict=True)]):
        metric, history, split, arm = key
        where = SPLIT_NAMES.get(split, split)
        if len(curves.histories) > 1:
            where += f", {history} history"
        cells = {r["name"]: _summary(r, curves) for r in groups[key]}
        num = max(r["num_dialogues"] for r in groups[key])
        rows.append(SummaryRow(arm, metric, where, num, cells))
    return rows


def _summary(record: Record, curves: Curves) -> tuple[str, str]:
    value, low, high = record["value"], record["low"], record["high"]
    if record["name"] != "half_life":
        return (percent(value) + " %" if value is not None else percent(None)), bounds(low, high)
    points = curves.find(
        arm=record["arm"],
        metric=record["metric"],
        history=record["history"],
        split=record["split"],
        family=record["family"],
    )
    last = max((p.turn for p in points if p.rate is not None), default=None)
    never = f">{last}" if last else "never"
    if value is None:
        return (never if last or low is not None else percent(None)), _turns(low, high, never)
    return f"turn {value:g}", _turns(low, high, never)


def _turns(low: float | None, high: float | None, never: str) -> str:
    if low is None and high is None:
        return ""
    return f"[{never if low is None else f'{low:g}'}, {never if high is None else f'{high:g}'}]"


def agreement_rows(agreement: Sequence[Record]) -> list[dict[str, Any]]:
    """Return what the judge and the rules agree on, with kappa as text."""
    rows = []
    for record in agreement:
        kappa = record["kappa"]
        low, high = record["kappa_low"], record["kappa_high"]
        has_bounds = low is not None and high is not None
        rows.append(
            {
                **record,
                "kappa_text": "–" if kappa is None else f"{kappa:.2f}",
                "kappa_interval": f"[{low:.2f}, {high:.2f}]" if has_bounds else "",
            }
        )
    return rows


def coverage_totals(coverage: Sequence[Record]) -> list[tuple[str, int, float]]:
    """Return who judges how many of an importer's constraints: name, number, share."""
    total = sum(r["num"] for r in coverage)
    names = dict.fromkeys(("rules", "judge", "not covered", *(r["by"] for r in coverage)))
    sums = {name: sum(r["num"] for r in coverage if r["by"] == name) for name in names}
    return [(name, num, num / total) for name, num in sums.items() if num]
