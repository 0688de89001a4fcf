"""The rates of a run as tables, over all turns and at the turn of the headline."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from eval.metrics.curves import ALL, OWN_REPLIES, PASS_IS_BAD, SINCE_SWITCH, VACUOUS, CurvePoint
from eval.metrics.summaries import half_life
from eval.report.data.selection import (
    HISTORY_NAMES,
    SPLIT_NAMES,
    Curves,
    metric_name,
    split_arm,
    turn_name,
)
from eval.report.tables.table import Table, arm_cell, named, rank, rate_cell, row

COUNTS_LEGEND = "(10/12, 4?): 10 of 12 decided passed, 4 are undecided and in no rate."
OWN_REPLIES_LEGEND = " The dialogue itself: its own replies, written without the instruction."
METRIC_NOTES: Final[Mapping[str, str]] = {
    "adherence": "replies that follow the instruction",
    "survival": "dialogues in which every reply asked so far followed it",
    "probe_recall": "questions outside the history that are answered as the instruction says",
    "task_completion": "replies that still answer what the user asked",
    "repetition": "replies given before in the same dialogue, word for word; lower is better",
    "false_trigger": "replies that follow an instruction that was not given; lower is better",
    "score": "mean score of ordinary replies by the score file; 100 % is a score of 1",
    "probe_score": "mean score of answers to a probe by the score file; 100 % is a score of 1",
    "adherence_since_switch": "replies that follow the instruction in force, by turns since it changed",
    "leakage": "replies that still satisfy the old instruction's rules, some by chance; lower is better",
    "probe_leakage": "answers to a probe that still follow a cancelled instruction; lower is better",
    "adherence_loose": "the same replies without a first or last line, or asterisks, that would fail them",
}


def rate_table(curves: Curves, metric: str, **wanted: object) -> Table | None:
    """Return the curves of a metric, a row each, or None where there are none.

    Rows are ordered by history, split and family, totals first. The last rows of a group are the
    dialogue's own replies, where these are known.

    Args:
        curves: of the run.
        metric: of the arms.
        wanted: fields that the points must have; without any a column says which instructions.
    """
    arms = curves.find(metric=metric, **wanted)
    groups: dict[tuple[str, ...], dict[int, CurvePoint]] = defaultdict(dict)
    for point in (*arms, *curves.find(metric=VACUOUS.get(metric), **wanted)):
        groups[point.history, point.split, point.family, point.arm][point.turn] = point
    orders = (curves.histories, (ALL, *curves.splits), (ALL, *curves.families), curves.arms)
    turns = sorted({p.turn for p in arms})
    rows = []
    for key in sorted(groups, key=lambda k: [rank(v, o) for v, o in zip(k, orders, strict=True)]):
        history, split, family, arm = key
        points = groups[key]
        cells = [rate_cell(points.get(turn)) for turn in turns]
        of_arm = "" if split_arm(arm)[1] == OWN_REPLIES else half_life_text([*points.values()])
        where = [] if wanted else [where_text(curves, history, split, family)]
        rows.append(row(arm_cell(arm), *where, *cells, of_arm))
    heads = ["arm", *([] if wanted else ["instructions"]), *(turn_name(metric, t) for t in turns)]
    note = caption(curves) if wanted else METRIC_NOTES.get(metric, "")
    table = Table(metric_name(metric), (*heads, "half-life"), tuple(rows), note, 1 + (not wanted))
    return table if arms else None


def where_text(curves: Curves, history: str, split: str, family: str = ALL) -> str:
    """Return what readers call a curve's instructions, with the history where there are several."""
    text = named(SPLIT_NAMES, split) + (f", {family}" if family != ALL else "")
    return f"{text}, {named(HISTORY_NAMES, history)}" if len(curves.histories) > 1 else text


def half_life_text(points: Sequence[CurvePoint]) -> str:
    """Return the first turn under 50 % of one curve, ">20" if there is none, "–" if unmeasured."""
    measured = [p.turn for p in points if p.rate is not None and p.metric not in PASS_IS_BAD]
    if not measured:
        return "–"
    first_below = half_life(points)
    return f">{max(measured)}" if first_below is None else str(first_below)


def headline_tables(curves: Curves) -> list[Table]:
    """Return the tables of the metrics under an instruction, totals of the main split and history."""
    chosen = {key: value for key, value in curves.main.items() if key != "metric"}
    found = (rate_table(curves, m, **chosen) for m in curves.metrics if m != "false_trigger")
    return [table for table in found if table]


def turn_tables(curves: Curves, turn: int) -> list[Table]:
    """Return how the arms do at one turn: adherence by kind of instruction, and each other measure."""
    kinds = {named(SPLIT_NAMES, split): (split, ALL) for split in (ALL, *curves.splits)}
    kinds |= {family: (ALL, family) for family in curves.families if family != "none"}
    adherence = {name: ("adherence", *place) for name, place in kinds.items()}
    others = [m for m in curves.metrics if m != "adherence" and m not in SINCE_SWITCH]
    splits = {"false_trigger": ALL}
    measures = {metric_name(m): (m, splits.get(m, curves.main_split), ALL) for m in others}
    tables = []
    for history in curves.histories:
        title = "Adherence by kind of instruction"
        tables.append(_at_turn(curves, title, history, turn, adherence, is_folded=False))
        tables.append(_at_turn(curves, "Other measures", history, turn, measures, is_folded=True))
    return [table for table in tables if len(table.heads) > 1]


def _at_turn(
    curves: Curves,
    title: str,
    history: str,
    turn: int,
    columns: Mapping[str, tuple[str, str, str]],
    *,
    is_folded: bool,
) -> Table:
    """Return a table of one turn: a row an arm, a column a metric, split and family; no empty ones."""
    shown = {}
    for name, (metric, split, family) in columns.items():
        wanted = {"metric": metric, "split": split, "family": family}
        if points := curves.find(history=history, turn=turn, **wanted):
            shown[name] = {p.arm: p for p in points}
    rows = tuple(
        row(arm_cell(arm), *(rate_cell(points.get(arm)) for points in shown.values()))
        for arm in curves.arms
        if any(arm in points for points in shown.values())
    )
    note = f"turn {turn}, {named(HISTORY_NAMES, history)}"
    return Table(title, ("arm", *shown), rows, note, is_folded=is_folded)


def caption(curves: Curves, *, has_intervals: bool = True) -> str:
    """Return what the headline tables show: "seen instructions, people’s history …"."""
    split = named(SPLIT_NAMES, curves.main_split)
    split = split if curves.main_split == ALL else f"{split} instructions"
    history = named(HISTORY_NAMES, curves.main_history)
    return f"{split}, {history}; per cent{' with 95 % interval' * has_intervals}"


def legend(curves: Curves) -> str:
    """Return how to read the cells and rows of the headline tables."""
    has_own = any(p.metric in VACUOUS.values() for p in curves.points)
    return COUNTS_LEGEND + (OWN_REPLIES_LEGEND if has_own else "")
