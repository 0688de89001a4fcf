"""A file of one's own: what is lost of it, what is counted, and what the user reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gatt.data.dialogue import Dialogue
from gatt.errors import DataError
from gatt.sources.base import SourceReport
from gatt.sources.config import SourceConfig
from gatt.sources.load import load_dialogues

PAIR = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
TURNS = [
    {"from": "system", "value": "Be kind."},
    {"from": "human", "value": "Hi"},
    {"from": "gpt", "value": "Hello"},
    {"from": "human", "value": "Bye"},
]
OTHER = {"messages": [{"role": "user", "content": "Ho"}, PAIR[1]]}
NARRATOR = {"conversations": [{"from": "narrator", "value": "Hi"}]}
TOOL = {"messages": [*PAIR, {"role": "tool", "content": "3"}]}
IMAGE = {"messages": [{"role": "user", "content": [{"type": "image"}]}, PAIR[1]]}


def load(
    tmp_path: Path, *rows: object, name: str = "jsonl", **changes: Any
) -> tuple[list[Dialogue], SourceReport]:
    path = tmp_path / "data.jsonl"
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("\n".join(lines), encoding="utf-8")
    settings = {"min_turns": 1, "max_turns": 4, **changes}
    return load_dialogues(SourceConfig(name=name, path=str(path), **settings), None)


@pytest.mark.parametrize("name", ["jsonl", "hub"])
def test_both_sources_count_alike_with_one_example_each(tmp_path, name, caplog) -> None:
    rows = (
        {"id": 7, "conversations": TURNS}, "", OTHER, NARRATOR, TOOL, "{oops", IMAGE, {**OTHER, "id": "7"},
    )  # fmt: skip
    dialogues, report = load(tmp_path, *rows, name=name, max_lost=3)
    assert {d.id: [m.content for m in d.messages] for d in dialogues} == {
        "7": ["Hi", "Hello"], "data-2": ["Ho", "Hello"],
    }  # fmt: skip
    assert report.changed == {
        "speaker renamed": 1,
        "system message removed": 1,
        "open last turn cut": 1,
    }
    assert report.dropped == {
        "unknown speaker": 1, "tool calls": 1, "broken JSON": 1, "repeated id": 1,
        "images or other parts that are no text": 1,
    }  # fmt: skip
    assert report.num_read == report.num_kept + report.dropped.total() == 7
    assert set(report.examples) == set(report.changed) | set(report.dropped)
    assert report.examples["speaker renamed"] == "line 1, message 2: 'human' is user"
    assert report.examples["repeated id"] == "line 8: repeated id: '7' stands in line 1 already"
    assert report.as_dict()["examples"] == report.examples
    for reason, example in report.examples.items():
        assert sum(reason in text and example in text for text in caplog.messages) == 1


def test_good_data_says_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    load(tmp_path, {"messages": PAIR})
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("rows", "changes", "facts"),
    [
        (
            [{"messages": PAIR}, NARRATOR, "{oops", NARRATOR, NARRATOR],
            {},
            ["4 of 5 rows", "at most 0", "unknown speaker: 3, broken JSON: 1", "line 2:", "line 3:",
             "line 4:", "call the speakers user", "max_lost"],
        ),
        ([{"messages": PAIR}, "{", "}", NARRATOR], {"max_lost": 2}, ["3 of 4", "at most 2", "one JSON obj"]),
        ([NARRATOR], {"name": "hub", "max_lost": 0}, ["1 of 1 rows"]),
        ([{"messages": PAIR}, {"text": "Hi"}], {}, ["no messages", "(found keys: text)", "column"]),
        ([{"messages": PAIR}, {"messages": PAIR}], {"column": "chat"}, ["2 of 2", "'chat'", "messages"]),
        ([{"messages": [{**PAIR[0], "expect": {"anyof": [3]}}, PAIR[1]]}], {}, ["unusable expect: 1", "anyof"]),
        # Not lost, but of no use.
        ([TOOL, TOOL, {"messages": PAIR}], {"min_turns": 2}, ["tool calls: 2", "line 1", "without tools"]),
        ([TOOL, {"messages": PAIR}, OTHER], {"min_turns": 2}, ["too short: 2", "lower min_turns"]),
        ([IMAGE], {}, ["images", "text alone"]),
        ([NARRATOR], {"name": "hub"}, ["unknown speaker: 1", "line 1", "call the speakers user"]),
    ],
)  # fmt: skip
def test_too_many_lost_rows_and_the_advice_of_the_most_frequent_reason(
    tmp_path: Path, rows: list[object], changes: dict[str, Any], facts: list[str]
) -> None:
    with pytest.raises(DataError) as caught:
        load(tmp_path, *rows, **changes)
    assert [fact for fact in facts if fact not in str(caught.value)] == []
    assert "line 5" not in str(caught.value)


def test_a_column_of_another_name(tmp_path: Path) -> None:
    dialogues, _ = load(tmp_path, {"chat": PAIR, "messages": "x"}, column="chat")
    assert [d.replies for d in dialogues] == [("Hello",)]
