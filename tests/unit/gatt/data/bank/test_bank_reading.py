from pathlib import Path

import pytest

from gatt.data.bank.answer_forms import AnswerForms
from gatt.data.bank.read import FOLDER, QUESTION_KINDS, load_bank
from gatt.data.hash_split import PARTS
from gatt.errors import CatalogError

FORMS = AnswerForms(
    {"cold": {"en": "cold", "fr": "froid/froide"}, "hot": {"en": "hot"}, "says-yes": {"any": "yes"}}
    | {"says-no": {"any": "no,"}},
    {"words": {"6": ["six", "sei"]}, "wrong": {"6": ["não sei"]}},
)


@pytest.mark.parametrize(
    ("row", "right", "wrong"),
    [
        ({"number": 6}, ("6", "six", "sei"), ("não sei",)),
        ({"number": 1500}, ("1500", "1,500", "1.500", "1 500"), ()),
        ({"words": ["cold"], "not_words": ["hot"]}, ("cold", "froid", "froide"), ("hot",)),
        ({"says": "yes"}, ("yes",), ("no,",)),
        ({"any_of": ["mice"], "none_of": ["mouses"]}, ("mice",), ("mouses",)),
    ],
)
def test_answers_are_written_out(row: dict, right: tuple[str, ...], wrong: tuple[str, ...]) -> None:
    assert FORMS.read("here", row) == (right, wrong)


def test_an_order_counts_however_it_is_parted() -> None:
    right, _ = FORMS.read("here", {"sequence": [2, 5, 9]})
    assert {"2 5 9", "2, 5, 9", "2,5,9", "2 < 5 < 9", "2, 5 and 9", "2, 5 et 9", "2、5、9"} <= set(
        right
    )


@pytest.mark.parametrize("row", [{}, {"words": ["colt"]}, {"number": "six"}])
def test_a_row_without_a_right_answer_is_refused(row: dict) -> None:
    with pytest.raises(CatalogError, match=r"questions\.yaml x"):
        FORMS.read("questions.yaml x", row)


def test_a_broken_row_is_told_with_its_file_and_name(tmp_path: Path) -> None:
    for path in FOLDER.glob("*.yaml"):
        (tmp_path / path.name).write_text(path.read_text("utf-8"), "utf-8")
    (tmp_path / "told.yaml").write_text('dog: {tel: "My dog is Rex."}\n', "utf-8")
    with pytest.raises(CatalogError, match=r"told\.yaml dog.*'tel'.*'tell'"):
        load_bank(tmp_path)


def test_the_parts_share_nothing_and_lose_nothing() -> None:
    bank = load_bank()
    for rows in ("questions", "told", "small_talk", "speaker"):
        ids = [row.id for row in getattr(bank, rows)]
        parts = [row.id for part in PARTS for row in getattr(bank.part(part), rows)]
        assert sorted(ids) == sorted(parts)
        assert len(set(ids)) == len(ids)
    assert {row.kind for row in bank.questions} <= set(QUESTION_KINDS)
