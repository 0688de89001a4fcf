"""The rates of a run as tables: rows for the page and for Markdown, and those of the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from eval.metrics.curves import ALL, PASS_IS_BAD, VACUOUS, CurvePoint
from eval.metrics.half_life import half_life
from eval.metrics.per_reply.since_switch import SINCE_SWITCH
from eval.report.data.headline import NO_BREAK, counts, headline, rate_with_interval
from eval.report.data.selection import (
    HISTORY_NAMES,
    SPLIT_NAMES,
    Curves,
    arm_name,
    metric_name,
)

COUNTS_LEGEND = "(10/12, 4?): 10 of 12 decided passed, 4 are undecided and in no rate."
OWN_REPLIES_LEGEND = (
    " The dialogue itself: its own replies, which nobody wrote under the instruction."
)
NARROW: Final = 100
"""A terminal with fewer characters a line shows no half-life."""
FIXED_WIDTH: Final = 28
TURN_WIDTH: Final = 15
"""Characters of a line that the terminal's table needs for metric and arm, and for each other column."""


@dataclass(frozen=True)
class Row:
    """One curve as a table row."""

    arm: str
    metric: str
    history: str
    split: str
    family: str
    cells: tuple[CurvePoint | None, ...]
    """One for each turn of the table; None where it was not asked."""
    half_life: str
    """First turn under 50 %, ">20" if it never came so low, "–" if not measured."""

    @property
    def is_reference(self) -> bool:
        """Whether the row shows the dialogue's own replies, not an arm."""
        return self.metric in VACUOUS.values()

    @property
    def name(self) -> str:
        """What readers call the arm."""
        return arm_name(self.arm)


@dataclass(frozen=True)
class RateTable:
    """Curves of one metric side by side, turns as columns."""

    metric: str
    turns: tuple[int, ...]
    rows: tuple[Row, ...]


def rate_table(curves: Curves, metric: str, **wanted: object) -> RateTable:
    """Return the curves of a metric whose fields have the wanted values.

    Rows are ordered by history, split (totals first), family (totals first), arm;
    below the arms stands what the dialogue's own replies score, if that is known.
    """
    found = curves.find(metric=metric, **wanted)
    own = curves.find(metric=VACUOUS.get(metric), **wanted)
    turns = tuple(sorted({p.turn for p in found}))
    rows = []
    for history in curves.histories:
        for split in (ALL, *curves.splits):
            for family in (ALL, *curves.families):
                for arm in curves.arms:
                    points = [
                        p
                        for p in found
                        if (p.history, p.split, p.family, p.arm) == (history, split, family, arm)
                    ]
                    if points:
                        rows.append(_row(points, turns))
                for arm in dict.fromkeys(p.arm for p in own):
                    points = [
                        p
                        for p in own
                        if (p.history, p.split, p.family, p.arm) == (history, split, family, arm)
                    ]
                    if points:
                        rows.append(replace(_row(points, turns), half_life=""))
    return RateTable(metric, turns, tuple(rows))


def _row(points: list[CurvePoint], turns: tuple[int, ...]) -> Row:
    by_turn = {p.turn: p for p in points}
    head = points[0]
    cells = tuple(by_turn.get(t) for t in turns)
    return Row(
        head.arm, head.metric, head.history, head.split, head.family, cells, half_life_text(points)
    )


def half_life_text(points: Sequence[CurvePoint]) -> str:
    """Return the first turn under 50 % of one curve, ">20" if there is none, "–" if unmeasured."""
    measured = [p.turn for p in points if p.rate is not None and p.metric not in PASS_IS_BAD]
    if not measured:
        return "–"
    first_below = half_life(points)
    return f">{max(measured)}" if first_below is None else str(first_below)


def headline_tables(curves: Curves) -> list[RateTable]:
    """Tables of the metrics under an instruction, totals of the main split and history."""
    chosen = {"history": curves.main_history, "split": curves.main_split, "family": ALL}
    metrics = [m for m in curves.metrics if m != "false_trigger"]
    return [table for m in metrics if (table := rate_table(curves, m, **chosen)).rows]


def caption(curves: Curves, *, has_intervals: bool = True) -> str:
    """Return what the headline tables show: "seen instructions, reference history …"."""
    split = SPLIT_NAMES.get(curves.main_split, curves.main_split)
    split = split if curves.main_split == ALL else f"{split} instructions"
    history = HISTORY_NAMES.get(curves.main_history, curves.main_history)
    return f"{split}, {history}; per cent{' with 95 % interval' * has_intervals}"


def legend(curves: Curves) -> str:
    """Return how to read the cells and rows of the headline tables."""
    has_own = any(p.metric in VACUOUS.values() for p in curves.points)
    return COUNTS_LEGEND + (OWN_REPLIES_LEGEND if has_own else "")


def texts(row: Row, between: str) -> list[str]:
    """Return the cells of a row; `between` stands between a rate and its counts.

    A narrow terminal may break a line before the interval, but not within it.
    """
    cells = [
        f"{rate_with_interval(c).replace(f'{NO_BREAK}[', ' [')}{between}({counts(c)})" if c else ""
        for c in row.cells
    ]
    return [row.name, *cells, row.half_life]


def terminal_table(results: Mapping[str, Any], width: int = 80) -> Table:
    """Return the headline rates as a rich table, the last thing `gatt run` prints.

    Args:
        results: as `results.json` holds them.
        width: characters of a line; turns that do not fit are left out evenly, not the first nor the last.

    Raises:
        DataError: see `Curves.of`.
    """
    curves = Curves.of(results)
    tables = [t for t in headline_tables(curves) if t.metric not in SINCE_SWITCH]
    all_turns = sorted({t for table in tables for t in table.turns})
    has_half_life = width >= NARROW
    num_columns = (width - FIXED_WIDTH) // TURN_WIDTH
    turns = _spread(all_turns, max(2, num_columns - has_half_life))
    left_out = f" {len(turns)} of {len(all_turns)} turns; the report has all."
    view = Table(
        title=Text(headline(curves).sentence.replace(NO_BREAK, " "), style="bold"),
        caption=Text(f"{caption(curves)}. {legend(curves)}{left_out * (turns != all_turns)}"),
    )
    view.add_column("metric")
    view.add_column("arm")
    for turn in turns:
        view.add_column(f"turn {turn}", justify="right", min_width=TURN_WIDTH - 3)
    if has_half_life:
        view.add_column("half-life", justify="right", no_wrap=True)
    for table in tables:
        for index, row in enumerate(table.rows):
            cells = [cell.replace(" [", "\n[") for cell in texts(row, "\n")[1:-1]]
            by_turn = dict(zip(table.turns, cells, strict=True))
            view.add_row(
                Text(metric_name(table.metric) if index == 0 else ""),
                Text(row.name),
                *(Text(by_turn.get(t, "")) for t in turns),
                *([Text(row.half_life)] if has_half_life else []),
                end_section=index == len(table.rows) - 1,
            )
    return view


def _spread(turns: list[int], most: int) -> list[int]:
    """Return at most so many turns (2 or more), evenly by place, the first and the last among them."""
    if len(turns) <= most:
        return turns
    return [turns[round(n * (len(turns) - 1) / (most - 1))] for n in range(most)]
