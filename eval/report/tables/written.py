"""Tables of the report as Markdown, for a README or a model card, and in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.table import Table as RichTable
from rich.text import Text

from eval.report.data.selection import NO_BREAK, Curves, few_turns, headline
from eval.report.tables.rates import Table, legend, main_tables
from eval.report.tables.sections import table_sections

ARM_WIDTH: Final = 20
COLUMN_WIDTH: Final = 15
"""Characters of a line that the arm needs, and each other column."""


def markdown_tables(results: Mapping[str, Any]) -> str:
    """Return the answer and the tables that a run has data for, as GitHub Markdown.

    Raises:
        DataError: see `Curves.of`.
    """
    curves = Curves.of(results)
    answer = headline(curves)
    lines = [answer.sentence, ""]
    rates = main_tables(curves)
    for table in rates:
        lines += _lines(table)
    if rates:
        lines += [legend(curves), ""]
    for section in table_sections(curves, results, answer.turn):
        for table in section.tables:
            lines += _lines(table)
    return "\n".join(lines).replace(NO_BREAK, " ").rstrip() + "\n"


def _lines(table: Table) -> Iterator[str]:
    note = f" ({table.note})" if table.note else ""
    yield from (f"**{table.title}**{note}", "", _line(table.heads))
    yield _line(["---"] * table.num_texts + ["---:"] * (len(table.heads) - table.num_texts))
    yield from (_line([cell.joined() for cell in cells]) for cells in table.rows)
    yield ""


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


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
    tables = main_tables(curves)
    if not tables:
        return RichTable(title=Text(title, style="bold"))
    table = tables[0]
    num_turns = len(table.heads) - 2
    most = max(2, (width - ARM_WIDTH) // COLUMN_WIDTH - 1)
    turn = f"turn {answer.turn}"
    keep = table.heads.index(turn) if turn in table.heads else None
    places = few_turns(range(1, num_turns + 1), most, keep)
    left_out = f" {len(places)} of {num_turns} turns." if len(places) < num_turns else ""
    note = f"{table.note}. {legend(curves)}{left_out} The report has all measures."
    found = RichTable(title=Text(title, style="bold"), caption=Text(note))
    columns = [0, *places, num_turns + 1]
    for column in columns:
        is_text = column < table.num_texts
        found.add_column(table.heads[column], justify="left" if is_text else "right")
    for cells in table.rows:
        found.add_row(*(Text(cells[column].joined("\n")) for column in columns), end_section=True)
    return found
