"""What the tables of the report are made of: cells and rows."""

from __future__ import annotations

from dataclasses import dataclass

from eval.metrics.curves import CurvePoint
from eval.report.data.selection import NO_BREAK, arm_name, bounds, percent


@dataclass(frozen=True)
class Cell:
    """One cell: a word, or a rate with its interval and counts."""

    text: str
    interval: str = ""
    counts: str = ""
    """Passed of decided replies, and undecided ones if there are any: "10/12, 4?"."""
    worst: str = ""
    """The rate if every undecided reply had gone badly; on the page only."""
    arm: str = ""
    """The arm whose name this is."""

    def joined(self, between: str = " ") -> str:
        """Return the cell as text, its parts with `between` between them."""
        parts = (self.text, self.interval, self.counts and f"({self.counts})")
        return between.join(part for part in parts if part)


EMPTY = Cell("")


@dataclass(frozen=True)
class Table:
    """One table with its heading."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    """Beside the title, in brackets."""
    num_texts: int = 1
    """Columns of words; those after them hold numbers."""
    is_folded: bool = True
    """Whether the page shows the table only when its title is clicked."""


def row(*values: Cell | str | int) -> tuple[Cell, ...]:
    """Return a row of cells; words and numbers become cells."""
    return tuple(v if isinstance(v, Cell) else Cell(str(v)) for v in values)


def arm_cell(arm: str) -> Cell:
    """Return the cell that names an arm."""
    return Cell(arm_name(arm), arm=arm)


def rate_cell(point: CurvePoint | None) -> Cell:
    """Return the cell of a rate, empty where it was not asked, a dash where nothing was decided."""
    if point is None:
        return EMPTY
    text = percent(point.rate) + ("" if point.rate is None else f"{NO_BREAK}%")
    interval = bounds(point.low, point.high).replace(" ", NO_BREAK)
    counts = f"{point.num_passed}/{point.num_decided}"
    if not point.num_undecided:
        return Cell(text, interval, counts)
    counts += f",{NO_BREAK}{point.num_undecided}?"
    return Cell(text, interval, counts, f"worst {percent(point.pessimistic)}")
