from __future__ import annotations

import io
from typing import Any

from fake_samples import fake_results, sample
from rich.console import Console

from eval.report import markdown_table, terminal_table
from eval.report.selection import Curves
from eval.report.tables import LEGEND, rate_table


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


def test_the_markdown_table_is_what_a_readme_shows() -> None:
    # Wilson 1 of 1: low = 1 / 4.841459 = 0.2065; 0 of 1: high = 0.7935.
    assert markdown_table(tiny()) == (
        "At turn 2 GAtt keeps 100 % [21, 100] of its instructions, the base model 0 % [0, 79].\n"
        "\n"
        "**Adherence** (seen instructions, reference history; " + LEGEND + ")\n"
        "\n"
        "| arm | turn 1 | turn 2 | turn 4 | half-life |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| base model | 100 % [21, 100] (1/1) | 0 % [0, 79] (0/1) |  | 2 |\n"
        "| GAtt | 100 % [21, 100] (1/1) | 100 % [21, 100] (1/1) | – (0/0, 1?) | >2 |\n"
        "| gatt\\|x | 100 % [21, 100] (1/1) |  |  | >1 |\n"
        "\n"
        "**Survival** (seen instructions, reference history; " + LEGEND + ")\n"
        "\n"
        "| arm | turn 1 | turn 2 | turn 4 | half-life |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| base model | 100 % [21, 100] (1/1) | 0 % [0, 79] (0/1) |  | 2 |\n"
        "| GAtt | 100 % [21, 100] (1/1) | 100 % [21, 100] (1/1) | – (0/0, 1?) | >2 |\n"
        "| gatt\\|x | 100 % [21, 100] (1/1) |  |  | >1 |\n"
    )


def test_the_terminal_table_shows_the_same_rates() -> None:
    stream = io.StringIO()
    Console(file=stream, width=140).print(terminal_table(tiny()))
    lines = stream.getvalue().splitlines()
    assert "At turn 2 GAtt keeps 100 % [21, 100]" in lines[0]
    (base,) = [line for line in lines if "Adherence" in line]
    assert [cell.strip() for cell in base.strip("│").split("│")] == [
        "Adherence", "base model", "100 % [21, 100]", "0 % [0, 79]", "", "2",
    ]  # fmt: skip
    under_base, under_gatt = (lines[lines.index(base) + n] for n in (1, 3))
    assert [cell.strip() for cell in under_base.strip("│").split("│")] == [
        "", "", "(1/1)", "(0/1)", "", "",
    ]  # fmt: skip
    assert "(0/0, 1?)" in under_gatt
    assert "4 are undecided and in no rate" in " ".join(stream.getvalue().split())


def test_a_rate_table_puts_totals_first_and_keeps_all_rows(run_results: dict[str, Any]) -> None:
    curves = Curves.of(run_results)
    table = rate_table(curves, "adherence")
    assert [(r.split, r.family, r.arm) for r in table.rows[:4]] == [
        ("all", "all", "base"),
        ("all", "all", "gatt"),
        ("all", "all", "base+reminder"),
        ("all", "figure", "base"),
    ]
    shown = {id(cell) for row in table.rows for cell in row.cells if cell}
    assert shown == {id(p) for p in curves.points if p.metric == "adherence"}
