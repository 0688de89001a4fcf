"""Dialogues are valid by construction; broken files name file and line."""

from __future__ import annotations

import pytest

from gatt.data.dialogue import Dialogue, Message, parse_dialogue, parse_messages
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
        (lambda: Message("user", "so \ud83d"), r"half a character \('\\ud83d'\) in a 'user' message"),
        (lambda: Dialogue(" ", (U,)), "dialogue id is ' ': expected a non-empty string"),
        (lambda: Dialogue("d", (U, U)), "'d', turn 1: expected role 'assistant' after 'user', found 'user'"),
        (lambda: Dialogue("d", (A,)), "turn 1: expected role 'user' after the start"),
        (lambda: Dialogue("d", ()), "dialogue 'd': no user message"),
        (lambda: Dialogue("d", (U,)).first_turns(2), "asked for 2 turns, it has 1"),
        (lambda: Dialogue("d", (U,)).first_turns(0), "asked for 0 turns, it has 1"),
        (lambda: parse_messages({}), "'messages' is dict: expected a list"),
        (lambda: parse_messages([{"role": "user"}]), "message 1: expected an object with 'role'"),
        (lambda: parse_messages([U.as_dict(), {"role": "x", "content": "y"}]), "message 2: unknown role 'x'"),
        (lambda: parse_dialogue([]), "found list: expected an object with 'id' and 'messages'"),
        (lambda: parse_dialogue({"a": 1}), r"no 'messages' \(found keys: a\)"),
        (lambda: parse_dialogue({"messages": [U.as_dict()]}), "no 'id'"),
    ],
)  # fmt: skip
def test_refusals(make, message) -> None:
    with pytest.raises(DataError, match=message):
        make()
