from __future__ import annotations

from typing import Any

from eval.report.tables.written import markdown_tables
from tests.support.runs.fake_samples import fake_results, sample
from tests.support.texts.fake_lists import fake_lists


def tiny() -> dict[str, Any]:
    return fake_results(
        [
            sample(arm="base", turn=1),
            sample(arm="base", turn=2, status="fail"),
            sample(arm="gatt", turn=1),
            sample(arm="gatt", turn=2),
            sample(arm="gatt", turn=4, status="undecided"),
            sample(arm="gatt|x", turn=1),
        ]
    )


def test_the_rates_are_what_a_readme_shows() -> None:
    # Wilson 1 of 1: low = 1 / 4.841459 = 0.2065; 0 of 1: high = 0.7935.
    text = markdown_tables(tiny())
    assert text.startswith(
        "At turn 2 GAtt still follows its instruction in 100 of 100 replies, the base model in 0.\n"
        "\n"
        "**Adherence** (seen instructions, people’s history; per cent with 95 % interval)\n"
        "\n"
        "| arm | turn 1 | turn 2 | turn 4 | half-life |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| base model | 100 % [21, 100] (1/1) | 0 % [0, 79] (0/1) |  | 2 |\n"
        "| GAtt | 100 % [21, 100] (1/1) | 100 % [21, 100] (1/1) | – (0/0, 1?) | >2 |\n"
        "| gatt\\|x | 100 % [21, 100] (1/1) |  |  | >1 |\n"
        "| the dialogue itself | 0 % [0, 79] (0/1) | 0 % [0, 79] (0/1) | 0 % [0, 79] (0/1) |  |\n"
        "\n"
        "**Survival** (seen instructions, people’s history; per cent with 95 % interval)\n"
    )
    assert (
        "(10/12, 4?): 10 of 12 decided passed, 4 are undecided and in no rate. The dialogue "
        "itself: its own replies, written without the instruction.\n"
    ) in text


def test_all_lists_become_tables(run_results: dict[str, Any]) -> None:
    text = markdown_tables(run_results | fake_lists())
    for line in (
        "**Adherence by kind of instruction** (turn 20, people’s history)",
        "| Llama 2, baseline (published) |  | 100 % | 10 % | 0 % |  | 0 % |",
        "| Topic jump | base model | 2 [0, 12] | 0 [0, 10] | 0 [0, 10] | 0 [0, 10] | 0 [0, 10] |",
        "| Adherence | seen | GAtt | >20 | 75 % [60, 90] | 38 % [30, 45] |",
        "| GAtt | base model | seen | 1 | +74 | [+44, +94] | <0.001 | 0.002 | ±34 | 12 |",
        "| GAtt | Adherence | 80 | 3 | 90 % | 0.78 [0.60, 0.90] | 38 | 34 | 2 | 6 |",
        "| GAtt | reference | 16 | 3 | 18 | 6 |",
        "| base model | reference | 16 | 0 |  | 0 |",
        "| not covered | 2 | 10 % |",
    ):
        assert line in text, line
