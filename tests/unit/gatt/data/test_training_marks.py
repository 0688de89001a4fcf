from __future__ import annotations

import json
from pathlib import Path

import pytest

from gatt.data.dialogue import Dialogue
from gatt.data.speaker_turns import with_questions_between
from gatt.data.training_marks import FILE, TrainedOn, dialogue_mark, read_marks, write_marks
from gatt.errors import DataError
from tests.support.runs.stages import dialogue, hobby


def test_a_dialogue_is_known_by_its_first_user_messages_whatever_its_id_and_length() -> None:
    long, other = dialogue(1, 9), dialogue(2, 9)
    cut = Dialogue("another-name", long.messages[:10])
    assert dialogue_mark(cut) == dialogue_mark(long) != dialogue_mark(other)


def test_what_is_written_is_read_and_entries_are_known_of_all_or_none(tmp_path: Path) -> None:
    write_marks(tmp_path, TrainedOn.of([dialogue(1), dialogue(2), dialogue(1)]))
    assert read_marks(tmp_path) == TrainedOn.of([dialogue(1), dialogue(2)])
    found = TrainedOn.of([dialogue(1)], ["hobby.tennis", "hobby.golf"])
    write_marks(tmp_path, found)
    assert read_marks(tmp_path) == found
    assert (found | TrainedOn.of([], ["figure.x"])).entries == {*found.entries, "figure.x"}
    # What one of two does not know, both do not know.
    assert (found | TrainedOn.of([])).entries is None
    assert (TrainedOn.of([]) | found).entries is None


@pytest.mark.parametrize(("trained", "asked"), [(3, 9), (4, 4), (9, 3)])
def test_a_dialogue_is_found_however_short_either_was_cut(trained: int, asked: int) -> None:
    known = TrainedOn.of([dialogue(1, trained)])
    assert dialogue(1, asked) in known
    assert dialogue(2, asked) not in known


@pytest.mark.parametrize("num", [1, 2])
def test_a_greeting_is_no_dialogue_but_for_those_that_have_no_more(num: int) -> None:
    assert dialogue(1, num) in TrainedOn.of([dialogue(1, num)])
    assert dialogue(1, num) not in TrainedOn.of([dialogue(1, 9)])
    assert dialogue(1, 9) not in TrainedOn.of([dialogue(1, num)])


def test_a_question_that_was_put_between_is_no_mark() -> None:
    about = hobby("tennis", facts={"hobby": ("tennis",)})
    asked = with_questions_between(dialogue(1, 9), about, "seed", turns=[2])
    assert asked.num_turns == 10
    assert asked in TrainedOn.of([dialogue(1, 9)])
    assert dialogue(1, 9) in TrainedOn.of([asked])


def test_a_file_from_before_beginnings_were_kept_is_read(tmp_path: Path) -> None:
    assert read_marks(tmp_path) is None
    raw = {"num_turns": 4, "dialogues": [dialogue_mark(dialogue(1))]}
    (tmp_path / FILE).write_text(json.dumps(raw), encoding="utf-8")
    found = read_marks(tmp_path)
    assert found
    assert dialogue(1, 9) in found
    assert found.entries is None

    # One that does not say is unknown.
    (tmp_path / FILE).write_text(json.dumps({"num_turns": 9, "dialogues": []}), encoding="utf-8")
    assert read_marks(tmp_path) is None


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"num_turns": 4}', '{"num_turns": 4, "dialogues": 3}']
)
def test_a_broken_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"trained_on.json: broken: expected 'num_turns'"):
        read_marks(tmp_path)
