"""Every table of the report, in the order in which a reader asks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from eval.metrics.curves import ALL
from eval.report.data.selection import (
    Curves,
    bounds,
    few_turns,
    metric_name,
    percent,
    rank,
    signed,
    turn_name,
)
from eval.report.tables.rates import Cell, Table, arm_cell, row, turn_tables

Record = Mapping[str, Any]
"""One of a list of `results.json`."""

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


def trust_tables(
    agreement: Sequence[Record], limits: Sequence[Record], coverage: Sequence[Record]
) -> list[Table]:
    """Return what limits the rates: judge and rules, the context limit, uncovered constraints."""
    judged = tuple(
        row(arm_cell(r["arm"]), metric_name(r["metric"]), r["num_both"], r["num_missing"],
            f"{percent(r['agreement'])} %", "–" if r["kappa"] is None else f"{r['kappa']:.2f}",
            r["both_pass"], r["both_fail"], r["only_rules"], r["only_judge"])
        for r in agreement
    )  # fmt: skip
    heads = ("arm", "metric", "judged by both", "no verdict", "agreement", "kappa", "both pass",
             "both fail", "rules alone pass", "judge alone passes")  # fmt: skip
    cut = tuple(
        row(arm_cell(r["arm"]), r["history"], r["num_cases"], r["num_cases_cut"],
            r["first_turn"] or "", r["num_replies_without"])
        for r in limits
    )  # fmt: skip
    of_limits = ("arm", "history", "cases", "reached the limit", "first at turn", "replies missing")
    totals: Counter[str] = Counter()
    for record in coverage:
        totals[record["by"]] += record["num"]
    shares = tuple(row(by, num, f"{percent(num / totals.total())} %") for by, num in totals.items())
    found = [
        Table("Judge model against rules", heads, judged, num_texts=2),
        Table("Context limit", of_limits, cut, num_texts=2),
        Table("Who judges the imported constraints", ("judged by", "constraints", "share"), shares),
    ]
    return [table for table in found if table.rows]


KINDS_LEAD = (
    "Seen: instructions of the training data. Unseen value: another value of a family that was trained. "
    "Unseen family: a kind of instruction that was never trained. Brackets are 95 % intervals. “58/97, 3?”: 58 "
    "of 97 decided replies passed, 3 are undecided; “worst” is the rate if these had failed."
)
COMPARED_LEAD = (
    "Paired differences: the same replies of the same cases under both arms, in percentage points, with "
    "95 % intervals. Turn “all” is one test of all replies of a curve: look there first. The p-values "
    "of single turns are not adjusted for their number."
)
TRUST_LEAD = (
    "Kappa is agreement beyond chance: 0 is chance, 1 is perfect. A judge without a verdict is missing, never "
    "a fail. From the context limit of the model on there is no reply, and none is counted."
)


class Section(NamedTuple):
    """Tables that answer one question."""

    id: str
    """The anchor on the page."""
    title: str
    lead: str
    tables: list[Table]


def table_sections(curves: Curves, results: Mapping[str, Any], turn: int | None) -> list[Section]:
    """Return the tables that the run has data for, but for those of the rates over turns.

    Args:
        curves: of the run.
        results: its `results.json`.
        turn: of the headline, None without one.
    """

    def records(name: str) -> list[Mapping[str, Any]]:
        return results.get(name) or []

    kinds = turn_tables(curves, turn) if turn else []
    differences = difference_tables(curves, records("differences"), turn)
    trust = trust_tables(*map(records, ("agreement", "limits", "coverage")))
    sections = [
        Section("kinds", f"What holds at turn {turn}", KINDS_LEAD, kinds),
        Section("compared", "Arms compared", COMPARED_LEAD, differences),
        Section("trust", "How far to trust this", TRUST_LEAD, trust),
    ]
    return [section for section in sections if section.tables]
