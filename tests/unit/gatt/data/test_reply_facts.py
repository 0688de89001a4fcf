"""Numbers, names, links and codes of replies: what is found, kept, lost and added."""

from __future__ import annotations

import pytest

from gatt.data.answers import answers
from gatt.data.reply_facts import added_fact, expectation_of, facts_of, lost_fact


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Send them back within 30 days, see shop.example/returns.", ["shop.example/returns", "30"]),
        ("Order BF-2041 left with DHL.", ["BF-2041", "DHL"]),
        ("It costs 129.90 euros at 9:30 on the 8th, Anna.", ["129.90", "9:30", "8th", "Anna"]),
        ("Write to help@shop.example at 5 p.m., e.g. tomorrow.", ["help@shop.example", "5"]),
        ("Of course, one of them is thirty (30) centimetres long.", ["thirty"]),
        ("1. Wash it.\n2. Dry it.", []),
        ("The GoreTex shell is ours. By the way, Yes is a word.", ["GoreTex"]),
        ("Das Zelt kommt am Montag mit der Post ins Haus.", []),
    ],
)  # fmt: skip
def test_facts_of_a_reply(reply, expected) -> None:
    assert [fact.text for fact in facts_of(reply)] == expected


@pytest.mark.parametrize(
    ("rewritten", "is_translated", "lost"),
    [
        ("Anna, you have thirty days until Monday.", False, None),
        ("You have a while, Anna, until Monday.", False, "30"),
        ("Vous avez trente jours, Anna, jusqu'à lundi.", True, None),
        ("Vous avez du temps, Anna, jusqu'à lundi.", True, "30"),
    ],
)
def test_a_rewritten_reply_holds_every_fact(rewritten, is_translated, lost) -> None:
    found = lost_fact(
        "You have 30 days, Anna, until Monday.", rewritten, is_translated=is_translated
    )
    assert (found and found.text) == lost


def test_a_rewritten_reply_adds_no_fact() -> None:
    given = ["You have 30 days.", "Can I send order BF-1 back, it is from Munich?"]
    for text, added in (
        ("Thirty days from Munich for BF-1.", None),
        ("You have 30 days, or 60 for members.", "60"),
        ("You have 30 days at Kaufhaus.", "Kaufhaus"),
    ):
        found = added_fact(text, given, has_names=True)
        assert (found and found.text) == added
    assert added_fact("Du hast 30 Stunden im Laden.", given, has_names=False) is None


@pytest.mark.parametrize(
    ("own", "good", "bad"),
    [
        ("Delivery takes 3 to 5 days.", "It takes three to five days.", "It takes 2 weeks."),
        ("See shop.example/returns.", "Look at shop.example/returns.", "Look at our page."),
        ("BF-2041 is with DHL.", "DHL has BF-2041.", "DHL has BF-2040."),
    ],
)
def test_what_is_expected_passes_in_other_words(own, good, bad) -> None:
    expect = expectation_of(own, facts_of(own))
    assert expect is not None
    for reply, status in ((own, "pass"), (good, "pass"), (bad, "fail")):
        assert answers(expect, reply, "And what now?").status == status


def test_a_fact_that_the_reply_denies_is_not_asked_for() -> None:
    own = "It is not blue, and not from Munich."
    assert expectation_of(own, facts_of(own)) is None
