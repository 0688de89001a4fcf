from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.records.samples import Sample, read_samples
from gatt.errors import DataError
from tests.support.runs.fake_samples import fake_samples, sample

VERDICT = sample().as_dict()["verdicts"][0]


def test_every_sample_survives_its_json_form() -> None:
    verdict = sample().verdicts[0]
    events = {"event": "asks_to_drop", "expected": "released"}
    full = sample(loose="pass", completion=verdict, judge=verdict, **events)
    for made in (*fake_samples(num_dialogues=4), full):
        raw = json.loads(json.dumps(made.as_dict()))
        assert Sample.from_dict(raw) == made
    # What was not measured may be left out.
    for key in ("loose", "event", "judge"):
        raw = sample().as_dict()
        del raw[key]
        assert Sample.from_dict(raw) == sample()


BROKEN_RULE = {**sample().as_dict()["instruction"], "verifiers": [{"any_of": []}]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arm": " "}, r"'arm' is ' '"),
        ({"turn": -1}, r"^arm 'base', dialogue 'd1', turn -1: 'turn' is -1"),
        ({"history": "sampled"}, r"history 'sampled'.*'reference', 'own'"),
        ({"score": 0.5}, r"'score' is 0.5 .*: expected null"),
        ({"ended": {}}, r"'ended' has no 'id'"),
        ({"instruction": BROKEN_RULE}, r"'instruction' is broken: .*any_of"),
        ({"instruction": None}, r"'split' is 'train' with no instruction"),
        ({"split": "none"}, r"'split' is 'none' with an instruction"),
        ({"instruction": None, "split": "none", "kind": "probe"}, r"probe without an instruction"),
        ({"verdicts": [{"status": "pass"}]}, r"'verdicts.0.span'"),
        ({"verdicts": [{**VERDICT, "span": [3]}]}, r"'span' is \[3\]"),
        ({"replies": "x"}, r"unknown key 'replies', did you mean 'reply'"),
    ],
)
def test_broken_json_forms_are_refused_with_their_place(changes: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Sample.from_dict({**sample().as_dict(), **changes})
    with pytest.raises(DataError, match="found list"):
        Sample.from_dict([])


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_read_samples_names_file_and_line(tmp_path: Path) -> None:
    good = json.dumps(sample().as_dict())
    other = json.dumps(sample(turn=2).as_dict())
    assert len(list(read_samples(write(tmp_path / "a.jsonl", good, "", other)))) == 2
    # A killed run may leave a torn last line.
    assert list(read_samples(write(tmp_path / "a.jsonl", good, good[:50]))) == [sample()]
    for facts, lines in (
        ("line 3: broken JSON", (good, "", "{oops", other)),
        ("line 2: broken JSON", (good, good[:50], "")),
        ("line 1: .*'arm'", ("{}",)),
        ("line 2: .* line 1", (good, good)),
    ):
        with pytest.raises(DataError, match=rf"a\.jsonl {facts}"):
            list(read_samples(write(tmp_path / "a.jsonl", *lines)))
    with pytest.raises(DataError, match=r"none\.jsonl: .*No such file"):
        list(read_samples(tmp_path / "none.jsonl"))
