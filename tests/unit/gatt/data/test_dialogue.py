"""Dialogues are valid by construction; broken files name file and line."""

from __future__ import annotations

import json

import pytest

from gatt.data.dialogue import (
    Dialogue,
    Message,
    parse_dialogue,
    parse_messages,
    read_dialogues,
)
from gatt.errors import DataError

U, A, S = Message("user", "hi"), Message("assistant", "yo"), Message("system", "be")


def test_counts_and_cuts() -> None:
    full = Dialogue("d", (S, U, A, U))
    assert (full.num_turns, full.system) == (2, "be")
    assert (full.user_turns, full.replies) == (("hi", "hi"), ("yo",))
    assert full.first_turns(1).messages == (S, U, A)
    assert Dialogue("d", (U,)).system is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Message("tool", "x"), "unknown role 'tool': expected one of system, user"),  # type: ignore[arg-type]
        (lambda: Message("user", 3), "content of the 'user' message is int: expected a string"),  # type: ignore[arg-type]
        (lambda: Message("user", " \n"), "empty content in a 'user' message"),
        (
            lambda: Message("user", "so \ud83d"),
            r"half a character \('\\ud83d'\) in a 'user' message",
        ),
        (lambda: Dialogue(" ", (U,)), "dialogue id is ' ': expected a non-empty string"),
        (
            lambda: Dialogue("d", (U, U)),
            "'d', turn 1: expected role 'assistant' after 'user', found 'user'",
        ),
        (lambda: Dialogue("d", (A,)), "turn 1: expected role 'user' after the start"),
        (lambda: Dialogue("d", ()), "dialogue 'd': no user message"),
        (lambda: Dialogue("d", (U,)).first_turns(2), "asked for 2 turns, it has 1"),
        (lambda: Dialogue("d", (U,)).first_turns(0), "asked for 0 turns, it has 1"),
        (lambda: parse_messages({}), "'messages' is dict: expected a list"),
        (lambda: parse_messages([{"role": "user"}]), "message 1: expected an object with 'role'"),
        (
            lambda: parse_messages([U.as_dict(), {"role": "x", "content": "y"}]),
            "message 2: unknown role 'x'",
        ),
        (lambda: parse_dialogue([]), "found list: expected an object with 'id' and 'messages'"),
        (lambda: parse_dialogue({"a": 1}), r"no 'messages' \(found keys: a\)"),
        (lambda: parse_dialogue({"messages": [U.as_dict()]}), "no 'id'"),
    ],
)
def test_refusals(make, message) -> None:
    with pytest.raises(DataError, match=message):
        make()


def test_file_and_back_blank_lines_and_missing_ids(tmp_path) -> None:
    path = tmp_path / "mine.jsonl"
    written = [Dialogue("é", (S, U, A)), Dialogue("b", (U,))]
    path.write_text("".join(f"{json.dumps(one.as_dict())}\n" for one in written))
    assert list(read_dialogues(path)) == written
    path.write_text("\n" + json.dumps({"messages": [U.as_dict()]}) + "\n\n")
    assert [d.id for d in read_dialogues(path)] == ["mine-2"]


GOOD = '{"id": "a", "messages": [{"role": "user", "content": "hi"}]}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            GOOD + "\n{oops",
            r"x.jsonl line 3: broken JSON \(.*column 2\), expected one JSON object a",
        ),
        (GOOD + "[1]\n", r"x.jsonl line 2: found list, expected one JSON object a line"),
        (GOOD + '{"id": "b", "messages": []}\n', "x.jsonl line 2: dialogue 'b': no user message"),
        (GOOD + "\n" + GOOD, "x.jsonl line 3: id 'a' already stands in line 1"),
        ("\n", "x.jsonl: no dialogue in it"),
    ],
)
def test_broken_files(tmp_path, text, message) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        list(read_dialogues(path))
