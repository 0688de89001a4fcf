"""Tables of the report as Markdown, for a README or a model card, and in the terminal, with some dialogues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from rich.table import Table as RichTable
from rich.text import Text

from eval.records.samples import Sample
from eval.report.data.selection import NO_BREAK, Curves, arm_name, few_turns, headline
from eval.report.data.transcripts import Example, Transcripts, examples
from eval.report.tables.sections import Table, legend, main_tables, table_sections

MOST_TURNS: Final = 3
"""Turns of the table in a terminal: so many fit into 80 characters."""


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


def terminal_table(results: Mapping[str, Any]) -> RichTable:
    """Return adherence at the first, the headline's and the last turn as a rich table.

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
    turn = f"turn {answer.turn}"
    keep = table.heads.index(turn) if turn in table.heads else None
    places = few_turns(range(1, num_turns + 1), MOST_TURNS, keep)
    left_out = f" {len(places)} of {num_turns} turns." if len(places) < num_turns else ""
    note = f"{table.note}. {legend(curves)}{left_out} The report has all measures."
    found = RichTable(title=Text(title, style="bold"), caption=Text(note))
    columns = [0, *places, num_turns + 1]
    for column in columns:
        found.add_column(table.heads[column], justify="right" if column else "left")
    for cells in table.rows:
        found.add_row(*(Text(cells[column].joined("\n")) for column in columns), end_section=True)
    return found


MOST_LETTERS: Final = 220
"""Of one reply."""
_MARKS: Final = {"pass": ("✓ ", "green"), "fail": ("✗ ", "red"), "undecided": ("? ", "yellow")}


def side_by_side(results: Mapping[str, Any], samples: Iterable[Sample]) -> list[RichTable]:
    """Return a table for each dialogue that the page shows first: user messages, and what the arms replied.

    The turns are the first, the last and the one before it.

    Raises:
        DataError: see `Curves.of`.
    """
    curves = Curves.of(results)
    cases = Transcripts(curves.arms, samples).cases
    return [_table(example) for example in examples(cases, curves, headline(curves))]


def _table(example: Example) -> RichTable:
    arms = [reply.arm for reply in example.replies]
    found = RichTable(title=Text(f"“{example.instruction}”", style="bold"), expand=True)
    found.add_column("turn", justify="right", no_wrap=True)
    found.add_column("the user says", ratio=2)
    for arm in arms:
        found.add_column(arm_name(arm), ratio=3)
    by_turn: dict[int, list[Sample]] = {}
    for arm in arms:
        for sample in example.case.samples[arm]:
            if sample.kind == "turn":
                by_turn.setdefault(sample.turn, []).append(sample)
    turns = [turn for turn, replies in sorted(by_turn.items()) if len(replies) == len(arms)]
    for turn in sorted({*turns[:1], *turns[-2:]}):
        replies = by_turn[turn]
        cells = [Text(_clipped(replies[0].user)), *map(_judged, replies)]
        found.add_row(str(turn), *cells, end_section=True)
    return found


def _judged(sample: Sample) -> Text:
    mark, colour = _MARKS[sample.status]
    return Text.assemble((mark, colour), _clipped(sample.reply) or "(nothing)")


def _clipped(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= MOST_LETTERS else flat[: MOST_LETTERS - 1] + "…"
