"""The tables of paired differences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from eval.metrics.curves import ALL
from eval.report.data.runs import Record
from eval.report.data.selection import (
    Curves,
    bounds,
    few_turns,
    metric_name,
    rank,
    signed,
    turn_name,
)
from eval.report.tables.cells import Cell, Table, arm_cell, row

MOST_DIFFERENCE_TURNS = 4
"""Turns that a pair of arms is compared at; all are in `results.json`."""


def difference_tables(
    curves: Curves, differences: Sequence[Record], turn: int | None
) -> list[Table]:
    """Return the paired differences of each metric: over all turns, and at a few of them.

    Args:
        curves: of the run.
        differences: of its results, in shares of 1.
        turn: of the headline, which is among the few.
    """
    tables = []
    records = _without_twins(differences)
    heads = ("arm", "less", "instructions", "turn", "points", "95 %", "p", "dialogues")  # fmt: skip
    for metric in dict.fromkeys((*curves.metrics, *(d["metric"] for d in records))):
        found = [d for d in records if d["metric"] == metric]
        known = sorted({d["turn"] for d in found if d["turn"] is not None})
        turns = {None, *few_turns(known, MOST_DIFFERENCE_TURNS, turn)}
        shown = [d for d in found if d["turn"] in turns]
        shown.sort(key=lambda d: (_curve_order(d, curves), -1 if d["turn"] is None else d["turn"]))
        if shown:
            rows = tuple(_difference(d, curves) for d in shown)
            title = f"Paired differences of {metric_name(metric).lower()}"
            tables.append(Table(title, heads, rows, num_texts=3))
    return tables


def _difference(record: Record, curves: Curves) -> tuple[Cell, ...]:
    at = record["turn"]
    return row(
        arm_cell(record["arm"]),
        arm_cell(record["baseline"]),
        curves.where(record["history"], record["split"]),
        "all" if at is None else turn_name(record["metric"], at).removeprefix("turn "),
        signed(record["difference"], sign="+"),
        bounds(record["low"], record["high"], sign="+"),
        _p_text(record["p_value"]),
        record["num_dialogues"],
    )


def _p_text(p_value: float) -> str:
    """Return a p-value as papers print it."""
    if p_value < 0.001:
        return "<0.001"
    return f"{p_value:.2f}" if p_value >= 0.1 else f"{p_value:.3f}"


def _without_twins(records: Sequence[Record]) -> list[Record]:
    """Return the records without the totals of curves with a single split, which repeat that split."""
    splits: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for record in records:
        splits[_curve(record)].add(record["split"])
    return [r for r in records if r["split"] != ALL or len(splits[_curve(r)]) != 2]


def _curve(record: Record) -> tuple[str, ...]:
    return tuple(record.get(key, "") for key in ("metric", "history", "arm", "baseline"))


def _curve_order(record: Record, curves: Curves) -> list[int]:
    splits = tuple(dict.fromkeys((curves.main_split, ALL, *curves.splits)))
    orders = (curves.metrics, curves.histories, splits, curves.arms, curves.arms)
    metric, history, *arms = _curve(record)
    values = (metric, history, record["split"], *arms)
    return [rank(value, order) for value, order in zip(values, orders, strict=True)]
