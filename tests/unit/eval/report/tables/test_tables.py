from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from rich.console import Console

from eval.report.data.runs import Run, joined
from eval.report.data.selection import Curves
from eval.report.tables.rates import rate_table, terminal_table, turn_tables
from tests.support.runs.fake_samples import fake_results, sample


def tiny() -> dict[str, Any]:
    made = [
        sample(arm="base", turn=1),
        sample(arm="base", turn=2, status="fail"),
        sample(arm="gatt", turn=1),
        sample(arm="gatt", turn=2),
        sample(arm="gatt", turn=4, status="undecided"),
        sample(arm="gatt|x", turn=1),
    ]
    return fake_results(made)


def test_the_terminal_table_shows_the_same_rates() -> None:
    stream = io.StringIO()
    Console(file=stream, width=140).print(terminal_table(tiny(), 140))
    lines = stream.getvalue().replace("\N{NO-BREAK SPACE}", " ").splitlines()
    assert "At turn 2 GAtt" in " ".join(lines[:2])
    base = next(line for line in lines if "Adherence " in line)
    assert [cell.strip() for cell in base.strip("│").split("│")] == [
        "Adherence", "base model", "100 %", "0 %", "", "2",
    ]  # fmt: skip
    under = [lines[lines.index(base) + n] for n in (1, 2)]
    assert [[cell.strip() for cell in line.strip("│").split("│")] for line in under] == [
        ["", "", "[21, 100]", "[0, 79]", "", ""],
        ["", "", "(1/1)", "(0/1)", "", ""],
    ]
    assert "(0/0, 1?)" in stream.getvalue().replace("\N{NO-BREAK SPACE}", " ")
    assert "4 are undecided and in no rate" in " ".join(stream.getvalue().split())


def test_a_narrow_terminal_breaks_no_interval_and_no_count() -> None:
    stream = io.StringIO()
    Console(file=stream, width=72).print(terminal_table(tiny()))
    shown = stream.getvalue().replace("\N{NO-BREAK SPACE}", " ")
    assert "[21, 100]" in shown
    assert "(0/0, 1?)" in shown


def test_a_terminal_shows_as_many_turns_as_fit_the_first_and_last_among_them() -> None:
    made = [sample(arm=arm, turn=turn) for arm in ("base", "gatt") for turn in range(1, 16)]
    results = fake_results(made)
    for width, turns in ((80, [1, 8, 15]), (120, [1, 5, 8, 11, 15]), (400, list(range(1, 16)))):
        table = terminal_table(results, width)
        headers = [c.header for c in table.columns][2:]
        assert headers == [f"turn {t}" for t in turns] + ["half-life"] * (width >= 100)
        is_cut = f"{len(turns)} of 15 turns; the report has all" in str(table.caption)
        assert is_cut == (width < 400)


def test_a_rate_table_puts_totals_first_and_keeps_all_rows(run_results: dict[str, Any]) -> None:
    curves = Curves.of(run_results)
    table = rate_table(curves, "adherence")
    assert table is not None
    assert [(cells[1].text, cells[0].arm) for cells in table.rows[:5]] == [
        ("all instructions", "base"),
        ("all instructions", "gatt"),
        ("all instructions", "base+reminder"),
        ("all instructions", "dialogue"),
        ("all instructions, figure", "base"),
    ]
    known = ("adherence", "vacuous_adherence")
    num_cells = sum(bool(cell.text) for cells in table.rows for cell in cells[2:-1])
    assert num_cells == sum(p.metric in known for p in curves.points)
    (*_, own) = [cells for cells in table.rows if cells[0].arm == "dialogue"]
    assert own[-1].text == ""
    assert "dialogue" not in curves.arms


def test_own_replies_of_several_runs_have_a_row_each() -> None:
    made = [sample(arm="gatt"), sample(arm="gatt", turn=2)]
    runs = [Run(name, Path(), fake_results(made)) for name in ("one", "two")]
    table = rate_table(Curves.of(joined(runs)), "adherence", split="all", family="all")
    assert table is not None
    assert [cells[0].text for cells in table.rows] == [
        "one · GAtt",
        "two · GAtt",
        "one · the dialogue itself",
        "two · the dialogue itself",
    ]


def test_one_turn_is_told_by_kind_of_instruction_and_measure(run_results: dict[str, Any]) -> None:
    curves = Curves.of(run_results)
    kinds, measures = turn_tables(curves, 20)
    assert kinds.heads == ("arm", "all instructions", "seen", "unseen value", "figure", "language")
    assert [cells[0].arm for cells in kinds.rows] == ["base", "gatt", "base+reminder"]
    (seen,) = curves.find(**curves.main, arm="gatt", turn=20)
    assert kinds.rows[1][2].counts.startswith(f"{seen.num_passed}/{seen.num_decided}")
    assert {"Survival", "Probe recall", "False triggers"} <= set(measures.heads)
    assert all("turn 20" in table.note and not table.is_folded for table in (kinds, measures))
