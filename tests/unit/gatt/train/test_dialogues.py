"""Dialogues in memory: what becomes of a row."""

from __future__ import annotations

import pytest

from gatt.errors import DataError
from gatt.train.dialogues import samples_of
from tests.support.models.tiny import sample

TALK = [
    {"role": "system", "content": "Speak French."},
    {"role": "user", "content": "Hello!"},
    {"role": "assistant", "content": "Hi."},
    {"role": "user", "content": "Well?"},
]


def test_a_row_is_a_dialogue_with_its_own_replies_or_with_targets() -> None:
    written = sample(1)
    own, given, plain, made, read = samples_of(
        [
            {"messages": TALK}, {"id": "b", "messages": TALK, "targets": ("Bonjour !", None)},
            {"messages": TALK[1:3]}, written, written.as_dict(),
        ]
    )  # fmt: skip
    assert (own.id, own.instruction.text, own.dialogue.has_system) == (
        "row-1",
        "Speak French.",
        False,
    )
    assert [target.reply for target in own.targets] == ["Hi.", None]
    assert (given.id, [target.reply for target in given.targets]) == ("b", ["Bonjour !", None])
    assert given.dialogue.replies == ("Hi.",)
    assert plain.is_plain
    assert made is written
    assert read == written


@pytest.mark.parametrize(
    ("row", "fact"),
    [
        ("Hello!", "row 2: str: expected an object"),
        ({"text": "Hello!"}, "row 2: no 'messages': found 'text'"),
        ({"messages": "Hello!"}, "row 2: 'messages' is str"),
        ({"messages": TALK, "targets": ["a", "b", "c"]}, "row 2: 'targets'"),
        ({"messages": TALK, "targets": ["a", 3]}, "row 2: 'targets'"),
        ({"dialogue": {}}, "row 2: no 'instruction'"),
    ],
)
def test_a_row_that_is_no_dialogue(row: object, fact: str) -> None:
    with pytest.raises(DataError, match=fact):
        list(samples_of([{"messages": TALK}, row]))
