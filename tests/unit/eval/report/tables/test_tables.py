"""Tables of rates, comparisons and the other sections."""

from __future__ import annotations

import io
from dataclasses import asdict, replace
from typing import Any

import pytest
from rich.console import Console

from eval.metrics.ability import able_instructions
from eval.metrics.curves import curves
from eval.metrics.failures import failures
from eval.metrics.retention import retentions
from eval.records.samples import Sample
from eval.report.data.selection import Curves
from eval.report.data.transcripts import Transcripts
from eval.report.page.render import report_text
from eval.report.tables.cells import Table
from eval.report.tables.rated import rated_section
from eval.report.tables.sections import difference_tables, rate_table
from eval.report.tables.written import markdown_tables, side_by_side, terminal_table
from gatt.data.ratings import Rating
from gatt.verifiers.base import Verdict
from tests.support.runs.fake_samples import fake_results, fake_samples, sample
from tests.support.texts.fake_lists import difference, fake_lists, training


def tiny() -> dict[str, Any]:
    made = [
        sample(arm="base", turn=1), sample(arm="base", turn=2, status="fail"), sample(arm="gatt", turn=1),
        sample(arm="gatt", turn=2), sample(arm="gatt", turn=4, status="undecided"),
        sample(arm="gatt|x", turn=1),
    ]  # fmt: skip
    return fake_results(made)


def test_the_terminal_table_shows_the_same_rates() -> None:
    stream = io.StringIO()
    Console(file=stream, width=140).print(terminal_table(tiny()))
    lines = stream.getvalue().replace("\N{NO-BREAK SPACE}", " ").splitlines()
    assert "At turn 2 GAtt" in " ".join(lines[:2])
    base = next(line for line in lines if "│ base model" in line)
    assert [cell.strip() for cell in base.strip("│").split("│")] == [
        "base model", "100 %", "0 %", "", "2",
    ]  # fmt: skip
    for words, line in zip(
        (["[21, 100]", "[0, 79]"], ["(1/1)", "(0/1)"]), lines[lines.index(base) + 1 :], strict=False
    ):
        assert all(word in line for word in words)
    assert "(0/0, 1?)" in stream.getvalue().replace("\N{NO-BREAK SPACE}", " ")
    assert "4 are undecided and in no rate" in " ".join(stream.getvalue().split())


def test_a_terminal_shows_the_first_the_last_and_the_headline_s_turn() -> None:
    made = [sample(arm="gatt", turn=turn) for turn in range(1, 26)]
    made += [sample(arm="base", turn=turn) for turn in range(1, 16)]
    table = terminal_table(fake_results(made))
    heads = ["arm", "turn 1", "turn 15", "turn 25", "half-life"]
    assert [column.header for column in table.columns] == heads
    assert "3 of 25 turns" in str(table.caption)


def test_a_rate_table_puts_totals_first_and_keeps_all_rows(run_results: dict[str, Any]) -> None:
    curves = Curves.of(run_results)
    table = rate_table(curves, "keeps")
    assert [(cells[1].text, cells[0].arm) for cells in table.rows[:5]] == [
        ("all instructions", "base"),
        ("all instructions", "gatt"),
        ("all instructions", "base+system+reminder"),
        ("all instructions", "dialogue"),
        ("all instructions, figure", "base"),
    ]
    known = ("keeps", "vacuous_keeps")
    num_cells = sum(bool(cell.text) for cells in table.rows for cell in cells[2:-1])
    assert num_cells == sum(p.metric in known for p in curves.points)
    (*_, own) = [cells for cells in table.rows if cells[0].arm == "dialogue"]
    assert own[-1].text == ""
    assert "dialogue" not in curves.arms


def test_the_rates_are_what_a_readme_shows() -> None:
    # Wilson 1 of 1: low = 1 / 4.841459 = 0.2065; 0 of 1: high = 0.7935.
    text = markdown_tables(tiny())
    assert text.startswith(
        "At turn 2 GAtt keeps its instruction in 1 of 1 replies; without GAtt 0 of 1: too few to say more.\n"
        "\nSeen instructions, people’s history. GAtt: 1 of 1 replies, 95 % interval [21, 100]; "
    )
    assert (
        "\n**Keeps the instruction** (replies that keep the instruction; "
        "seen instructions, people’s history; per cent with 95 % interval)\n"
        "\n"
        "| arm | turn 1 | turn 2 | turn 4 | half-life |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| base model | 100 % [21, 100] (1/1) | 0 % [0, 79] (0/1) |  | 2 |\n"
        "| GAtt | 100 % [21, 100] (1/1) | 100 % [21, 100] (1/1) | – (0/0, 1?) | >2 |\n"
        "| gatt\\|x | 100 % [21, 100] (1/1) |  |  | >1 |\n"
        "| the dialogue itself | 0 % [0, 79] (0/1) | 0 % [0, 79] (0/1) | 0 % [0, 79] (0/1) |  |\n"
        "\n"
        "**Survival** (dialogues in which every reply asked so far kept the instruction; "
        "seen instructions, people’s history; per cent with 95 % interval)\n"
    ) in text
    assert (
        "(10/12, 4?): 10 of 12 decided passed, 4 are undecided and in no rate. The dialogue "
        "itself: its own replies, written without the instruction.\n"
    ) in text


def test_all_lists_become_tables(run_results: dict[str, Any]) -> None:
    text = markdown_tables(run_results | fake_lists())
    for line in (
        "**Keeps the instruction, by kind of instruction** (turn 20, people’s history)",
        "| instructions | base model | GAtt | system + reminder |",
        "| GAtt | base model | seen | 1 | +74 | [+44, +94] | <0.001 | 12 |",
        "| GAtt | Keeps the instruction | 80 | 3 | 90 % | 0.78 | 38 | 34 | 2 | 6 |",
        "| GAtt | reference | 16 | 3 | 18 | 6 |",
        "| base model | reference | 16 | 0 |  | 0 |",
    ):
        assert line in text, line


@pytest.fixture
def run(run_results: dict[str, Any]) -> Curves:
    return Curves.of(run_results)


def column(table: Table, head: str) -> list[str]:
    return [cells[table.heads.index(head)].joined() for cells in table.rows]


def test_a_difference_reads_in_points_with_its_sign(run: Curves) -> None:
    rising = difference("gatt", "keeps", 2, 0.5)
    falling = {**rising, "difference": -0.2, "low": -0.4, "high": -0.0001, "p_value": 0.25}
    (table,) = difference_tables(run, [rising, {**falling, "turn": 4}], 2)
    assert column(table, "points") == ["+50", "−20"]
    assert column(table, "95 %") == ["[+20, +70]", "[−40, 0]"]
    assert column(table, "p") == ["<0.001", "0.25"]


def test_of_fifty_turns_a_few_are_compared_the_headline_s_among_them(run: Curves) -> None:
    arms = ("base+system+reminder", "gatt")
    found = [difference(arm, "keeps", t, 0.1) for t in range(1, 51) for arm in arms]
    found.insert(7, {**found[7], "turn": None})
    (table,) = difference_tables(run, found, 20)
    turns = ["1", "20", "34", "50"]
    assert column(table, "turn") == ["all", *turns, *turns]
    assert column(table, "arm") == ["GAtt"] * 5 + ["system + reminder"] * 4


def test_turns_since_a_change_are_named_and_stand_behind_all_of_them(run: Curves) -> None:
    found = [difference("gatt", "leakage", t, 0.1) for t in (3, 0)]
    (table,) = difference_tables(run, [*found, {**found[0], "turn": None}], 20)
    assert column(table, "turn") == ["all", "at it", "3 later"]


@pytest.mark.parametrize(
    ("splits", "shown"),
    [
        ("all train", ["seen"]),
        ("all", ["all instructions"]),
        ("all train heldout_value", ["seen", "all instructions", "unseen value"]),
    ],
)
def test_a_total_of_one_split_does_not_stand_beside_it(run, splits, shown) -> None:
    found = difference("gatt", "keeps", 2, 0.1)
    # Of another arm there is a second split.
    records = [
        found | {"arm": "base+system+reminder", "split": s} for s in ("all", "train", "none")
    ]
    records += [found | {"split": s} for s in splits.split()]
    (table,) = difference_tables(run, records, 2)
    ours = zip(column(table, "arm"), column(table, "instructions"), strict=True)
    assert [where for arm, where in ours if arm == "GAtt"] == shown


def test_the_dialogues_of_the_page_stand_in_the_terminal_with_the_first_and_the_last_two_turns() -> (
    None
):
    samples = fake_samples()
    tables = side_by_side(fake_results(samples), samples)
    assert len({str(table.title) for table in tables}) == 3
    heads = [[str(column.header) for column in table.columns] for table in tables]
    assert heads == [["turn", "the user says", "base model", "GAtt"]] * 3
    assert [list(table.columns[0].cells) for table in tables] == [["1", "8", "20"]] * 3


def test_replies_stand_with_their_verdicts_and_on_one_line_each() -> None:
    rows = [
        sample(arm="base", status="fail", reply="No.\nNever."),
        sample(arm="gatt", reply="word " * 100),
        sample(arm="base", kind="probe", reply="Off the record."),
    ]  # fmt: skip
    stream = io.StringIO()
    Console(file=stream, width=200).print(*side_by_side(fake_results(rows), rows))
    text = stream.getvalue()
    assert "✗ No. Never." in text
    assert "✓ word word" in text
    assert "…" in text
    assert "Off the record." not in text


def test_what_is_kept_and_answered_stands_by_kind_beside_what_the_model_does_alone() -> None:
    def said(status: str, **changes: Any) -> Sample:
        verdict = Verdict(status, "says 8", "answers", 1)  # type: ignore[arg-type]
        return sample(turn=8, answer=verdict, asks="question", **changes)

    made = [
        said("pass" if n < num else "fail", arm=arm, dialogue=f"d{n}")
        for arm, num in (("alone", 20), ("gatt", 15), ("base", 5), ("canned", 0))
        for n in range(20)
    ]
    records = {
        "retention": [asdict(r) for r in retentions(made)],
        "failures": [asdict(f) for f in failures(made)],
    }
    points = [asdict(p) for p in curves(made, able=able_instructions(made))]
    results = fake_results(made) | records | {"curves": points}
    text = markdown_tables(results)
    for line in (
        "**Keeps and answers, by kind of instruction** (turn 8, people’s history)",
        "| instructions | base model | GAtt | asked alone | canned string | GAtt, of alone |",
        "| kept when asked alone | 25 % [11, 47] (5/20) | 75 % [53, 89] (15/20) | 100 % [84, 100] "
        "(20/20) | 0 % [0, 16] (0/20) | 75 %",
        "| GAtt | 20 | 75 % (15) | 25 % (5) | 0 | 0 | 0 | 0 | 0 | 0 |",
    ):
        assert line in text, line
    table = terminal_table(results)
    assert [c.header for c in table.columns] == ["arm", "keeps", "answers", "both", "of alone"]
    page = report_text(results, made)
    assert "✓ keeps ✗ answers" in page


def test_a_rating_of_a_reply_that_was_replaced_is_left_out(caplog) -> None:
    (case,) = Transcripts(["base"], [sample(), sample(turn=2, reply="Salut !")]).cases
    good = Rating(case.anchor, "base", 1, "up", "Speak French.", "Hello?", "Bonjour !")
    replaced = replace(good, turn=2, reply="Hi!")
    of_talk = replace(good, case="chat-1")
    section = rated_section([good, replaced, of_talk], [case])
    assert [cell.counts for cell in section.tables[0].rows[0]] == ["", "2/2", "1/1", ""]
    assert "1 of 3 ratings" in caplog.text
    assert rated_section([replaced], [case]) is None


def test_arms_of_one_training_share_the_column_of_their_targets() -> None:
    kinds = {"hinted": 10, "sampled": 90}
    trainings = [training("gatt", kinds), training("best", kinds), training("kl", {"composed": 3})]
    text = markdown_tables(tiny() | {"training": trainings})
    for line in (
        "| GAtt | targets | 2 cores | 19 of 20 | 40 | 1 h 2 min | 7,166 | 8,955 | 2.83 → 1.12 |",
        "| target | GAtt, best | kl |",
        "| with a hint | 10 % (10) | 0 |",
        "| all targets | 100 | 3 |",
    ):
        assert line in text, line
    assert "Trainings" not in markdown_tables(tiny())
