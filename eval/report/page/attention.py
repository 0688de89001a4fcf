"""The section on attention: the results of `gatt attend`, in the report of an evaluation or alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.table import Table as RichTable

from eval.report.charts.attention import attention_svgs
from eval.report.data.headline import headline_turn
from eval.report.data.selection import (
    HEADLINE_TURN_LIMIT,
    arm_name,
    bounds,
    few_turns,
    percent,
    signed,
)
from eval.report.tables.table import EMPTY, Cell, Table, arm_cell, row
from eval.report.tables.written import rich_table

Record = Mapping[str, Any]

HIDDEN: Final = "instruction"
"""What is hidden in the rows that the conclusion speaks of."""
MOST_COLUMNS: Final = 6
"""Turns of the table; the curve and the file have them all."""
TERMINAL_COLUMNS: Final = 3
"""Turns that fit into the width of a terminal, with their intervals."""


def attention_section(data: Record, arms: Sequence[str]) -> dict[str, Any]:
    """Return the values that the template of the section shows.

    Args:
        data: of `attention.json`.
        arms: all arms of the page, in order.
    """
    known = [*arms, *(arm for arm in data["arms"] if arm not in arms)]
    falls = data["unsighted"]["falls"]
    return {
        "data": data,
        "conclusion": conclusion(data),
        "svgs": attention_svgs(data, known),
        "shown": data["maps"][0],
        "tables": [turn_table(data, MOST_COLUMNS), *([_fall_table(falls)] if falls else [])],
    }


def conclusion(data: Record) -> str:
    """Return what the study found in plain sentences: the shares of attention, and the causal check."""
    base, ours = data["arms"]
    said = []
    shares = {(r["arm"], r["turn"]): r["value"] for r in data["curves"] if r["metric"] == "mass"}
    if turns := {turn for arm, turn in shares if arm == ours and (base, turn) in shares}:
        turn = headline_turn(turns)
        one, other = (signed(shares[arm, turn], 1) for arm in (ours, base))
        said.append(
            f"At turn {turn}, {arm_name(ours)} pays {one} % of its attention to the instruction, the "
            f"{arm_name(base)} {other} %."
        )
    for fall in data["unsighted"]["falls"]:
        if (fall["arm"], fall["hidden"]) == (ours, HIDDEN) and fall["fall"] is not None:
            finding = "so its replies depend on it" if (fall["low"] or 0) > 0 else "no clear effect"
            interval = bounds(fall["low"], fall["high"])
            interval = interval and f"95 % interval of the fall {interval} points, "
            said.append(
                f"With the instruction hidden, {arm_name(ours)} follows it in {percent(fall['unsighted'])} of "
                f"100 last replies, with all tokens visible in {percent(fall['intact'])}: {finding} "
                f"({interval}{fall['num_pairs']} pairs)."
            )
    return " ".join(said)


def attention_table(data: Record) -> RichTable:
    """Return what `gatt attend` prints: the share of attention at a few turns, and the conclusion."""
    table = turn_table(data, TERMINAL_COLUMNS)
    columns = range(len(table.heads))
    return rich_table(table, columns, "attention on the instruction, %", conclusion(data))


def turn_table(data: Record, most: int) -> Table:
    """Return the share on the instruction at so many turns, per arm, and the difference."""
    records = {(r["arm"], r["metric"], r["turn"]): r for r in data["curves"]}
    turns = few_turns(sorted({r["turn"] for r in data["curves"]}), most, HEADLINE_TURN_LIMIT)

    def cells(arm: str, metric: str, sign: str = "") -> list[Cell]:
        found = (records.get((arm, metric, turn)) for turn in turns)
        return [
            Cell(signed(r["value"], 2, sign), bounds(r["low"], r["high"], 2)) if r else EMPTY
            for r in found
        ]

    even = {r["turn"]: Cell(signed(r["even"], 2)) for r in data["curves"] if "even" in r}
    rows = (
        *(row(arm_cell(arm), *cells(arm, "mass")) for arm in data["arms"]),
        row("difference", *cells(data["arms"][-1], "mass_difference", "+")),
        row("if all visible tokens got the same", *(even.get(t, EMPTY) for t in turns)),
    )
    heads = ("arm", *(f"turn {turn}" for turn in turns))
    return Table("Attention on the instruction", heads, rows, "per cent", is_folded=False)


def _fall_table(falls: Sequence[Record]) -> Table:
    heads = ("arm", "hidden", "kept, nothing hidden", "kept, hidden", "fall, points", "pairs",
             "other reply", "undecided")  # fmt: skip
    rows = tuple(
        row(arm_cell(f["arm"]), f["hidden"], f"{percent(f['intact'])} %",
            f"{percent(f['unsighted'])} %",
            Cell(signed(f["fall"], sign="+"), bounds(f["low"], f["high"])),
            f["num_pairs"], f"{f['num_changed']} of {f['num_replies']}", f["num_undecided"])
        for f in falls
    )  # fmt: skip
    return Table("With the instruction hidden", heads, rows, num_texts=2, is_folded=False)
