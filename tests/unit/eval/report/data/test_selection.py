from __future__ import annotations

from typing import Any

import pytest

from eval.metrics.curves import curves
from eval.records.samples import Sample
from eval.report.data.selection import Curves, headline, percent
from tests.support.runs.fake_samples import sample


def run(arm: str, turn: int, passes: int, num: int = 10, **changes: Any) -> list[Sample]:
    return [
        sample(arm=arm, turn=turn, dialogue=f"d{n}", status="pass" if n < passes else "fail", **changes)
        for n in range(num)
    ]  # fmt: skip


def sentence(*parts: list[Sample]) -> str:
    made = Curves(tuple(curves([s for part in parts for s in part])))
    return headline(made).sentence.replace("\N{NO-BREAK SPACE}", " ")


OURS, BASE = ("gatt", 8, 7), ("base", 8, 0)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (
            [run(*OURS), run(*BASE), run("base", 40, 0), run("gatt", 40, 1), run("gatt", 20, 9)],
            "At turn 8 GAtt still follows its instruction in 70 of 100 replies, the base model in 0.",
        ),
        (
            [run("gatt", 2, 5, history="own"), run("gatt", 2, 10), run("base", 2, 0),
             [sample(arm="gatt", turn=2, dialogue="h", split="heldout_value", status="fail")]],
            "At turn 2 GAtt still follows its instruction in 100 of 100 replies, the base model in 0.",
        ),
        ([run("base", 1, 1)], "At turn 1 the base model follows its instruction in 10 of 100 replies."),
        (
            [run("all_turns", 30, 5), run("base", 30, 0)],
            "At turn 30 all_turns still follows its instruction in 50 of 100 replies, the base model in 0.",
        ),
        ([run("base", 4, 1, kind="probe")], "No adherence was measured in this run."),
        (
            [run("one · base", 8, 0), run("one · gatt", 8, 7), run("one · gatt", 20, 6),
             run("two · base", 8, 1), run("two · lora", 8, 5)],
            "At turn 8 one · GAtt still follows its instruction in 70 of 100 replies, two · lora in 50, "
            "one · base model in 0, two · base model in 10.",
        ),
        (
            [run("one · gatt", 8, 7), run("one · base", 4, 0), run("two · gatt", 4, 5)],
            "At turn 8 one · GAtt still follows its instruction in 70 of 100 replies.",
        ),
    ],
)  # fmt: skip
def test_the_headline_takes_the_last_turn_up_to_20_that_its_arms_share(
    parts: list[list[Sample]], said: str
) -> None:
    assert sentence(*parts) == said


def test_the_answer_knows_its_arms_their_counts_and_intervals() -> None:
    # Wilson, 7 of 10: centre (0.7 + 0.192073) / 1.384146 = 0.644493, half 0.247715;
    # 0 of 10: high 3.841459 / 13.841459 = 0.277533.
    answer = headline(Curves(tuple(curves([*run(*BASE), *run(*OURS)]))))
    assert [(text, arm) for text, arm in answer.parts if arm] == [("70", "gatt"), ("0", "base")]
    for fact in ("7 of 10", "[40, 89]", "0 of 10", "[0, 28]"):
        assert fact in answer.detail


@pytest.mark.parametrize(
    ("rate", "text"),
    [(0.0, "0"), (0.004, "<1"), (0.006, "1"), (0.73, "73"), (0.996, ">99"), (1.0, "100"), (None, "–")],
)  # fmt: skip
def test_only_the_exact_ends_read_0_and_100(rate: float | None, text: str) -> None:
    assert percent(rate) == text
