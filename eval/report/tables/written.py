"""Tables of the report as Markdown, for a README or a model card, and in the terminal, with some dialogues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from rich.table import Table as RichTable
from rich.text import Text

from eval.metrics.curves import ALL
from eval.records.samples import Sample
from eval.report.data.selection import NO_BREAK, Curves, arm_name, few_turns, headline
from eval.report.data.transcripts import Example, Transcripts, examples, verdict_of
from eval.report.tables.cells import Cell, Table, arm_cell
from eval.report.tables.sections import (
    legend,
    main_tables,
    rate_cell,
    retention_cell,
    table_sections,
)

MOST_TURNS: Final = 3
"""Turns of the table in a terminal: so many fit into 80 characters."""


def markdown_tables(results: Mapping[str, Any]) -> str:
    """Return the answer and the tables that a run has data for, as GitHub Markdown."""
    curves = Curves.of(results)
    answer = headline(curves)
    lines = [answer.sentence, ""]
    if answer.points:
        lines += [f"{curves.caption[:1].upper()}{curves.caption[1:]}. {answer.detail}.", ""]
    sections = table_sections(curves, results, answer.turn)
    rates = main_tables(curves)
    first = [table for section in sections if section.is_first for table in section.tables]
    for table in (*first, *rates):
        lines += _lines(table)
    if rates:
        lines += [legend(curves), ""]
    for table in (t for section in sections if not section.is_first for t in section.tables):
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
    """Return the answer and, for each arm, what it keeps and answers at the headline's turn as a rich table.

    Where no turn expects an answer, the columns are what is kept at the first, the headline's and the last
    turn.
    """
    curves = Curves.of(results)
    answer = headline(curves)
    title = answer.sentence.replace(NO_BREAK, " ")
    tables = main_tables(curves)
    if not tables or answer.turn is None:
        return RichTable(title=Text(title, style="bold"))
    if curves.main_metric == "joint":
        heads, rows = _at_turn(curves, results.get("retention") or [], answer.turn)
        note = f"turn {answer.turn}, {curves.caption}"
    else:
        heads, rows = _over_turns(tables[0], answer.turn)
        num_turns, num_shown = len(tables[0].heads) - 2, len(heads) - 2
        left_out = f"; {num_shown} of {num_turns} turns" if num_shown < num_turns else ""
        note = f"{tables[0].note}{left_out}"
    note = f"{note}. {legend(curves)} The report has all measures."
    table = RichTable(title=Text(title, style="bold"), caption=Text(note))
    for number, head in enumerate(heads):
        table.add_column(head, justify="right" if number else "left")
    for cells in rows:
        table.add_row(*(Text(cell.joined("\n")) for cell in cells), end_section=True)
    return table


Written = tuple[Sequence[str], Sequence[Sequence[Cell]]]


def _at_turn(curves: Curves, retention: Sequence[Mapping[str, Any]], turn: int) -> Written:
    """Return heads and rows of the arms: what they keep, answer and do both."""
    metrics = ("keeps", "answers", "joint")
    where = curves.main | {"turn": turn}
    split, history = curves.main_split, curves.main_history
    rows = []
    for arm in curves.arms:
        points = [
            next(iter(curves.find(**where | {"metric": m, "arm": arm})), None) for m in metrics
        ]
        if any(points):
            kept = retention_cell(retention, arm, history, split, ALL, turn)
            rows.append([arm_cell(arm), *map(rate_cell, points), kept])
    return ("arm", "keeps", "answers", "both", "of alone"), rows


def _over_turns(table: Table, turn: int) -> Written:
    """Return the first, the headline's and the last turn of a table of rates, and its half-life."""
    num_turns = len(table.heads) - 2
    head = f"turn {turn}"
    keep = table.heads.index(head) if head in table.heads else None
    columns = [0, *few_turns(range(1, num_turns + 1), MOST_TURNS, keep), num_turns + 1]
    return [table.heads[c] for c in columns], [[cells[c] for c in columns] for cells in table.rows]


MOST_LETTERS: Final = 220
"""Of one reply."""
_MARKS: Final = {"pass": ("✓ ", "green"), "fail": ("✗ ", "red"), "undecided": ("? ", "yellow")}


def side_by_side(results: Mapping[str, Any], samples: Iterable[Sample]) -> list[RichTable]:
    """Return a table for each dialogue that the page shows first: user messages, and what the arms replied.

    The turns are the first, the last and the one before it.
    """
    curves = Curves.of(results)
    cases = Transcripts(curves.arms, samples).cases
    return [_table(example) for example in examples(cases, curves, headline(curves))]


def _table(example: Example) -> RichTable:
    arms = [reply.arm for reply in example.replies]
    table = RichTable(title=Text(f"“{example.instruction}”", style="bold"), expand=True)
    table.add_column("turn", justify="right", no_wrap=True)
    table.add_column("the user says", ratio=2)
    for arm in arms:
        table.add_column(arm_name(arm), ratio=3)
    by_turn: dict[int, list[Sample]] = {}
    for arm in arms:
        for sample in example.case.samples[arm]:
            if sample.kind == "turn":
                by_turn.setdefault(sample.turn, []).append(sample)
    turns = [turn for turn, replies in sorted(by_turn.items()) if len(replies) == len(arms)]
    for turn in sorted({*turns[:1], *turns[-2:]}):
        replies = by_turn[turn]
        cells = [Text(_clipped(replies[0].user)), *map(_judged, replies)]
        table.add_row(str(turn), *cells, end_section=True)
    return table


def _judged(sample: Sample) -> Text:
    # A reply that keeps its instruction and does not answer is no success.
    mark, colour = _MARKS[verdict_of(sample)]
    return Text.assemble((mark, colour), _clipped(sample.reply) or "(nothing)")


def _clipped(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= MOST_LETTERS else flat[: MOST_LETTERS - 1] + "…"
