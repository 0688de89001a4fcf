"""The tables of a run as GitHub Markdown, for a README or a model card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eval.report.data.headline import NO_BREAK, headline
from eval.report.data.selection import Curves, metric_name
from eval.report.tables.probes import SOURCE
from eval.report.tables.rates import headline_tables, legend
from eval.report.tables.sections import table_sections
from eval.report.tables.table import Table


def markdown_tables(results: Mapping[str, Any]) -> str:
    """Return the answer and the tables that the run has data for.

    Raises:
        DataError: see `Curves.of` and `records`.
    """
    curves = Curves.of(results)
    answer = headline(curves)
    lines = [answer.sentence, ""]
    # Probe recall has its own table, with the published rows of Table 30.
    rates = [t for t in headline_tables(curves) if t.title != metric_name("probe_recall")]
    for table in rates:
        lines += _lines(table)
    if rates:
        lines += [legend(curves), ""]
    for section in table_sections(curves, results, answer):
        for table in section.tables:
            lines += _lines(table)
        if section.id == "probes":
            lines += [SOURCE, ""]
    return "\n".join(lines).replace(NO_BREAK, " ").rstrip() + "\n"


def _lines(table: Table) -> Iterator[str]:
    note = f" ({table.note})" if table.note else ""
    yield from (f"**{table.title}**{note}", "", _line(table.heads))
    yield _line(["---"] * table.num_texts + ["---:"] * (len(table.heads) - table.num_texts))
    yield from (_line([cell.joined() for cell in cells]) for cells in table.rows)
    yield ""


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
