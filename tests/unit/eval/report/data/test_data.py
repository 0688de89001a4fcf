"""Runs as they are read and joined, and the answer that the page begins with."""

from __future__ import annotations

import gzip
import json
import lzma
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from eval.metrics.ability import able_instructions
from eval.metrics.curves import curves
from eval.records.samples import Sample
from eval.report.data.runs import compared, joined, read_runs, refuse_own_files, samples_of
from eval.report.data.selection import Curves, headline, percent
from gatt.errors import DataError
from gatt.verifiers.base import Verdict
from tests.support.runs.fake_samples import fake_results, instruction, sample, write_run


def made(folder: Path, *arms: str) -> Path:
    samples = [sample(arm=arm, turn=t) for arm in arms or ("base", "gatt") for t in (1, 2)]
    write_run(folder, samples, fake_results(samples))
    return folder


def test_a_run_alone_is_read_as_it_is(tmp_path: Path) -> None:
    folder = made(tmp_path / "demo")
    runs = read_runs([str(folder)])
    assert [r.name for r in runs] == ["demo"]
    assert joined(runs) == json.loads((folder / "results.json").read_text())
    assert [s.arm for s in samples_of(runs)] == ["base", "base", "gatt", "gatt"]


def test_several_runs_become_groups_of_arms(tmp_path: Path) -> None:
    first, second = made(tmp_path / "one"), made(tmp_path / "two", "gatt", "base")
    runs = read_runs([str(first), f"later={second}"])
    results = joined(runs)
    curves = Curves.of(results)
    arms = ("one · base", "one · gatt", "later · base", "later · gatt")
    assert curves.arms == arms
    assert curves.runs == ("one", "later")
    assert {s.arm for s in samples_of(runs)} == set(arms)
    assert list(results["run"]) == ["one", "later"]
    assert results["notes"][0].startswith("one: Greedy")


def test_what_cannot_be_read_is_said_in_one_line(tmp_path: Path) -> None:
    for name, text in (
        ("old", '{"schema": 2}'), ("torn", '{"schema": 3,'), ("list", "[]"),
    ):  # fmt: skip
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.json").write_text(text)
    for name, message in (
        ("none", r"none/results\.json: No such file .*: expected a file that `gatt eval` wrote"),
        ("old", r"old/results\.json: schema is 2: expected 3"),
        ("torn", r"torn/results\.json: Expecting property name"),
        ("list", r"list/results\.json: schema is None"),
    ):
        with pytest.raises(DataError, match=message):
            read_runs([str(tmp_path / name)])
    twice = [str(made(tmp_path / place / "eval")) for place in "ab"]
    with pytest.raises(DataError, match=r"b/eval: its name 'eval' is that of .*a/eval already: "):
        read_runs(twice)


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_replies_may_be_compressed(tmp_path: Path, ending: str, pack: Any) -> None:
    folder = made(tmp_path / "one", "base", "gatt")
    (run,) = read_runs([str(folder)])
    expected, plain = list(samples_of([run])), folder / "samples.jsonl"
    packed = folder / f"samples.jsonl{ending}"
    packed.write_bytes(pack(plain.read_bytes()))
    with pytest.raises(DataError, match="a file of the run itself"):
        refuse_own_files([packed], [folder])
    plain.write_text("not read where it is there\n" * 2)
    with pytest.raises(DataError, match=r"samples\.jsonl line 1: broken JSON"):
        list(samples_of([run]))
    plain.unlink()
    (run,) = read_runs([str(folder)])
    assert list(samples_of([run])) == expected


def test_runs_of_the_same_cases_are_compared_pair_by_pair(tmp_path: Path) -> None:
    cases = [f"d{n}" for n in range(6)]
    told = {"one": ["fail"] * 6, "a · b": ["pass"] * 5 + ["fail"], "other": ["pass"] * 6}
    for name, verdicts in told.items():
        replies = [
            sample(status=verdict, arm=arm, dialogue=f"x{case}" if name == "other" else case)
            for case, verdict in zip(cases, verdicts, strict=True)
            for arm in ("base", "gatt")
        ]
        folder = tmp_path / name.partition(" ")[0]
        kept = [r for r in replies if name == "one" or r.arm == "gatt"]
        write_run(folder, kept, fake_results(kept))
    runs = read_runs([f"{name}={tmp_path / name.partition(' ')[0]}" for name in told])
    found = [d for d in compared(runs) if d["metric"] == "keeps" and d["split"] == "all"]
    # The base model stands in one run alone, and the third has other dialogues.
    assert [(d["arm"], d["baseline"]) for d in found] == [("a · b · gatt", "one · gatt")]
    assert found[0]["difference"] == pytest.approx(5 / 6)
    assert found[0]["num_pairs"] == 6


def run(arm: str, turn: int, passes: int, num: int = 20, **changes: Any) -> list[Sample]:
    return [
        sample(arm=arm, turn=turn, dialogue=f"d{n}", status="pass" if n < passes else "fail", **changes)
        for n in range(num)
    ]  # fmt: skip


def sentence(*parts: list[Sample]) -> str:
    made = Curves(tuple(curves([s for part in parts for s in part])))
    return headline(made).sentence.replace("\N{NO-BREAK SPACE}", " ")


OURS, BASE = ("gatt", 8, 14), ("base", 8, 0)
ANSWERED: dict[str, Any] = {"answer": Verdict("pass", "says 8", "answers", 1), "asks": "question"}


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (
            [run(*OURS), run(*BASE), run("base", 40, 0), run("gatt", 40, 1), run("gatt", 20, 9)],
            "At turn 8 GAtt keeps its instruction in 14 of 20 replies [48, 85 %]; without GAtt "
            "0 of 20 [0, 16 %].",
        ),
        (
            [run("gatt", 2, 5, history="own"), run("gatt", 2, 20), run("base", 2, 0),
             [sample(arm="gatt", turn=2, dialogue="h", split="heldout_value", status="fail")]],
            "At turn 2 GAtt keeps its instruction in 20 of 20 replies [84, 100 %]; without GAtt "
            "0 of 20 [0, 16 %].",
        ),
        ([run("base", 1, 2)], "At turn 1 the base model keeps its instruction in 2 of 20 replies [3, 30 %]."),
        (
            [run("all_turns", 30, 10), run("base", 30, 0)],
            "At turn 30 all_turns keeps its instruction in 10 of 20 replies [30, 70 %]; without all_turns "
            "0 of 20 [0, 16 %].",
        ),
        ([run("base", 4, 1, kind="probe")], "No reply under an instruction was decided in this run."),
        (
            [run("gatt", 8, 9, **ANSWERED), run("alone", 8, 20, **ANSWERED), run("base", 8, 0, **ANSWERED)],
            "At turn 8 GAtt keeps its instruction and answers in 9 of 20 replies [26, 66 %]; asked alone "
            "the model does in 20 of 20 [84, 100 %]; without GAtt 0 of 20 [0, 16 %].",
        ),
        (
            [run("gatt", 8, 3, 4, **ANSWERED), run("base", 8, 0, **ANSWERED)],
            "At turn 8 GAtt keeps its instruction and answers in 3 of 4 replies; without GAtt 0 of 20: "
            "too few to say more.",
        ),
        (
            [run("one · base", 8, 0), run("one · gatt", 8, 14), run("one · gatt", 20, 6),
             run("two · base", 8, 2), run("two · lora", 8, 10)],
            "At turn 8 one · GAtt keeps its instruction in 14 of 20 replies [48, 85 %]; two · lora in 10 of 20 "
            "[30, 70 %]; one · base model in 0 of 20 [0, 16 %]; two · base model in 2 of 20 [3, 30 %].",
        ),
        (
            [run("one · gatt", 8, 14), run("one · base", 4, 0), run("two · gatt", 4, 5)],
            "At turn 8 one · GAtt keeps its instruction in 14 of 20 replies [48, 85 %].",
        ),
    ],
)  # fmt: skip
def test_the_headline_takes_the_last_turn_up_to_20_that_its_arms_share(parts, said) -> None:
    assert sentence(*parts) == said


def test_the_answer_knows_its_arms_their_counts_and_intervals() -> None:
    # Wilson, 14 of 20: centre (0.7 + 0.096036) / 1.192073 = 0.667777, half 0.186747;
    # 0 of 20: high 3.841459 / 23.841459 = 0.161125.
    answer = headline(Curves(tuple(curves([*run(*BASE), *run(*OURS)]))))
    named = [(" ".join(text.split()), arm) for text, arm in answer.parts if arm]
    assert named == [("14 of 20 replies", "gatt"), ("0 of 20", "base")]
    for fact in ("14 of 20", "[48, 85]", "0 of 20", "[0, 16]"):
        assert fact in answer.detail


@pytest.mark.parametrize(
    ("rate", "text"),
    [(0.0, "0"), (0.004, "<1"), (0.006, "1"), (0.73, "73"), (0.996, ">99"), (1.0, "100"), (None, "–")],
)  # fmt: skip
def test_only_the_exact_ends_read_0_and_100(rate: float | None, text: str) -> None:
    assert percent(rate) == text


@pytest.mark.parametrize(
    ("num_others", "num_unseen", "split"), [(30, 0, "train"), (2, 0, "able"), (8, 20, "all")]
)
def test_few_replies_that_the_model_keeps_alone_lead_only_where_no_others_are_enough(
    num_others: int, num_unseen: int, split: str
) -> None:
    able, other, unseen = (instruction("language", name) for name in ("French", "German", "Dutch"))
    unseen = replace(unseen, split="heldout_value")
    made = [
        sample(
            arm=arm, dialogue=f"{given.id}-{n}", instruction=given, split=given.split,
            status="fail" if arm == "alone" and given != able else "pass",
        )
        for given, num in ((able, 4), (other, num_others), (unseen, num_unseen))
        for n in range(num)
        for arm in ("base", "alone", "gatt")
    ]  # fmt: skip
    points = curves(made, able=able_instructions(made))
    found = Curves.of({"curves": [asdict(point) for point in points]})
    assert found.main_split == split
    assert headline(found).is_small == (split == "able")
