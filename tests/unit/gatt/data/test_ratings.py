"""Ratings by hand: written one by one, read with the last word on each reply."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gatt.data.ratings import Rating, append_rating, read_ratings
from gatt.errors import DataError

RATING = Rating("talk", "gatt", 1, "up", "Speak French.", "Hi", "Bonjour")


def test_the_last_rating_of_a_reply_counts(tmp_path: Path) -> None:
    path = tmp_path / "new" / "ratings.jsonl"
    later, other = replace(RATING, rating="down"), replace(RATING, turn=2)
    for one in (RATING, other, later):
        append_rating(path, one)
    assert read_ratings(path) == [later, other]


@pytest.mark.parametrize(
    ("changes", "fact"),
    [
        ({"rating": "sideways"}, "line 1: .*up"),
        ({"turn": 0}, "line 1: .*turn"),
        ({"arm": None}, "line 1: .*arm"),
        ({"more": 1}, "line 1: .*more"),
    ],
)
def test_what_is_no_rating(tmp_path: Path, changes: dict[str, object], fact: str) -> None:
    path = tmp_path / "ratings.jsonl"
    append_rating(path, RATING)
    path.write_text(json.dumps(json.loads(path.read_text()) | changes) + "\n")
    with pytest.raises(DataError, match=fact):
        read_ratings(path)
    with pytest.raises(DataError, match="cannot read"):
        read_ratings(tmp_path / "none.jsonl")
