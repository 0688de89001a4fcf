from __future__ import annotations

from typing import Any

import pytest

from eval.metrics.curves import curves
from eval.records.samples import Sample
from eval.report.data.headline import headline, percent
from eval.report.data.selection import Curves, metric_name
from gatt.errors import DataError
from tests.support.runs.fake_samples import sample


def run(arm: str, turn: int, passes: int, num: int = 10, **changes: Any) -> list[Sample]:
    return [
        sample(arm=arm, turn=turn, dialogue=f"d{n}", status="pass" if n < passes else "fail", **changes)
        for n in range(num)
    ]  # fmt: skip


def sentence(*parts: list[Sample]) -> str:
    made = Curves(tuple(curves([s for part in parts for s in part])))
    return headline(made).sentence.replace("\N{NO-BREAK SPACE}", " ")


def test_the_headline_compares_at_the_last_common_turn_up_to_20() -> None:
    # Wilson, 7 of 10: centre (0.7 + 0.192073) / 1.384146 = 0.644493, half 0.247715;
    # 0 of 10: high 3.841459 / 13.841459 = 0.277533.
    said = sentence(
        run("base", 8, 0), run("gatt", 8, 7), run("base", 40, 0), run("gatt", 40, 1), run("gatt", 20, 9)
    )  # fmt: skip
    assert said == ("GAtt keeps 70 % [40, 89] at turn 8, the base model 0 % [0, 28].")


def test_the_headline_prefers_seen_instructions_and_reference_history() -> None:
    said = sentence(
        run("gatt", 2, 5, history="own"),
        run("gatt", 2, 10),
        run("base", 2, 0),
        [sample(arm="gatt", turn=2, dialogue="h", split="heldout_value", status="fail")],
    )
    assert said.startswith("GAtt keeps 100 % [72, 100] at turn 2, ")


@pytest.mark.parametrize(
    ("parts", "start"),
    [
        ((run("base", 4, 1),), "The base model keeps 10 % [2, 40] at turn 4."),
        ((run("base", 4, 1), run("gatt", 8, 5)), "GAtt keeps 50 % [24, 76] at turn 8."),
        (
            (run("all_turns", 30, 5), run("base", 30, 0)),
            "all_turns keeps 50 % [24, 76] at turn 30, ",
        ),
        ((run("base", 4, 1, kind="probe"),), "No adherence was measured"),
        ((), "No adherence was measured"),
    ],
)
def test_the_headline_makes_do_with_what_was_measured(
    parts: tuple[list[Sample], ...], start: str
) -> None:
    assert sentence(*parts).startswith(start)


def test_the_headline_names_the_runs_and_takes_a_turn_that_all_of_them_have() -> None:
    said = sentence(
        run("one · base", 8, 0), run("one · gatt", 8, 7), run("one · gatt", 20, 6),
        run("two · base", 8, 1), run("two · gatt", 8, 5),
    )  # fmt: skip
    assert said == (
        "GAtt keeps 70 % [40, 89] in one and 50 % [24, 76] in two at turn 8, "
        "the base model 0 % [0, 28] and 10 % [2, 40]."
    )


def test_trained_arms_of_different_names_are_not_called_by_one() -> None:
    said = sentence(run("one · gatt", 8, 7), run("two · lora", 8, 5))
    assert said == "The trained arm keeps 70 % [40, 89] in one and 50 % [24, 76] in two at turn 8."


def test_runs_without_a_common_turn_leave_the_sentence_to_the_first() -> None:
    said = sentence(run("one · gatt", 8, 7), run("one · base", 4, 0), run("two · gatt", 4, 5))
    assert said == "one · GAtt keeps 70 % [40, 89] at turn 8."


def test_only_the_first_three_runs_are_named() -> None:
    said = sentence(*(run(f"r{n} · gatt", 8, n) for n in range(1, 6)))
    assert " in r1, " in said
    assert said.endswith(" in r3 at turn 8.")


def test_the_parts_of_the_sentence_know_their_arms() -> None:
    made = Curves(tuple(curves([*run("base", 8, 0), *run("gatt", 8, 7)])))
    found = [(p.kind, p.arm) for p in headline(made).parts if p.kind != "words"]
    assert found == [(k, a) for a in ("gatt", "base") for k in ("rate", "interval")]


@pytest.mark.parametrize(
    ("rate", "text"),
    [(0.0, "0"), (0.004, "<1"), (0.006, "1"), (0.73, "73"), (0.996, ">99"), (1.0, "100"), (None, "–")],
)  # fmt: skip
def test_only_the_exact_ends_read_0_and_100(rate: float | None, text: str) -> None:
    assert percent(rate) == text


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ({"schema": 9, "curves": []}, "schema is 9: expected 3, evaluate again"),
        ({"schema": 3}, "no list 'curves': expected the records"),
        ({"schema": 3, "curves": [{"arm": "x"}]}, "results, curve 1: curve record has arm"),
    ],
)
def test_broken_results_are_refused(results: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Curves.of(results)


def test_a_metric_without_a_name_is_spelled_out() -> None:
    assert metric_name("task_completion") == "Task completion"
