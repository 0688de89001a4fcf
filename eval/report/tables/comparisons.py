"""Tables beside the rates: arms against each other, and how far to trust it all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eval.metrics.curves import ALL
from eval.report.data.headline import bounds, percent
from eval.report.data.lists import Record
from eval.report.data.selection import Curves, few_turns, metric_name, turn_name
from eval.report.tables.rates import where_text
from eval.report.tables.table import EMPTY, Cell, Table, arm_cell, rank, row

MOST_DIFFERENCE_TURNS = 4
"""Turns that a pair of arms is compared at; all are in `results.json`."""
JUDGE_COLUMNS: Mapping[str, str] = {
    "arm": "arm", "metric": "metric", "judged by both": "num_both", "no verdict": "num_missing",
    "agreement": "agreement", "kappa": "kappa", "both pass": "both_pass", "both fail": "both_fail",
    "rules alone pass": "only_rules", "judge alone passes": "only_judge",
}  # fmt: skip
LIMIT_COLUMNS: Mapping[str, str] = {
    "arm": "arm", "history": "history", "cases": "num_cases", "reached the limit": "num_cases_cut",
    "first at turn": "first_turn", "replies missing": "num_replies_without",
}  # fmt: skip
COVERAGE_COLUMNS: Mapping[str, str] = {"judged by": "by", "constraints": "num", "share": "share"}
SUMMARY_NAMES: Mapping[str, str] = {
    "half_life": "half-life",
    "area": "area under the curve",
    "recovery": "recovery after a miss",
}


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
    for metric in dict.fromkeys((*curves.metrics, *(d["metric"] for d in records))):
        found = [d for d in records if d["metric"] == metric]
        known = sorted({d["turn"] for d in found if d["turn"] is not None})
        turns = {None, *few_turns(known, MOST_DIFFERENCE_TURNS, turn)}
        shown = [d for d in found if d["turn"] in turns]
        shown.sort(key=lambda d: (_curve_order(d, curves), -1 if d["turn"] is None else d["turn"]))
        heads = ("arm", "less", "instructions", "turn", "points", "95 %", "p", "p, adjusted",
                 "could see", "dialogues")  # fmt: skip
        if shown:
            rows = tuple(_difference(d, curves) for d in shown)
            title = f"Paired differences of {metric_name(metric).lower()}"
            tables.append(Table(title, heads, rows, num_texts=3))
    return tables


def _difference(record: Record, curves: Curves) -> tuple[Cell, ...]:
    low, middle, high = (_points(record[key]) for key in ("low", "difference", "high"))
    at = "all"
    if record["turn"] is not None:
        at = turn_name(record["metric"], record["turn"]).removeprefix("turn ")
    detectable = ""
    if "detectable" in record:
        share = record["detectable"]
        detectable = percent(None) if share is None else f"±{100 * share:.0f}"
    where = where_text(curves, record["history"], record["split"])
    tests = (p_text(record.get("p_value")), p_text(record.get("p_adjusted")), detectable)
    return row(
        arm_cell(record["arm"]), arm_cell(record["baseline"]), where, at, middle, f"[{low}, {high}]",
        *tests, record["num_dialogues"],
    )  # fmt: skip


def _points(share: float) -> str:
    """Return a share as percentage points with their sign; a minus of typography, and no "-0"."""
    rounded = round(100 * share)
    return f"+{rounded}" if rounded > 0 else f"−{-rounded}" if rounded < 0 else "0"


def p_text(p_value: float | None) -> str:
    """Return a p-value as papers print it."""
    if p_value is None:
        return ""
    if p_value < 0.001:
        return "<0.001"
    return f"{p_value:.2f}" if p_value >= 0.1 else f"{p_value:.3f}"


def _without_twins(records: Sequence[Record]) -> list[Record]:
    """Return the records without the totals of curves with a single split, which repeat that split."""
    splits: dict[tuple[str, ...], set[str]] = {}
    for record in records:
        splits.setdefault(_curve(record), set()).add(record["split"])
    return [r for r in records if r["split"] != ALL or len(splits[_curve(r)]) != 2]


def _curve(record: Record) -> tuple[str, ...]:
    return tuple(record.get(key, "") for key in ("metric", "history", "arm", "baseline"))


def _curve_order(record: Record, curves: Curves) -> list[int]:
    splits = [curves.main_split, *(s for s in (ALL, *curves.splits) if s != curves.main_split)]
    orders = {
        "metric": curves.metrics, "history": curves.histories, "split": splits, "arm": curves.arms,
        "baseline": curves.arms,
    }  # fmt: skip
    return [rank(record.get(key, ""), order) for key, order in orders.items()]


def summary_table(curves: Curves, summaries: Sequence[Record]) -> Table | None:
    """Return each curve over all families in one number, a row a curve; None without summaries."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    totals = [r for r in _without_twins(summaries) if r["family"] == ALL]
    for record in sorted(totals, key=lambda r: _curve_order(r, curves)):
        groups.setdefault((*_curve(record), record["split"]), []).append(record)
    rows = []
    for records in groups.values():
        first = records[0]
        where = where_text(curves, first["history"], first["split"])
        cells = {r["name"]: _summary(r, curves) for r in records}
        numbers = (cells.get(name, EMPTY) for name in SUMMARY_NAMES)
        rows.append(row(metric_name(first["metric"]), where, arm_cell(first["arm"]), *numbers))
    heads = ("metric", "instructions", "arm", *SUMMARY_NAMES.values())
    title = "Curves in one number, with 95 % interval"
    return Table(title, heads, tuple(rows), num_texts=3) if rows else None


def _summary(record: Record, curves: Curves) -> Cell:
    value, low, high = record["value"], record["low"], record["high"]
    if record["name"] != "half_life":
        text = percent(value) + ("" if value is None else " %")
        return Cell(text, bounds(low, high))
    fields = {key: record[key] for key in ("arm", "metric", "history", "split", "family")}
    last = max((p.turn for p in curves.find(**fields) if p.rate is not None), default=None)
    never = f">{last}" if last else "never"
    interval = ""
    if low is not None or high is not None:
        interval = "[" + ", ".join(never if b is None else f"{b:g}" for b in (low, high)) + "]"
    if value is not None:
        return Cell(f"turn {value:g}", interval)
    return Cell(never if last or low is not None else percent(None), interval)


def event_table(curves: Curves, events: Sequence[Record]) -> Table | None:
    """Return the rates at the turn of an event and after it, None without events."""
    wanted = (curves.main_history, ALL, ALL)
    found = [e for e in events if (e["history"], e["split"], e["family"]) == wanted]
    since = sorted({e["turns_since"] for e in found})
    rows = []
    for event, arm in dict.fromkeys((e["event"], e["arm"]) for e in found):
        mine = {e["turns_since"]: e for e in found if (e["event"], e["arm"]) == (event, arm)}
        cells = (_event_rate(mine.get(number)) for number in since)
        rows.append(row(event.replace("_", " ").capitalize(), arm_cell(arm), *cells))
    heads = ("event", "arm", *("at it" if number == 0 else f"{number} later" for number in since))
    return Table("Adherence after an event", heads, tuple(rows), "per cent", 2) if rows else None


def _event_rate(record: Record | None) -> Cell:
    if record is None:
        return EMPTY
    return Cell(percent(record["rate"]), bounds(record["low"], record["high"]))


def trust_tables(
    agreement: Sequence[Record], limits: Sequence[Record], coverage: Sequence[Record]
) -> list[Table]:
    """Return what limits the rates: judge and rules, the context limit, uncovered constraints."""
    judged = [
        {**r, "metric": metric_name(r["metric"]), "agreement": f"{percent(r['agreement'])} %"}
        for r in agreement
    ]
    totals: dict[str, int] = {}
    for record in coverage:
        totals[record["by"]] = totals.get(record["by"], 0) + record["num"]
    shares = [
        {"by": by, "num": num, "share": f"{percent(num / sum(totals.values()))} %"}
        for by, num in totals.items()
    ]
    found = [
        _record_table("Judge model against rules", JUDGE_COLUMNS, judged, 2),
        _record_table("Context limit", LIMIT_COLUMNS, limits, 2),
        _record_table("Who judges the imported constraints", COVERAGE_COLUMNS, shares, 1),
    ]
    return [table for table in found if table.rows]


def _record_table(
    title: str, columns: Mapping[str, str], records: Sequence[Record], num_texts: int
) -> Table:
    """Return records as a table whose columns are head -> key."""
    rows = tuple(row(*(_value(r, key) for key in columns.values())) for r in records)
    return Table(title, tuple(columns), rows, num_texts=num_texts)


def _value(record: Record, key: str) -> Cell:
    if key == "arm":
        return arm_cell(record[key])
    if key == "kappa":
        return _kappa(record)
    return EMPTY if record[key] is None else Cell(str(record[key]))


def _kappa(record: Record) -> Cell:
    low, high = record["kappa_low"], record["kappa_high"]
    interval = "" if low is None or high is None else f"[{low:.2f}, {high:.2f}]"
    return Cell("–" if record["kappa"] is None else f"{record['kappa']:.2f}", interval)
