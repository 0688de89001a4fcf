"""What `gatt attend` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich.table import Table

from eval.report.data.selection import arm_name
from eval.report.page.attention import HIDDEN, bounds_of, signed, turn_table

MOST_COLUMNS: Final = 3
"""With their intervals as many turns as a terminal is wide."""


def attention_table(data: Mapping[str, Any]) -> Table:
    """Return the share of attention on the instruction at a few turns, and what hiding it costs."""
    found = turn_table(data, MOST_COLUMNS)
    table = Table("", *found.heads[1:], title="attention on the instruction, %")
    for cells in found.rows:
        table.add_row(*(cell.joined() for cell in cells))
    falls = [
        f"{arm_name(f['arm'])} {signed(f['fall'], 100, 0)} points {bounds_of(f, 100, 0)}, "
        f"{f['num_changed']} of {f['num_replies']} replies change"
        for f in data["unsighted"]["falls"]
        if f["hidden"] == HIDDEN and f["fall"] is not None
    ]
    if falls:
        table.caption = (
            "fall of adherence at the last turn with the instruction hidden:\n" + "\n".join(falls)
        )
    return table
