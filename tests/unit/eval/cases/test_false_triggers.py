"""What counts as a false trigger: nothing that ordinary replies do anyway."""

from __future__ import annotations

import pytest

from eval.cases.false_triggers import MOST_REPLIES, find_triggers, own_replies
from eval.records.case import Case
from gatt.data.catalog.ordinary_replies import ORDINARY
from gatt.data.catalog.read import Catalog, load_catalog
from gatt.data.instruction import Entry
from gatt.verifiers.spec import VerifierSpec
from tests.support.runs.stages import dialogue

FOLLOWED_BY_NEARLY_ALL = {
    "format.one_sentence", "format.two_sentences", "format.no_commas", "format.no_digits",
    "format.no_exclamation_marks", "format.without_the", "format.at_most_fifteen_words",
    "format.at_least_fifty_words", "format.lowercase", "format.with_number",
    "format.ends_with_question", "format.three_lines",
}  # fmt: skip


def entry(name: str, *terms: str) -> Entry:
    rule = VerifierSpec("terms", {"any_of": list(terms)})
    return Entry(f"x.{name}", "x", name, (f"Say {name}.",), f"{name}.", (rule,))


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


def test_formats_that_ordinary_replies_have_are_left_out(catalog) -> None:
    found = find_triggers(catalog.select(), ())
    assert set(found.left_out) == FOLLOWED_BY_NEARLY_ALL
    counted = {e.id for e in found.entries}
    assert {"format.haiku", "language.fr", "figure.napoleon", "hobby.tennis"} <= counted
    assert len(counted) + len(found.left_out) == len(catalog.entries)
    assert found.num_ordinary == len(ORDINARY)


def test_an_entry_that_the_dialogues_satisfy_on_their_own_is_left_out() -> None:
    # 100 replies: 1 of 100 may speak of tea, 2 of 100 of coffee are too many.
    replies = ["We had tea.", "Coffee is fine.", "More coffee please."]
    replies += [f"It was calm on day {n}." for n in range(97)]
    found = find_triggers([entry("tea", "tea"), entry("coffee", "coffee")], replies)
    assert found.left_out == ("x.coffee",)
    assert [e.id for e in found.entries] == ["x.tea"]
    assert found.as_dict() == {
        "num_entries": 1,
        "num_left_out": 1,
        "left_out": ["x.coffee"],
        "num_ordinary_replies": 100 + len(ORDINARY),
    }


def test_replies_that_are_judged_on_plain_dialogues_do_not_choose_the_entries() -> None:
    dialogues = [dialogue(n, 3) for n in range(2)]
    cases = [Case("plain-0000", dialogues[0], None, None)]
    found = own_replies(dialogues, cases, (1, 3))
    assert sorted(found) == sorted([dialogues[0].replies[1], *dialogues[1].replies])
    assert found == own_replies(dialogues, cases, (1, 3))
    many = [dialogue(n, 20) for n in range(20)]
    assert len(own_replies(many, [], ())) == MOST_REPLIES
