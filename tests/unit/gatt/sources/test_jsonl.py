from __future__ import annotations

import json
from pathlib import Path

import pytest

from gatt.data.dialogue import Dialogue, read_dialogues
from gatt.errors import DataError
from gatt.sources.base import SourceReport
from gatt.sources.config import SourceConfig
from gatt.sources.jsonl import parse_row
from gatt.sources.load import load_dialogues


def load(tmp_path: Path, *rows: object) -> tuple[list[Dialogue], SourceReport]:
    path = tmp_path / "data.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return load_dialogues(
        SourceConfig(name="jsonl", path=str(path), min_turns=1, max_turns=4), None
    )


def said(*roles: str) -> list[dict[str, str]]:
    return [{"role": r, "content": f"{r} {i}"} for i, r in enumerate(roles)]


def test_a_null_id_is_none_and_a_list_no_speaker(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps({"id": None, "messages": messages}) + "\n", encoding="utf-8")
    assert [d.id for d in read_dialogues(path, parse_row)] == ["d-1"]
    odd = {"conversations": [{"from": ["human"], "value": "Hi"}]}
    path.write_text(json.dumps(odd) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"line 1: message 1: unknown speaker \['human'\]"):
        list(read_dialogues(path, parse_row))
    path.write_text("[" * 100_000 + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"line 1: broken JSON"):
        list(read_dialogues(path, parse_row))


def test_messages_and_sharegpt_give_the_same(tmp_path: Path) -> None:
    turns = [
        {"from": "system", "value": "Be kind."},
        {"from": "human", "value": "Hi"},
        {"from": "gpt", "value": "Hello"},
        {"from": "human", "value": "Bye"},
    ]
    dialogues, report = load(
        tmp_path,
        {"id": 7, "conversations": turns},
        {"messages": said("system", "user", "assistant", "user")},
    )
    by_id = {d.id: [m.content for m in d.messages] for d in dialogues}
    assert by_id == {"7": ["Hi", "Hello"], "data-2": ["user 1", "assistant 2"]}
    assert report.changed == {"system message removed": 2, "open last turn cut": 2}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"messages": said("user", "user")},
            r"data\.jsonl line 2: dialogue 'data-2', turn 1: expected role 'assistant'",
        ),
        (
            {"conversations": [{"from": "narrator", "value": "Hi"}]},
            r"line 2: message 1: unknown speaker 'narrator': expected one of human, user",
        ),
        ({"conversations": "Hi"}, r"line 2: 'conversations' is str: expected a list"),
        ({"text": "Hi"}, r"line 2: no 'messages' \(found keys: text\)"),
    ],
)
def test_bad_line_is_an_error_with_its_place(tmp_path: Path, row: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(tmp_path, {"messages": said("user", "assistant")}, row)
