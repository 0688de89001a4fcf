"""Every table of the report: rates over turns, then all others in the order in which a reader asks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from eval.metrics.ability import ABLE, UNABLE
from eval.metrics.curves import ALL, OWN_REPLIES, CurvePoint
from eval.metrics.table import METRICS, VACUOUS, is_pass_good, is_plain
from eval.records.arms import is_untrained
from eval.report.data.runs import Record
from eval.report.data.selection import (
    NO_BREAK,
    SPLIT_NAMES,
    Curves,
    arm_name,
    few_turns,
    history_name,
    interval_text,
    metric_name,
    percent,
    rank,
    signed,
    split_arm,
    turn_name,
)
from eval.report.tables.cells import EMPTY, Cell, Section, Table, arm_cell, row
from eval.report.tables.training import training_section


def rate_cell(point: CurvePoint | None) -> Cell:
    """Return the cell of a rate, empty where it was not asked, a dash where nothing was decided."""
    if point is None:
        return EMPTY
    text = percent(point.rate) + ("" if point.rate is None else f"{NO_BREAK}%")
    interval = interval_text(point.low, point.high).replace(" ", NO_BREAK)
    counts = f"{point.num_passed}/{point.num_decided}"
    if not point.num_undecided:
        return Cell(text, interval, counts)
    counts += f",{NO_BREAK}{point.num_undecided}?"
    return Cell(text, interval, counts, f"worst {percent(point.pessimistic)}")


HALF: Final = 0.5
COUNTS_LEGEND = "(10/12, 4?): 10 of 12 decided passed, 4 are undecided and in no rate."
OWN_REPLIES_LEGEND = " The dialogue itself: its own replies, written without the instruction."


def rate_table(curves: Curves, metric: str, *, is_main: bool = False) -> Table | None:
    """Return the curves of a metric, a row each, or None where there are none.

    Rows are ordered by history, split and family, totals first. The last rows of a group are the
    dialogue's own replies, where these are known. With `is_main` the table holds the totals of the main
    split and history alone; else a column says which instructions.
    """
    wanted = {k: v for k, v in curves.main.items() if k != "metric"} if is_main else {}
    of_arms = curves.find(metric=metric, **wanted)
    if not of_arms:
        return None
    groups: dict[tuple[str, ...], dict[int, CurvePoint]] = defaultdict(dict)
    for point in (*of_arms, *curves.find(metric=VACUOUS.get(metric), **wanted)):
        groups[point.history, point.split, point.family, point.arm][point.turn] = point
    orders = (curves.histories, (ALL, *curves.splits), (ALL, *curves.families), curves.arms)
    turns = sorted({p.turn for p in of_arms})
    rows = []
    for key in sorted(groups, key=lambda k: [rank(v, o) for v, o in zip(k, orders, strict=True)]):
        *place, arm = key
        where = [] if is_main else [curves.where(*place)]
        cells = [rate_cell(groups[key].get(turn)) for turn in turns]
        rows.append(row(arm_cell(arm), *where, *cells, _half_life(arm, groups[key])))
    heads = ["arm", *([] if is_main else ["instructions"]), *(turn_name(metric, t) for t in turns)]
    note = METRICS[metric].note if metric in METRICS else ""
    if is_main:
        note = "; ".join(filter(None, (note, curves.caption, "per cent with 95 % interval")))
    title = metric_name(metric)
    return Table(title, (*heads, "half-life"), tuple(rows), note, 1 if is_main else 2)


def _half_life(arm: str, points: Mapping[int, CurvePoint]) -> str:
    """Return the first turn under 50 % of one curve, ">20" if there is none, "–" if unmeasured."""
    if split_arm(arm)[1] == OWN_REPLIES:
        return ""
    rates = {t: p.rate for t, p in points.items() if is_pass_good(p.metric)}
    measured = {turn: rate for turn, rate in rates.items() if rate is not None}
    if not measured:
        return "–"
    below = [turn for turn, rate in measured.items() if rate < HALF]
    return str(min(below)) if below else f">{max(measured)}"


def main_tables(curves: Curves) -> list[Table]:
    """Return the tables of the metrics under an instruction, totals of the main split and history."""
    tables = (rate_table(curves, m, is_main=True) for m in curves.metrics if not is_plain(m))
    return [table for table in tables if table]


def family_tables(curves: Curves, retention: Sequence[Record], turn: int) -> list[Table]:
    """Return the main metric by kind of instruction at one turn, a table for each history.

    A column is an arm, the last one the retention of the first trained arm. Instructions that the model
    keeps alone stand before the others.
    """
    metric = curves.main_metric
    kinds = {SPLIT_NAMES[split]: (split, ALL) for split in (ALL, ABLE, UNABLE)}
    if len(curves.splits) > 1:
        kinds |= {SPLIT_NAMES[split]: (split, ALL) for split in curves.splits}
    families = [family for family in curves.families if family not in ("none", "plain")]
    # One family alone is all instructions.
    kinds |= {family: (ALL, family) for family in families if len(families) > 1}
    tables = []
    for history in curves.histories:
        by_family: dict[str, dict[str, CurvePoint]] = {}
        for name, (split, family) in kinds.items():
            where = {"history": history, "split": split, "family": family}
            if shown := curves.find(metric=metric, turn=turn, **where):
                by_family[name] = {p.arm: p for p in shown}
        arms = [arm for arm in curves.arms if any(arm in points for points in by_family.values())]
        ours = next((a for a in arms if not is_untrained(split_arm(a)[1])), "base")
        rows = []
        for name, points in by_family.items():
            split, family = kinds[name]
            cells = [replace(rate_cell(points.get(arm)), worst="") for arm in arms]
            kept = [retention_cell(retention, ours, history, split, family, turn)]
            rows.append(row(name, *cells, *(kept if retention else [])))
        if rows:
            last = [f"{arm_name(ours)}, of alone"] if retention else []
            tables.append(
                Table(
                    f"{metric_name(metric)}, by kind of instruction",
                    ("instructions", *map(arm_name, arms), *last),
                    tuple(rows),
                    f"turn {turn}, {history_name(history)}",
                    is_folded=history != curves.main_history,
                )
            )
    return tables


def retention_cell(
    retention: Sequence[Record], arm: str, history: str, split: str, family: str, turn: int
) -> Cell:
    """Return the retention of an arm at a turn (its rate over that of `alone`); a dash if it is unknown."""
    where = {"arm": arm, "history": history, "split": split, "family": family, "turn": turn}
    record = next((r for r in retention if where.items() <= r.items()), None)
    if record is None or record["retention"] is None:
        return Cell("–")
    interval = interval_text(record["low"], record["high"]).replace(" ", NO_BREAK)
    counts = f"{record['num_passed']}/{record['num_alone']}"
    return Cell(f"{signed(record['retention'])}{NO_BREAK}%", interval, counts)


FAILURE_HEADS = ("arm", "replies", "both", "kept, not answered", "answered, not kept", "neither",
                 "undecided", "copies", "repeated", "cut")  # fmt: skip


def failure_tables(curves: Curves, failures: Sequence[Record]) -> list[Table]:
    """Return how the replies of each arm fail, over all judged turns, a table for each history."""
    tables = []
    for history in curves.histories:
        records = [r for r in failures if r["history"] == history]
        records.sort(key=lambda r: rank(r["arm"], curves.arms))
        rows = tuple(
            row(arm_cell(r["arm"]), r["num_replies"], *(_share(r, n) for n in FAILURE_NAMES))
            for r in records
        )
        if rows:
            note = history_name(history)
            is_folded = history != curves.main_history
            tables.append(Table("All judged turns", FAILURE_HEADS, rows, note, is_folded=is_folded))
    return tables


def part_tables(curves: Curves, parts: Sequence[Record]) -> list[Table]:
    """Return how often each part of the instruction holds, a row a part and a column an arm, by history.

    A part that nothing judges says so in every column.
    """
    tables = []
    for history in curves.histories:
        records = [r for r in parts if r["history"] == history]
        arms = [arm for arm in curves.arms if any(r["arm"] == arm for r in records)]
        rows = []
        for part in dict.fromkeys(r["part"] for r in records):
            cells = {r["arm"]: r for r in records if r["part"] == part}
            how = next(iter(cells.values()))
            when = "where asked for" if how["is_asked_for"] else "every reply"
            rows.append(
                row(
                    part,
                    when if how["is_judged"] else "NOT judged",
                    *(_part_cell(cells.get(arm)) for arm in arms),
                )
            )
        if rows:
            heads = ("part", "judged", *map(arm_name, arms))
            is_folded = history != curves.main_history
            note = history_name(history)
            tables.append(
                Table("Part by part", heads, tuple(rows), note, is_folded=is_folded, num_texts=2)
            )
    return tables


def _part_cell(record: Record | None) -> Cell:
    if record is None or not record["num_replies"]:
        return Cell("–")
    num, total = record["num_kept"], record["num_replies"]
    return Cell(f"{percent(num / total)}{NO_BREAK}%", counts=f"{num}/{total}")


FAILURE_NAMES = ("both", "kept_wrong", "right_unkept", "neither", "undecided", "copies",
                 "repeated", "cut")  # fmt: skip


def _share(record: Record, name: str) -> Cell:
    num, total = record[f"num_{name}"], record["num_replies"]
    return Cell(f"{percent(num / total)}{NO_BREAK}%", counts=str(num)) if num else Cell("0")


def legend(curves: Curves) -> str:
    """Return how to read the cells and rows of the main tables."""
    has_own = any(p.metric in VACUOUS.values() for p in curves.points)
    return COUNTS_LEGEND + (OWN_REPLIES_LEGEND if has_own else "")


MOST_DIFFERENCE_TURNS = 4
"""Turns that a pair of arms is compared at; all are in `results.json`."""


def difference_tables(
    curves: Curves, differences: Sequence[Record], turn: int | None
) -> list[Table]:
    """Return the paired differences of each metric: over all turns, and at a few of them, `turn` included."""
    tables = []
    records = _without_twins(differences)
    heads = ("arm", "less", "instructions", "turn", "points", "95 %", "p", "dialogues")  # fmt: skip
    for metric in dict.fromkeys((*curves.metrics, *(d["metric"] for d in records))):
        of_metric = [d for d in records if d["metric"] == metric]
        all_turns = sorted({d["turn"] for d in of_metric if d["turn"] is not None})
        turns = {None, *few_turns(all_turns, MOST_DIFFERENCE_TURNS, turn)}
        shown = [d for d in of_metric if d["turn"] in turns]
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
        interval_text(record["low"], record["high"], sign="+"),
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


def trust_tables(agreement: Sequence[Record], limits: Sequence[Record]) -> list[Table]:
    """Return what limits the rates: judge and rules, the context limit."""
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
    tables = [
        Table("Judge model against rules", heads, judged, num_texts=2),
        Table("Context limit", of_limits, cut, num_texts=2),
    ]
    return [table for table in tables if table.rows]


ALONE_LEAD = (
    "“Of alone”: the rate over that of the model asked alone, at the same cases, with an interval from "
    "20 cases on. The model keeps alone what it keeps in at least 80 % of its replies without any history: "
    "only there can it forget. "
)
SPLITS_LEAD = (
    "Seen: instructions of the training data. Unseen value: another value of a family that was trained. "
    "Unseen family: a kind of instruction that was never trained. "
)
KINDS_LEAD = (
    "Brackets are 95 % intervals. “58/97, 3?”: 58 of 97 decided replies passed, 3 are undecided."
)
PARTS_LEAD = (
    "A part that no rule can tell in every reply, such as a role or "
    "what is forbidden, is judged where a message asks for it; the reply must keep and answer there."
)
FAILURES_LEAD = (
    "Replies to turns that expect an answer, without questions for what the user told earlier. "
    "A copy of the user's message, an earlier reply of the same "
    "history and a loop do not answer. Cut: the limit of tokens ended the reply."
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


def table_sections(curves: Curves, results: Mapping[str, Any], turn: int | None) -> list[Section]:
    """Return the tables that the run has data for, except those of the rates over turns.

    `turn` is that of the headline, None without one.
    """

    def records(name: str) -> list[Mapping[str, Any]]:
        return results.get(name) or []

    kinds = family_tables(curves, records("retention"), turn) if turn else []
    failing = failure_tables(curves, records("failures"))
    by_part = part_tables(curves, records("parts"))
    differences = difference_tables(curves, records("differences"), turn)
    trust = trust_tables(records("agreement"), records("limits"))
    lead = ALONE_LEAD if records("retention") else ""
    lead += SPLITS_LEAD if len(curves.splits) > 1 else ""
    lead += KINDS_LEAD
    sections = [
        Section("kinds", f"What holds at turn {turn}", lead, kinds, is_first=True),
        Section("parts", "What the instruction asks for", PARTS_LEAD, by_part, is_first=True),
        Section("failures", "How replies fail", FAILURES_LEAD, failing, is_first=True),
        Section("compared", "Arms compared", COMPARED_LEAD, differences),
        training_section(records("training")),
        Section("trust", "How far to trust this", TRUST_LEAD, trust),
    ]
    return [section for section in sections if section.tables]
