from __future__ import annotations

from typing import Any

import pytest

from eval.report.data.lists import LISTS, records
from gatt.errors import DataError
from tests.support.texts.fake_lists import fake_lists


@pytest.mark.parametrize("name", LISTS)
def test_a_list_may_be_missing_null_or_empty_and_have_more_keys(name: str) -> None:
    assert [records(found, name) for found in ({}, {name: None}, {name: []})] == [[], [], []]
    found = [{**record, "more": 1} for record in fake_lists()[name]]
    assert records({name: found}, name) == found


@pytest.mark.parametrize(("found", "message"), [("x", "'events' is 'x'"), ([1], r"\[1\]")])
def test_a_broken_list_is_refused(found: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        records({"events": found}, "events")


def test_a_missing_key_is_one_line() -> None:
    (record,) = records({"events": [{"arm": "gatt"}]}, "events")
    with pytest.raises(DataError, match="no 'history' beside arm"):
        record["history"]
