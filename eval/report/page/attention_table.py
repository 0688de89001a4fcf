"""What `gatt attend` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich.table import Table

from eval.report.page.attention import conclusion, turn_table
from eval.report.tables.terminal import rich_table

MOST_COLUMNS: Final = 3
"""With their intervals as many turns as a terminal is wide."""


def attention_table(data: Mapping[str, Any]) -> Table:
    """Return the share of attention on the instruction at a few turns, and the conclusion."""
    table = turn_table(data, MOST_COLUMNS)
    columns = list(range(len(table.heads)))
    return rich_table(table, columns, "attention on the instruction, %", conclusion(data))
