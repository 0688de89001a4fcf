"""Tables of the report in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich.table import Table as RichTable
from rich.text import Text

from eval.report.data.headline import NO_BREAK, headline
from eval.report.data.selection import Curves, few_turns
from eval.report.tables.rates import caption, legend, rate_table
from eval.report.tables.table import Table

ARM_WIDTH: Final = 20
COLUMN_WIDTH: Final = 15
"""Characters of a line that the arm needs, and each other column."""


def terminal_table(results: Mapping[str, Any], width: int = 80) -> RichTable:
    """Return adherence over turns as a rich table, the last thing `gatt run` prints.

    Args:
        results: as `results.json` holds them.
        width: characters of a line; of turns that do not fit some are left out, never the first, the last
            or that of the headline.

    Raises:
        DataError: see `Curves.of`.
    """
    curves = Curves.of(results)
    answer = headline(curves)
    title = answer.sentence.replace(NO_BREAK, " ")
    metric, *_ = [*(m for m in curves.metrics if m != "false_trigger"), "adherence"]
    table = rate_table(curves, metric, **{k: v for k, v in curves.main.items() if k != "metric"})
    if table is None:
        return RichTable(title=Text(title, style="bold"))
    num_turns = len(table.heads) - 2
    most = max(2, (width - ARM_WIDTH) // COLUMN_WIDTH - 1)
    turn = f"turn {answer.turn}"
    keep = table.heads.index(turn) if turn in table.heads else None
    places = few_turns(range(1, num_turns + 1), most, keep)
    left_out = f" {len(places)} of {num_turns} turns." if len(places) < num_turns else ""
    note = f"{caption(curves)}. {legend(curves)}{left_out} The report has all measures."
    return rich_table(table, [0, *places, num_turns + 1], title, note)


def rich_table(table: Table, columns: list[int], title: str, note: str) -> RichTable:
    """Return some columns of a table; the parts of a cell stand below each other."""
    found = RichTable(title=Text(title, style="bold"), caption=Text(note))
    for column in columns:
        is_text = column < table.num_texts
        found.add_column(table.heads[column], justify="left" if is_text else "right")
    for cells in table.rows:
        found.add_row(*(Text(cells[column].joined("\n")) for column in columns), end_section=True)
    return found
