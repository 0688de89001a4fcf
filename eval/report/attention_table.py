"""What `gatt attend` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from eval.report.attention import attention_section
from eval.report.selection import arm_name


def attention_table(data: Mapping[str, Any]) -> Table:
    """Return the share of attention on the instruction at a few turns, and what hiding it costs."""
    section = attention_section(data, data["arms"])
    turns = section["turns"]
    table = Table("attention on the instruction, %", *(f"turn {t}" for t in turns["turns"]))
    for arm, metric, cells in turns["rows"]:
        name = arm_name(arm) if metric == "mass" else "difference"
        table.add_row(name, *(" ".join(cell).strip() if cell else "" for cell in cells))
    falls = [
        f"{arm_name(f['arm'])} {100 * f['fall']:+.0f} points {f['interval']}"
        for f in section["falls"]
        if f["hidden"] == "instruction" and f["fall"] is not None
    ]
    if falls:
        table.caption = "fall of adherence with the instruction hidden: " + "; ".join(falls)
    return table
