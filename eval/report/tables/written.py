"""Tables of the report as Markdown, for a README or a model card, and in the terminal, with some dialogues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

from rich.table import Table as RichTable
from rich.text import Text

from eval.records.samples import Sample
from eval.report.data.selection import NO_BREAK, Curves, arm_name, few_turns, headline
from eval.report.tables.sections import Table, legend, main_tables, table_sections

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


NUM_CASES: Final = 3
MOST_LETTERS: Final = 220
"""Of one reply."""
_Replies = dict[tuple[int, str], Sample]
"""Of one case, by turn and arm."""
_MARKS: Final = {"pass": ("✓ ", "green"), "fail": ("✗ ", "red"), "undecided": ("? ", "yellow")}


def side_by_side(samples: Sequence[Sample], arms: tuple[str, str]) -> list[RichTable]:
    """Return a table for each of three cases: three turns, the user's message and the replies of two arms.

    The cases are the first of each family, not chosen by how they went; the turns are the first, the
    last and the one before it.

    Args:
        samples: of an evaluation; those of its last history are shown.
        arms: to compare.
    """
    turns = [s for s in samples if s.kind == "turn" and s.arm in arms and s.instruction]
    turns = [s for s in turns if s.history == turns[-1].history]
    cases: dict[tuple[str, str, str], _Replies] = {}
    for sample in turns:
        cases.setdefault(sample.case, {})[sample.turn, sample.arm] = sample
    by_family: dict[str, list[_Replies]] = {}
    for replies in cases.values():
        by_family.setdefault(next(iter(replies.values())).family, []).append(replies)
    order = [replies for each in zip_longest(*by_family.values()) for replies in each if replies]
    return [_table(replies, arms) for replies in order[:NUM_CASES]]


def _table(replies: _Replies, arms: tuple[str, str]) -> RichTable:
    """Return the table of a case."""
    sample = next(iter(replies.values()))
    assert sample.instruction is not None
    found = RichTable(title=Text(f"“{sample.instruction.text}”", style="bold"), expand=True)
    found.add_column("turn", justify="right", no_wrap=True)
    for name, ratio in zip(("the user says", *map(arm_name, arms)), (2, 3, 3), strict=True):
        found.add_column(name, ratio=ratio)
    both = [turn for turn, arm in replies if arm == arms[0] and (turn, arms[1]) in replies]
    for turn in sorted({*both[:1], *both[-2:]}):
        pair = [replies[turn, arm] for arm in arms]
        cells = [Text(_clipped(pair[0].user)), *map(_judged, pair)]
        found.add_row(str(turn), *cells, end_section=True)
    return found


def _judged(sample: Sample) -> Text:
    mark, colour = _MARKS[sample.status]
    return Text.assemble((mark, colour), _clipped(sample.reply) or "(nothing)")


def _clipped(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= MOST_LETTERS else flat[: MOST_LETTERS - 1] + "…"
