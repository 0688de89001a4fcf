"""The tables of the report as values, and the rates of a run over all turns and at one turn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from eval.metrics.curves import ALL, OWN_REPLIES, PASS_IS_BAD, VACUOUS, CurvePoint
from eval.report.data.selection import (
    HISTORY_NAMES,
    NO_BREAK,
    SPLIT_NAMES,
    Curves,
    arm_name,
    bounds,
    metric_name,
    percent,
    rank,
    split_arm,
    turn_name,
)


@dataclass(frozen=True)
class Cell:
    """One cell: a word, or a rate with its interval and counts."""

    text: str
    interval: str = ""
    counts: str = ""
    """Passed of decided replies, and undecided ones if there are any: "10/12, 4?"."""
    worst: str = ""
    """The rate if every undecided reply had gone badly; on the page only."""
    arm: str = ""
    """The arm whose name this is."""

    def joined(self, between: str = " ") -> str:
        """Return the cell as text, its parts with `between` between them."""
        parts = (self.text, self.interval, self.counts and f"({self.counts})")
        return between.join(part for part in parts if part)


EMPTY = Cell("")


@dataclass(frozen=True)
class Table:
    """One table with its heading."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    """Beside the title, in brackets."""
    num_texts: int = 1
    """Columns of words; those after them hold numbers."""
    is_folded: bool = True
    """Whether the page shows the table only when its title is clicked."""


def row(*values: Cell | str | int) -> tuple[Cell, ...]:
    """Return a row of cells; words and numbers become cells."""
    return tuple(v if isinstance(v, Cell) else Cell(str(v)) for v in values)


def arm_cell(arm: str) -> Cell:
    """Return the cell that names an arm."""
    return Cell(arm_name(arm), arm=arm)


def rate_cell(point: CurvePoint | None) -> Cell:
    """Return the cell of a rate, empty where it was not asked, a dash where nothing was decided."""
    if point is None:
        return EMPTY
    text = percent(point.rate) + ("" if point.rate is None else f"{NO_BREAK}%")
    interval = bounds(point.low, point.high).replace(" ", NO_BREAK)
    counts = f"{point.num_passed}/{point.num_decided}"
    if not point.num_undecided:
        return Cell(text, interval, counts)
    counts += f",{NO_BREAK}{point.num_undecided}?"
    return Cell(text, interval, counts, f"worst {percent(point.pessimistic)}")


HALF: Final = 0.5
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
    note = METRIC_NOTES.get(metric, "")
    note = f"{curves.caption}; per cent with 95 % interval" if is_main else note
    title = metric_name(metric)
    return Table(title, (*heads, "half-life"), tuple(rows), note, 1 if is_main else 2)


def _half_life(arm: str, points: Mapping[int, CurvePoint]) -> str:
    """Return the first turn under 50 % of one curve, ">20" if there is none, "–" if unmeasured."""
    if split_arm(arm)[1] == OWN_REPLIES:
        return ""
    rates = {t: p.rate for t, p in points.items() if p.metric not in PASS_IS_BAD}
    measured = {turn: rate for turn, rate in rates.items() if rate is not None}
    if not measured:
        return "–"
    below = [turn for turn, rate in measured.items() if rate < HALF]
    return str(min(below)) if below else f">{max(measured)}"


def main_tables(curves: Curves) -> list[Table]:
    """Return the tables of the metrics under an instruction, totals of the main split and history."""
    found = (rate_table(curves, m, is_main=True) for m in curves.metrics if m != "false_trigger")
    return [table for table in found if table]


def turn_tables(curves: Curves, turn: int) -> list[Table]:
    """Return adherence by kind of instruction at one turn, a table for each history."""
    kinds = {SPLIT_NAMES[split]: (split, ALL) for split in (ALL, *curves.splits)}
    kinds |= {family: (ALL, family) for family in curves.families if family != "none"}
    tables = []
    for history in curves.histories:
        columns = {}
        for name, (split, family) in kinds.items():
            where = {"history": history, "split": split, "family": family}
            if points := curves.find(metric="adherence", turn=turn, **where):
                columns[name] = {p.arm: rate_cell(p) for p in points}
        rows = tuple(
            row(arm_cell(arm), *(found.get(arm, EMPTY) for found in columns.values()))
            for arm in curves.arms
            if any(arm in found for found in columns.values())
        )
        if rows:
            note = f"turn {turn}, {HISTORY_NAMES[history]}"
            title = "Adherence by kind of instruction"
            tables.append(Table(title, ("arm", *columns), rows, note, is_folded=False))
    return tables


def legend(curves: Curves) -> str:
    """Return how to read the cells and rows of the main tables."""
    has_own = any(p.metric in VACUOUS.values() for p in curves.points)
    return COUNTS_LEGEND + (OWN_REPLIES_LEGEND if has_own else "")
