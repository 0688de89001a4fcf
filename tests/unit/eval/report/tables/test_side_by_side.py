"""The dialogues that the terminal shows."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from eval.report.tables.written import NUM_CASES, side_by_side
from tests.support.runs.fake_samples import fake_samples, sample


def test_three_cases_of_other_families_with_two_arms_at_the_first_and_the_last_two_turns() -> None:
    samples = fake_samples()
    tables = side_by_side(samples, ("base", "gatt"))
    assert len(tables) == NUM_CASES
    assert len({str(table.title) for table in tables}) == NUM_CASES
    heads = [[str(column.header) for column in table.columns] for table in tables]
    assert heads == [["turn", "the user says", "base model", "GAtt"]] * NUM_CASES
    assert [list(table.columns[0].cells) for table in tables] == [["1", "8", "20"]] * NUM_CASES


def test_replies_stand_with_their_verdicts_and_on_one_line_each() -> None:
    long = "word " * 100
    rows = [
        sample(arm="base", status="fail", reply="No.\nNever."), sample(arm="gatt", reply=long),
        sample(arm="base", kind="probe", reply="Off the record."),
        sample(arm="base", history="own", instruction=None, split="none", reply="Plain."),
    ]  # fmt: skip
    stream = StringIO()
    Console(file=stream, width=200).print(*side_by_side(rows, ("base", "gatt")))
    text = stream.getvalue()
    assert "✗ No. Never." in text
    assert "✓ word word" in text
    assert "…" in text
    assert "Off the record." not in text
    assert "Plain." not in text
    assert side_by_side([], ("base", "gatt")) == []
