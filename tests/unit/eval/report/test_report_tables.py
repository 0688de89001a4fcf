from __future__ import annotations

import io
from typing import Any

from fake_samples import fake_results, sample
from rich.console import Console

from eval.report import markdown_table, terminal_table
from eval.report.selection import Curves
from eval.report.tables import rate_table


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
        "**Adherence** (seen instructions, reference history; per cent with 95 % interval)\n"
        "\n"
        "| arm | turn 1 | turn 2 | turn 4 | half-life |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| base model | 100 % [21, 100] (1/1) | 0 % [0, 79] (0/1) |  | 2 |\n"
        "| GAtt | 100 % [21, 100] (1/1) | 100 % [21, 100] (1/1) | – (0/0, 1?) | >2 |\n"
        "| gatt\\|x | 100 % [21, 100] (1/1) |  |  | >1 |\n"
        "| the dialogue itself | 0 % [0, 79] (0/1) | 0 % [0, 79] (0/1) | 0 % [0, 79] (0/1) |  |\n"
        "\n"
        "**Survival** (seen instructions, reference history; per cent with 95 % interval)\n"
        "\n"
        "| arm | turn 1 | turn 2 | turn 4 | half-life |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| base model | 100 % [21, 100] (1/1) | 0 % [0, 79] (0/1) |  | 2 |\n"
        "| GAtt | 100 % [21, 100] (1/1) | 100 % [21, 100] (1/1) | – (0/0, 1?) | >2 |\n"
        "| gatt\\|x | 100 % [21, 100] (1/1) |  |  | >1 |\n"
        "\n"
        "(10/12, 4?): 10 of 12 decided passed, 4 are undecided and in no rate. The dialogue "
        "itself: its own replies, which nobody wrote under the instruction.\n"
    )


def test_the_terminal_table_shows_the_same_rates() -> None:
    stream = io.StringIO()
    Console(file=stream, width=140).print(terminal_table(tiny()))
    lines = stream.getvalue().replace("\N{NO-BREAK SPACE}", " ").splitlines()
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


def test_a_narrow_terminal_breaks_no_interval_and_no_count() -> None:
    stream = io.StringIO()
    Console(file=stream, width=72).print(terminal_table(tiny()))
    shown = stream.getvalue().replace("\N{NO-BREAK SPACE}", " ")
    assert "[21, 100]" in shown
    assert "(0/0, 1?)" in shown


def test_a_rate_table_puts_totals_first_and_keeps_all_rows(run_results: dict[str, Any]) -> None:
    curves = Curves.of(run_results)
    table = rate_table(curves, "adherence")
    assert [(r.split, r.family, r.arm) for r in table.rows[:5]] == [
        ("all", "all", "base"),
        ("all", "all", "gatt"),
        ("all", "all", "base+reminder"),
        ("all", "all", "dialogue"),
        ("all", "figure", "base"),
    ]
    shown = {id(cell) for row in table.rows for cell in row.cells if cell}
    known = ("adherence", "vacuous_adherence")
    assert shown == {id(p) for p in curves.points if p.metric in known}


def test_what_the_own_replies_score_stands_below_the_arms(run_results: dict[str, Any]) -> None:
    rows = rate_table(Curves.of(run_results), "adherence", split="all", family="all").rows
    assert [r.name for r in rows] == [
        "base model",
        "GAtt",
        "base + reminder",
        "the dialogue itself",
    ]
    assert (rows[-1].is_reference, rows[-1].half_life) == (True, "")
    assert "| the dialogue itself | 0 % [0, 24] (0/12) |" in markdown_table(run_results)
    assert not set(Curves.of(run_results).arms) & {"dialogue"}
