"""Replies rated by hand, one JSON object a line. No torch here."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from gatt.errors import DataError
from gatt.runs.store import parsed_records
from gatt.runs.values import ShapeError, typed

Thumb = Literal["up", "down"]
THUMBS: tuple[str, ...] = get_args(Thumb)


@dataclass(frozen=True, slots=True)
class Rating:
    """A thumb for one reply.

    Of several ratings of the same reply (`case`, `arm`, `turn`) in a file the last one counts.

    Raises:
        DataError: a rating that is neither `up` nor `down`, or a turn below 1.
    """

    case: str
    """The dialogue: the anchor of its case on the page of a report, or the name of a talk of `gatt chat`."""
    arm: str
    """The model, as the page names it."""
    turn: int
    """From 1."""
    rating: Thumb
    instruction: str
    """What held at that turn; empty for none."""
    message: str
    reply: str

    def __post_init__(self) -> None:
        if self.rating not in THUMBS:
            raise DataError(f"rating {self.rating!r}: expected one of {', '.join(THUMBS)}")
        if self.turn < 1:
            raise DataError(f"turn {self.turn} of a rating: expected 1 or more")


def read_ratings(path: Path) -> list[Rating]:
    """Return the ratings of a file, of several of the same reply the last one.

    Raises:
        DataError: no such file, or a line that is no rating, with its number.
    """
    ratings = (rating for _, rating in parsed_records(path, _parse, is_whole=True))
    return list({(rating.case, rating.arm, rating.turn): rating for rating in ratings}.values())


def _parse(_: int, raw: dict[str, Any]) -> Rating:
    try:
        return typed(Rating, raw)
    except ShapeError as error:
        raise DataError(f"no rating: {error}") from None


def append_rating(path: Path, rating: Rating) -> None:
    """Add a rating at the end of a file, which begins to exist with the first.

    Raises:
        DataError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(rating), ensure_ascii=False) + "\n")
    except OSError as error:
        raise DataError(
            f"{path}: the rating is not stored ({error.strerror}): name a file that can be written"
        ) from None
