"""The section on attention: the results of `gatt attend`, in the report of an evaluation or alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.table import Table as RichTable

from eval.report.charts.attention import attention_svgs
from eval.report.data.headline import percent
from eval.report.data.lists import read_object
from eval.report.data.selection import HEADLINE_TURN_LIMIT, arm_name, few_turns
from eval.report.tables.table import EMPTY, Cell, Table, arm_cell, row
from eval.report.tables.terminal import rich_table

ATTENTION_FILE: Final = "attention.json"
SCHEMA: Final = 1
"""The version of `attention.json` that this package writes and reads."""
HIDDEN: Final = "instruction"
"""What is hidden in the rows that the conclusion speaks of."""
MOST_COLUMNS: Final = 6
"""Turns of the table; the curve and the file have them all."""
TERMINAL_COLUMNS: Final = 3
"""Turns that fit into the width of a terminal, with their intervals."""


def read_attention(folder: Path) -> Mapping[str, Any] | None:
    """Return the results of `gatt attend` in the folder of a run, None where there are none.

    Raises:
        DataError: see `read_object`.
    """
    path = folder / ATTENTION_FILE
    return read_object(path, SCHEMA, "gatt attend") if path.is_file() else None


def attention_section(data: Mapping[str, Any], arms: Sequence[str]) -> dict[str, Any]:
    """Return the values that the template of the section shows.

    Args:
        data: of `read_attention`.
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


def conclusion(data: Mapping[str, Any]) -> str:
    """Return what the study found in plain sentences: the shares of attention, and the causal check."""
    ours, base = data["arms"][-1], data["arms"][0]
    said = []
    shares = {(r["arm"], r["turn"]): r["value"] for r in data["curves"] if r["metric"] == "mass"}
    turns = [turn for arm, turn in shares if arm == ours and (base, turn) in shares]
    early = [turn for turn in turns if turn <= HEADLINE_TURN_LIMIT]
    turn = max(early) if early else min(turns, default=None)
    if turn is not None and ours != base:
        one, other = (_number(100 * shares[arm, turn], ".1f") for arm in (ours, base))
        said.append(
            f"At turn {turn}, {arm_name(ours)} pays {one} % of its attention to the instruction, the "
            f"{arm_name(base)} {other} %."
        )
    for fall in data["unsighted"]["falls"]:
        if (fall["arm"], fall["hidden"]) == (ours, HIDDEN) and fall["fall"] is not None:
            finding = "so its replies depend on it" if (fall["low"] or 0) > 0 else "no clear effect"
            interval = bounds_of(fall, 0)
            interval = interval and f"95 % interval of the fall {interval} points, "
            said.append(
                f"With the instruction hidden, {arm_name(ours)} follows it in {percent(fall['unsighted'])} of "
                f"100 last replies, with all tokens visible in {percent(fall['intact'])}: {finding} "
                f"({interval}{fall['num_pairs']} pairs)."
            )
    return " ".join(said)


def attention_table(data: Mapping[str, Any]) -> RichTable:
    """Return what `gatt attend` prints: the share of attention at a few turns, and the conclusion."""
    table = turn_table(data, TERMINAL_COLUMNS)
    columns = list(range(len(table.heads)))
    return rich_table(table, columns, "attention on the instruction, %", conclusion(data))


def turn_table(data: Mapping[str, Any], most: int) -> Table:
    """Return the share on the instruction at so many turns, per arm, and the difference."""
    curves = data["curves"]
    turns = few_turns(sorted({r["turn"] for r in curves}), most, HEADLINE_TURN_LIMIT)
    rows = [
        row(arm_cell(arm), *(_cell(curves, arm, "mass", t) for t in turns)) for arm in data["arms"]
    ]
    ours = data["arms"][-1]
    rows.append(row("difference", *(_cell(curves, ours, "mass_difference", t) for t in turns)))
    even = {r["turn"]: Cell(_number(100 * r["even"], ".2f")) for r in curves if "even" in r}
    rows.append(row("if all visible tokens got the same", *(even.get(t, EMPTY) for t in turns)))
    heads = ("arm", *(f"turn {turn}" for turn in turns))
    return Table("Attention on the instruction", heads, tuple(rows), "per cent", is_folded=False)


def _cell(curves: Sequence[Mapping[str, Any]], arm: str, metric: str, turn: int) -> Cell:
    wanted = (arm, metric, turn)
    found = next((r for r in curves if (r["arm"], r["metric"], r["turn"]) == wanted), None)
    if found is None:
        return EMPTY
    sign = "+" if metric == "mass_difference" else ""
    return Cell(_number(100 * found["value"], f"{sign}.2f"), bounds_of(found, 2))


def _fall_table(falls: Sequence[Mapping[str, Any]]) -> Table:
    heads = ("arm", "hidden", "kept, nothing hidden", "kept, hidden", "fall, points", "pairs",
             "other reply", "undecided")  # fmt: skip
    rows = tuple(
        row(arm_cell(f["arm"]), f["hidden"], f"{percent(f['intact'])} %",
            f"{percent(f['unsighted'])} %", _points(f),
            f["num_pairs"], f"{f['num_changed']} of {f['num_replies']}", f["num_undecided"])
        for f in falls
    )  # fmt: skip
    return Table("With the instruction hidden", heads, rows, num_texts=2, is_folded=False)


def _points(fall: Mapping[str, Any]) -> Cell:
    value = fall["fall"]
    return Cell("–" if value is None else _number(100 * value, "+.0f"), bounds_of(fall, 0))


def bounds_of(record: Mapping[str, Any], digits: int) -> str:
    """Return the interval of a record in per cent, "[10, 60]", nothing where it has none."""
    if record["low"] is None or record["high"] is None:
        return ""
    low, high = (_number(100 * record[end], f".{digits}f") for end in ("low", "high"))
    return f"[{low}, {high}]"


def _number(value: float, form: str) -> str:
    # Rounded first, or a value just below 0 would read −0.
    rounded = round(value, int(form.strip("+.f"))) or 0.0
    return format(rounded, form if rounded else form.lstrip("+")).replace("-", "−")
