"""Samples: one JSON line there and back, and broken ones by file and line."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gatt.data.expectation import Expectation
from gatt.data.sample import GattSample, TurnTarget, read_samples
from gatt.errors import DataError
from tests.support.models.golden_templates import sample
from tests.support.models.tiny import write_samples


def test_json_and_back(tmp_path) -> None:
    gap = TurnTarget(
        2, None, "rejected", attempts=2, verdicts=({"status": "fail"},), refused=("cut", "rejected")
    )
    first = sample(2, "Speak French.")
    asked = replace(first.dialogue.messages[0], expect=Expectation(any_of=("8",), kind="question"))
    spoken = replace(first.dialogue, messages=(asked, *first.dialogue.messages[1:]))
    samples = [
        GattSample("a", first.dialogue, first.instruction, (first.targets[0], gap), {"seed": 1}),
        sample(1, None), replace(first, dialogue=spoken),
        replace(first, targets=(replace(first.targets[0], rejected="Hi."), replace(gap, rejected="So."))),
    ]  # fmt: skip
    path = write_samples(tmp_path / "samples.jsonl", samples)
    assert list(read_samples(path)) == samples
    assert [(s.family, s.num_targets) for s in samples[:2]] == [("language", 1), ("plain", 1)]
    assert [s.num_pairs for s in samples] == [0, 0, 0, 1]
    assert [type(turn["expect"]) for turn in samples[2].as_dict()["turns"]] == [str, str]


def test_absent_texts_are_empty_strings() -> None:
    """So that columnar readers find strings in every row."""
    whole = sample(1, None).as_dict()
    raw = whole["turns"][0]
    assert (raw["reason"], raw["kind"]) == ("", "sampled")
    # Files of before refused draws, or rejected replies, were kept are read.
    del raw["refused"], raw["rejected"]
    assert GattSample.from_dict(whole) == sample(1, None)
    raw = TurnTarget(1, None, "cut").as_dict()
    assert (raw["reply"], raw["kind"], raw["refused"], raw["rejected"]) == ("", "", "", "")


def broken(**changes) -> str:
    return json.dumps({**sample(1, "X").as_dict(), **changes})


def with_message(text: str) -> str:
    raw = sample(2, "X").as_dict()
    raw["dialogue"]["messages"][1]["content"] = text
    return json.dumps(raw)


def with_turn(**changes) -> str:
    raw = sample(1, "X").as_dict()
    raw["turns"][0].update(changes)
    return json.dumps(raw)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{}", "line 2: no 'instruction': expected a sample written by `gatt synth`"),
        (broken(turns=5), "line 2: not a sample of `gatt synth`"),
        (broken(turns=[]), r"line 2: sample 's-1': targets of turns \[\], expected 1 to 1"),
        (broken(instruction={"id": "x"}), "line 2: no 'text'"),
        (broken(dialogue={"id": "d"}), "line 2: no 'messages'"),
        (broken(id=7), "line 2: sample 7: expected a text as its id"),
        (broken(provenance=["t"]), "line 2: sample 's-1': .*object as its provenance"),
        (with_turn(refused=["cut"]), "line 2: not a sample of `gatt synth`"),
        (with_turn(reply="", reason=["cut"]), "line 2: .*'0.reason' is"),
        (with_turn(attempts=[1]), "line 2: .*'0.attempts' is"),
        (with_turn(verdicts=["pass"]), "line 2: .*'0.verdicts.0' is"),
        (with_turn(kind="made"), "line 2: .*'0.kind' is 'made'"),
        (with_message(" \n"), "line 2: message 2: empty content in a 'assistant' message"),
        (with_message("so \ud83d"), "line 2: half a character"),
        (
            with_turn(reply="", reason=""),
            "line 2: turn 1: expected a target reply or a reason for none, found ne",
        ),
        (with_turn(reason="cut"), "line 2: turn 1: expected a target reply or a reason for none, found both"),
        (with_turn(reply="Bon\udc00jour"), "line 2: half a character"),
        (broken(id="\ud800"), "line 2: half a character"),
    ],
)  # fmt: skip
def test_broken_line(tmp_path, line, message) -> None:
    path = tmp_path / "samples.jsonl"
    good = json.dumps(sample(1, None).as_dict())
    for before in (f"{good}\n", "\n"):
        path.write_text(before + (line + "\n") * 2)
        with pytest.raises(DataError, match=message):
            list(read_samples(path))


def test_a_file_without_a_sample_is_refused(tmp_path) -> None:
    path = tmp_path / "samples.jsonl"
    path.touch()
    with pytest.raises(DataError, match=r"samples.jsonl: no sample in it: run `gatt synth` first"):
        list(read_samples(path))
