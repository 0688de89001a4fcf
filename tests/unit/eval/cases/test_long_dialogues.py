"""Joined dialogues: none in two, seams where the next begins."""

from __future__ import annotations

import pytest

from eval.cases.long_dialogues import join_dialogues
from gatt.errors import DataError
from tests.support.runs.stages import dialogue


def test_dialogues_are_joined_in_order_and_none_is_used_twice() -> None:
    dialogues = [dialogue(n, turns) for n, turns in enumerate((3, 4, 5, 8, 9, 2))]
    found = join_dialogues(dialogues, 8)
    assert [len(long.seams) for long in found.values()] == [2, 0, 0]
    first = next(iter(found.values()))
    assert first.seams == (4, 8)
    assert first.dialogue.num_turns == 8
    assert first.dialogue.user_turns[3:7] == dialogues[1].user_turns
    assert {long.dialogue.num_turns for long in found.values()} == {8}
    texts = [turn for long in found.values() for turn in long.dialogue.user_turns]
    assert len(set(texts)) == len(texts)


def test_the_parts_of_a_joined_dialogue_are_known_one_by_one() -> None:
    dialogues = [dialogue(n, 3) for n in range(3)]
    (long,) = join_dialogues(dialogues, 8).values()
    assert long.parts == tuple(dialogues)
    assert long.dialogue.user_turns[6:] == dialogues[2].user_turns[:2]
    with pytest.raises(DataError, match=r"2 dialogues with 6 turns .* 8 turns"):
        join_dialogues(dialogues[:2], 8)
