"""How the adapters were trained, and where their targets came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eval.report.data.selection import NO_BREAK, arm_name, percent
from eval.report.tables.cells import Cell, Section, Table, arm_cell, row
from gatt.data.sample import KIND_NAMES

LEAD = (
    "Time: of the last start of the training. Tokens with loss: those of the targets, over all epochs; tokens: "
    "all that stand in the rows, once. Loss: at the first and the last logged step. Losses of different "
    "objectives cannot be compared. The table of targets counts what was learned from: “with a hint” and "
    "“beginning given” are replies that the teacher did not find alone."
)
HEADS = (
    "arm",
    "objective",
    "machine",
    "samples used",
    "steps",
    "time",
    "tokens with loss",
    "tokens",
    "loss",
)


def training_section(trainings: Sequence[Mapping[str, Any]]) -> Section:
    """Return the trainings of a `results.json`, and how their targets were made: no tables without one."""
    rows = tuple(
        row(arm_cell(t["arm"]), t["objective"], t["hardware"], f"{t['num_used']:,} of {t['num_samples']:,}",
            f"{t['num_steps']:,}", _duration(t["seconds"]), f"{t['num_supervised_tokens']:,}",
            f"{t['num_tokens']:,}", _first_and_last([loss for _, loss in t["loss"]]))
        for t in trainings
    )  # fmt: skip
    made = Table("Trainings", HEADS, rows, num_texts=3, is_folded=False)
    tables = [made, _origins(trainings)] if trainings else []
    return Section("training", "How it was trained", LEAD, tables)


def _origins(trainings: Sequence[Mapping[str, Any]]) -> Table:
    """Return a row for each kind of target, and a column for all arms with the same targets."""
    arms: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for training in trainings:
        arms.setdefault(tuple(sorted(training["kinds"].items())), []).append(training["arm"])
    columns = [dict(counts) for counts in arms]
    rows = [
        row(name, *(_share(counts.get(kind, 0), sum(counts.values())) for counts in columns))
        for kind, name in KIND_NAMES.items()
        if any(counts.get(kind) for counts in columns)
    ]
    rows.append(row("all targets", *(f"{sum(counts.values()):,}" for counts in columns)))
    heads = ("target", *(", ".join(map(arm_name, names)) for names in arms.values()))
    return Table("Where the targets came from", heads, tuple(rows), is_folded=False)


def _share(num: int, total: int) -> Cell:
    return Cell(f"{percent(num / total)}{NO_BREAK}%", counts=f"{num:,}") if num else Cell("0")


def _first_and_last(losses: Sequence[float]) -> str:
    if not losses:
        return "–"
    return f"{losses[0]:.2f}" + (f" → {losses[-1]:.2f}" if len(losses) > 1 else "")


def _duration(seconds: float) -> str:
    """Return a time in the two units that fit it: "45 s", "12 min 5 s", "3 h 20 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}{NO_BREAK}s"
    high, low, units = (whole // 60, whole % 60, ("min", "s"))
    if whole >= 3600:
        high, low, units = (whole // 3600, whole % 3600 // 60, ("h", "min"))
    return f"{high}{NO_BREAK}{units[0]} {low}{NO_BREAK}{units[1]}".replace(" ", NO_BREAK)
