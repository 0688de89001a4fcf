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
        ({"arm": " "}, r"'arm' is ' '"),
        ({"turn": -1}, r"^arm 'base', dialogue 'd1', turn -1: 'turn' is -1"),
        ({"turn": True}, r"'turn' is True"),
        ({"history": "sampled"}, r"'history' is 'sampled'.*'reference' or 'own'"),
        ({"status": "ok"}, r"'status' is 'ok'.*'pass', 'fail' or 'undecided'"),
        ({"reply": None}, r"'reply' is null"),
        ({"reference": 3}, r"'reference' is 3"),
        ({"loose": "ok"}, r"'loose' is 'ok'"),
        ({"is_repeated": 1}, r"'is_repeated' is 1"),
        ({"score": 1.5}, r"'score' is 1.5"),
        ({"since_switch": 9}, r"'since_switch' is 9"),
        ({"expected": "lost"}, r"'expected' is 'lost'"),
        ({"instruction": None}, r"'split' is 'train' with no instruction"),
        ({"split": "none"}, r"'split' is 'none' with an instruction"),
        ({"instruction": None, "split": "none", "kind": "probe"}, r"probe without an instruction"),
        ({"instruction": "be nice"}, r"'instruction' is 'be nice'"),
        ({"instruction": {"id": "x"}}, r"'instruction' has no 'text'"),
        ({"verdicts": {}}, r"'verdicts' is a mapping"),
        ({"verdicts": [{"status": "pass"}]}, r"'verdicts.0.span'"),
        ({"judge": {"status": "pass"}}, r"'judge.span'"),
        ({"completion": {**VERDICT, "status": "ok"}}, r"'completion.status' is 'ok'"),
        ({"verdicts": [{**VERDICT, "span": [3]}]}, r"'span' is \[3\]"),
        ({"replies": "x"}, r"unknown key 'replies', did you mean 'reply'"),
        ({"zzz": 1}, r"unknown key 'zzz' \(known: arm, "),
    ],
)
def test_broken_json_forms_are_refused_with_their_place(changes: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Sample.from_dict({**sample().as_dict(), **changes})


def test_an_empty_reply_is_a_reply() -> None:
    assert sample(reply="", status="fail").reply == ""


def test_more_broken_json_forms_are_refused() -> None:
    with pytest.raises(DataError, match="found list"):
        Sample.from_dict([])
    lacking = sample().as_dict()
    del lacking["finish"]
    with pytest.raises(DataError, match="'finish'"):
        Sample.from_dict(lacking)
    broken = sample().as_dict()
    broken["instruction"]["verifiers"] = [{"any_of": []}]
    with pytest.raises(DataError, match=r"'instruction' is broken: verifier .*any_of"):
        Sample.from_dict(broken)


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_read_samples_names_file_and_line(tmp_path: Path) -> None:
    good = json.dumps(sample().as_dict())
    other = json.dumps(sample(turn=2).as_dict())
    assert len(list(read_samples(write(tmp_path / "a.jsonl", good, "", other)))) == 2
    with pytest.raises(DataError, match=r"none\.jsonl: .*No such file"):
        list(read_samples(tmp_path / "none.jsonl"))
    with pytest.raises(
        DataError, match=r"b\.jsonl line 3: broken JSON \(.*column 2\), expected one"
    ):
        list(read_samples(write(tmp_path / "b.jsonl", good, "", "{oops", other)))
    with pytest.raises(DataError, match=r"c\.jsonl line 1: .*'arm'"):
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
