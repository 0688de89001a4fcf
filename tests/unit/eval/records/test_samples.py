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
    for made in fake_samples(num_dialogues=4):
        raw = json.loads(json.dumps(made.as_dict()))
        assert Sample.from_dict(raw) == made


def test_a_sample_has_exactly_the_keys_of_the_contract() -> None:
    assert list(sample().as_dict()) == [
        "arm", "history", "dialogue", "turn", "kind", "instruction", "family", "split", "user",
        "reply", "reference", "finish", "status", "verdicts", "loose", "event", "expected",
        "completion", "twin", "judge", "given", "since_switch", "leak", "since_end",
        "ended", "announcement", "is_repeated", "score",
    ]  # fmt: skip


def test_what_was_not_measured_may_be_left_out() -> None:
    made = sample()
    raw = {k: v for k, v in made.as_dict().items() if k not in ("loose", "event", "judge")}
    assert Sample.from_dict(raw) == made


def test_a_sample_keeps_event_and_all_verdicts() -> None:
    verdict = sample().verdicts[0]
    made = sample(
        loose="pass", event="asks_to_drop", expected="released", completion=verdict, judge=verdict
    )
    assert Sample.from_dict(json.loads(json.dumps(made.as_dict()))) == made


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arm": " "}, r"'arm' is ' ': expected some text"),
        ({"turn": 0}, r"'turn' is 0: expected a whole number from 1"),
        ({"turn": True}, r"'turn' is True: expected a whole number"),
        ({"history": "sampled"}, r"'history' is 'sampled': expected one of reference, own"),
        ({"status": "ok"}, r"'status' is 'ok': expected one of pass, fail, undecided"),
        ({"reply": None}, r"'reply' is NoneType: expected a string"),
        ({"reference": 3}, r"'reference' is int: expected a string or null"),
        ({"event": 3}, r"'event' is int: expected a string or null"),
        ({"loose": "ok"}, r"'loose' is 'ok': expected null or one of pass, fail, undecided"),
        ({"is_repeated": 1}, r"'is_repeated' is 1: expected true, false or null"),
        ({"expected": "lost"}, r"'expected' is 'lost': expected one of kept, released"),
        ({"instruction": None}, r"'split' is 'train' with no instruction: expected 'none'"),
        ({"split": "none"}, r"'split' is 'none' with an instruction"),
        (
            {"instruction": None, "split": "none", "kind": "probe"},
            r"a probe without an instruction",
        ),
    ],
)
def test_values_outside_the_contract_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        sample(**changes)


def test_an_empty_reply_is_a_reply() -> None:
    assert sample(reply="", status="fail").reply == ""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"turn": -1}, r"^arm 'base', dialogue 'd1', turn -1: 'turn' is -1"),
        ({"instruction": "be nice"}, r"'instruction' is str: expected an object or null"),
        ({"instruction": {"id": "x"}}, r"'instruction' has no 'text'"),
        ({"verdicts": {}}, r"'verdicts' is dict: expected a list"),
        ({"verdicts": [{"status": "pass"}]}, r"verdict 1 is broken: no 'span'"),
        ({"judge": {"status": "pass"}}, r"'judge' is broken: no 'span'"),
        ({"completion": {**VERDICT, "status": "ok"}}, r"'completion': 'status' is 'ok'"),
        (
            {"verdicts": [{**VERDICT, "span": [3]}]},
            r"verdict 1 is broken: list index out of range",
        ),
        ({"replies": "x"}, r"unknown key 'replies', did you mean 'reply'"),
        ({"zzz": 1}, r"unknown key 'zzz' \(known: arm, "),
    ],
)
def test_broken_json_forms_are_refused_with_their_place(changes: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Sample.from_dict({**sample().as_dict(), **changes})


def test_more_broken_json_forms_are_refused() -> None:
    with pytest.raises(DataError, match="found list: expected an object"):
        Sample.from_dict([])
    lacking = sample().as_dict()
    del lacking["finish"]
    with pytest.raises(DataError, match="no 'finish': expected all of arm"):
        Sample.from_dict(lacking)
    broken = sample().as_dict()
    broken["instruction"]["verifiers"] = [{"any_of": []}]
    with pytest.raises(DataError, match=r"'instruction' is broken: verifier .* expected an object"):
        Sample.from_dict(broken)
    odd = sample().as_dict()
    odd["verdicts"][0]["status"] = "maybe"
    with pytest.raises(DataError, match="verdict 1: 'status' is 'maybe': expected one of pass"):
        Sample.from_dict(odd)


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_read_samples_names_file_and_line(tmp_path: Path) -> None:
    good = json.dumps(sample().as_dict())
    other = json.dumps(sample(turn=2).as_dict())
    assert len(list(read_samples(write(tmp_path / "a.jsonl", good, "", other)))) == 2
    with pytest.raises(DataError, match=r"none\.jsonl: cannot read: No such file"):
        list(read_samples(tmp_path / "none.jsonl"))
    with pytest.raises(
        DataError, match=r"b\.jsonl line 3: broken JSON \(.*column 2\), expected one"
    ):
        list(read_samples(write(tmp_path / "b.jsonl", good, "", "{oops", other)))
    with pytest.raises(DataError, match=r"c\.jsonl line 1: no 'arm'"):
        list(read_samples(write(tmp_path / "c.jsonl", "{}")))
    with pytest.raises(DataError, match=r"d\.jsonl line 2: the same turn already stands in line 1"):
        list(read_samples(write(tmp_path / "d.jsonl", good, good)))


def test_what_a_killed_run_left_of_its_last_line_is_passed_over(tmp_path: Path) -> None:
    good = json.dumps(sample().as_dict())
    path = write(tmp_path / "a.jsonl", good, good[:50])
    assert list(read_samples(path)) == [sample()]
    path.write_text(f"{good}\n{good[:50]}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.jsonl line 2: broken JSON"):
        list(read_samples(path))
