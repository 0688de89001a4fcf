"""Two evaluations reply by reply."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eval.records.samples import Sample
from eval.results.compare import compare
from gatt.cli import main
from gatt.errors import DataError
from tests.support.runs.fake_samples import sample, write_samples


def two(
    tmp_path: Path, samples: list[Sample], changes: dict[int, dict[str, Any]]
) -> tuple[Path, Path]:
    """Write samples, and the same with some of them changed, by their place."""
    other = [replace(s, **changes.get(n, {})) for n, s in enumerate(samples)]
    return write_samples(tmp_path / "local", samples), write_samples(tmp_path / "served", other)


def test_verdicts_and_words_are_counted_apart(tmp_path: Path) -> None:
    samples = [sample(arm=arm, turn=turn) for arm in ("base", "gatt") for turn in (1, 2, 4, 8)]
    changes = {
        1: {"reply": "Bonjour, toi !"},
        6: {"reply": "Hello!", "status": "fail"},
        7: {"status": "undecided"},
    }
    left, right = two(tmp_path, samples, changes)
    found = compare(left, right)
    assert (found.total.num, found.total.num_same_replies) == (8, 6)
    assert found.total.verdict_rate == 6 / 8
    assert [(n, t.num, t.num_same_replies, t.num_same_verdicts) for n, t in found.arms.items()] == [
        ("base", 4, 3, 4),
        ("gatt", 4, 3, 2),
    ]
    # Those with other verdicts first.
    assert [(p.left.arm, p.left.turn, p.num_shared) for p in found.differences] == [
        ("gatt", 4, 0),
        ("gatt", 8, len("Bonjour !")),
        ("base", 2, len("Bonjour")),
    ]
    assert (found.num_only_left, found.num_only_right, found.num_other_prompts) == (0, 0, 0)


def test_arms_of_other_names_can_be_compared_and_nothing_in_common_is_one_line(
    tmp_path: Path,
) -> None:
    left = write_samples(tmp_path / "a", [sample(arm=arm, reply=arm) for arm in ("base", "gatt")])
    right = write_samples(tmp_path / "b", [sample(arm="base", reply="gatt")])
    found = compare(left, right, {"gatt": "base"})
    assert list(found.arms) == ["gatt"]
    assert (found.total.num, found.total.num_same_replies, found.num_only_left) == (1, 1, 0)
    with pytest.raises(
        DataError,
        match=r"a and .*b: no reply to the same prompt in both \(arms none and 'x'\): expected .*--arm",
    ):
        compare(left, right, {"x": "base"})
    with pytest.raises(DataError, match=r"c/samples\.jsonl: no such file: expected the output_dir"):
        compare(left, tmp_path / "c")


def test_the_command_lists_differences_and_can_demand_agreement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = [sample(arm="gatt", turn=t, history="own") for t in (1, 2, 4, 8)]
    samples.append(sample(arm="gatt", kind="probe", turn=2, user="Who are you?"))
    changes = {
        1: {"reply": "Bonjour ! Et", "finish": "length"},
        2: {"reply": "Bon.", "status": "fail"},
        4: {"status": "fail"},
    }
    two(tmp_path, samples, changes)
    monkeypatch.chdir(tmp_path)
    words = ["eval", "compare", "local", "served"]
    assert main([*words, "--output", "c.json", "--at-least", "0.6"]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[:2] == [
        "gatt: 5 replies, 3 with the same verdict (60.0%), 3 with the same words (60.0%)",
        "all: 5 replies, 3 with the same verdict (60.0%), 3 with the same words (60.0%)",
    ]
    told = sample().instruction
    assert told is not None
    assert f"1. gatt, own history, d1, {told.id}, turn 4\n" in said
    assert "pass against fail; they part after 3 characters\n" in said
    assert f"{told.id}, probe at turn 2\n   pass against fail; the same words\n" in said
    assert (
        "   pass; one continues where the other ends (stop, length)\n   local: Bonjour !\n" in said
    )
    written = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))
    assert written["total"]["verdict_rate"] == 0.6
    assert next(d["statuses"] for d in written["differences"]) == ["pass", "fail"]
    assert main([*words, "--at-least", "0.98"]) == 1
    assert capsys.readouterr().out.endswith("fewer verdicts agree than 98.0%\n")
    for more, said in (
        (["--at-least", "98"], "--at-least is 98.0"),
        (["--arm", "a=b", "--arm", "c=b"], "--arm c=b: expected ARM=OTHERS"),
    ):
        assert main([*words, *more]) == 2
        assert said in capsys.readouterr().err
    unjudged = [replace(s, status="undecided") for s in samples]
    two(tmp_path, unjudged, {})
    assert main([*words, "--at-least", "0.98"]) == 1
    assert "no reply has a verdict: expected some" in capsys.readouterr().out


@pytest.mark.parametrize(
    "turns", [{1: "Hello?"}, {1: "Hello?", 2: "What?"}, {1: "Hello?", 2: "Hello?", 4: "Well?"}]
)
def test_agreement_of_a_part_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], turns: dict[int, str]
) -> None:
    """Replies of one folder only, the left or the right one, and replies to other prompts."""
    left = str(write_samples(tmp_path / "a", [sample(turn=1), sample(turn=2)]))
    others = [sample(turn=turn, user=user) for turn, user in turns.items()]
    words = ["eval", "compare", left, str(write_samples(tmp_path / "b", others))]
    assert main(words) == 0
    assert "not compared: " in capsys.readouterr().out
    assert main([*words, "--at-least", "0.5"]) == 1
    said = capsys.readouterr().out
    assert "1 replies were not compared (" in said
    assert "fewer verdicts" not in said
    assert main(["eval", "compare", left, left, "--at-least", "1"]) == 0
