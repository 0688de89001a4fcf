from __future__ import annotations

from typing import Any

import pytest

from eval.report.data.lists import KEYS, records
from gatt.errors import DataError
from tests.support.texts.fake_lists import fake_lists


@pytest.mark.parametrize("name", KEYS)
def test_a_list_may_be_missing_null_or_empty(name: str) -> None:
    assert [records(found, name) for found in ({}, {name: None}, {name: []})] == [[], [], []]


@pytest.mark.parametrize("name", KEYS)
def test_records_may_have_more_keys_and_are_returned_as_they_are(name: str) -> None:
    found = [{**record, "more": 1} for record in fake_lists()[name]]
    assert records({name: found}, name) == found


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ("x", "'events' is str: expected a list of records"),
        ([1], "events record 1: found int: expected an object"),
        ([{"arm": "gatt"}], "events record 1: no 'history': expected arm, history, split"),
    ],
)
def test_a_broken_list_is_refused(found: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        records({"events": found}, "events")
