"""The section on attention: the results of `gatt attend`, in the report of an evaluation or alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from eval.report.charts.attention import attention_svgs, is_chosen, is_judged
from eval.report.data.selection import few_turns
from gatt.errors import DataError
from gatt.runs.input_file import read_text
from gatt.runs.nesting import parse_json

ATTENTION_FILE: Final = "attention.json"
SCHEMA: Final = 1
"""The version of `attention.json` that this package writes and reads."""
KEYS: Final = (
    "arms", "history", "num_dialogues", "num_layers", "num_heads", "curves", "maps", "unsighted",
    "dropped", "notes",
)  # fmt: skip
MOST_COLUMNS: Final = 6
"""Turns of the table; the curve and the file have them all."""


def read_attention(folder: Path) -> Mapping[str, Any] | None:
    """Return the results of `gatt attend` in the folder of a run, None where there are none.

    Raises:
        DataError: no JSON, another schema, or a missing key.
    """
    path = folder / ATTENTION_FILE
    if not path.is_file():
        return None
    try:
        data = parse_json(read_text(path))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: no JSON ({error}): make it again with `gatt attend`") from None
    if not isinstance(data, Mapping) or data.get("schema") != SCHEMA:
        found = data.get("schema") if isinstance(data, Mapping) else type(data).__name__
        raise DataError(
            f"{path}: schema is {found!r}: expected {SCHEMA}, make it again with `gatt attend`"
        )
    missing = [key for key in KEYS if key not in data]
    if missing:
        raise DataError(f"{path}: no {missing[0]!r}: make it again with `gatt attend`")
    return data


def attention_section(data: Mapping[str, Any], arms: Sequence[str]) -> dict[str, Any]:
    """Return the values that the template of the section shows.

    Args:
        data: of `read_attention`.
        arms: all arms of the page, in order.
    """
    known = [*arms, *(arm for arm in data["arms"] if arm not in arms)]
    return {
        "data": data,
        "svgs": attention_svgs(data, known),
        "shown": data["maps"][0],
        "is_chosen": is_chosen(data),
        "is_judged": is_judged(data["maps"][0]),
        "turns": turn_table(data, MOST_COLUMNS),
        "falls": [
            {
                **record,
                "text": signed(record["fall"], 100, 0),
                "interval": bounds_of(record, 100, 0),
            }
            for record in data["unsighted"]["falls"]
        ],
    }


def turn_table(data: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Return the share on the instruction at so many turns, per arm, and the difference."""
    curves = data["curves"]
    turns = few_turns(sorted({r["turn"] for r in curves}), most)
    rows = [(arm, "mass") for arm in data["arms"]] + [(data["arms"][-1], "mass_difference")]
    return {
        "turns": turns,
        "rows": [(arm, metric, [_cell(curves, arm, metric, t) for t in turns]) for arm, metric in rows],
    }  # fmt: skip


def _cell(
    curves: Sequence[Mapping[str, Any]], arm: str, metric: str, turn: int
) -> tuple[str, str] | None:
    wanted = (arm, metric, turn)
    found = next((r for r in curves if (r["arm"], r["metric"], r["turn"]) == wanted), None)
    if found is None:
        return None
    sign = "+" if metric == "mass_difference" else ""
    return _number(100 * found["value"], f"{sign}.2f"), bounds_of(found, 100, 2)


def signed(value: float | None, factor: float, digits: int) -> str:
    """Return a number with its sign, a dash where there is none."""
    return "–" if value is None else _number(factor * value, f"+.{digits}f")


def bounds_of(record: Mapping[str, Any], factor: float, digits: int) -> str:
    """Return the interval of a record, "[0.1, 0.6]", nothing where it has none."""
    if record["low"] is None or record["high"] is None:
        return ""
    low, high = (_number(factor * record[end], f".{digits}f") for end in ("low", "high"))
    return f"[{low}, {high}]"


def _number(value: float, form: str) -> str:
    # Rounded first, or a little below nothing would be minus nothing.
    rounded = round(value, int(form.strip("+.f"))) or 0.0
    return format(rounded, form if rounded else form.lstrip("+")).replace("-", "−")
