"""What a change of the instruction has ended, and which replies still follow it."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from gatt.data.catalog.ordinary_replies import is_ordinary
from gatt.data.catalog.read import load_catalog
from gatt.data.catalog.switch_leakage import ended_rules, leak_status
from gatt.data.instruction import combine, compose
from gatt.data.switches import Switch
from gatt.verifiers.spec import VerifierSpec
from tests.support.runs.switched import cancel, hobby, to

TENNIS, CHESS = hobby("tennis"), hobby("chess")
BOTH = combine(TENNIS, CHESS)


def test_nothing_leaks_before_a_change_after_an_addition_and_once_it_holds_again() -> None:
    assert ended_rules(TENNIS, (cancel(4),), 3) == ()
    assert ended_rules(TENNIS, (Switch(2, "add", "user", "Also", BOTH),), 3) == ()
    assert leak_status((), "Tennis!") is None
    changes = (cancel(4), Switch(8, "add", "user", "Also: You enjoy tennis.", TENNIS))
    assert ended_rules(TENNIS, changes, 7) == (TENNIS.verifiers,)
    assert ended_rules(TENNIS, changes, 8) == ()
    # Of two, the one that stays away can.
    assert ended_rules(BOTH, changes, 8) == (CHESS.verifiers,)


def test_one_entry_of_a_combination_is_enough() -> None:
    rules = ended_rules(BOTH, (cancel(2),), 2)
    assert leak_status(rules, "Chess!") == leak_status(rules, "I play tennis.") == "pass"
    assert leak_status(rules, "Bread and butter.") == "fail"
    assert leak_status(ended_rules(TENNIS, (to("chess"),), 2), "Chess!") == "fail"


def test_rules_that_no_entry_has_alone_stand_together() -> None:
    """Three rules of two entries: which has two is not kept."""
    three = replace(BOTH, verifiers=(*BOTH.verifiers, VerifierSpec("terms", {"any_of": ["go"]})))
    assert three.rules == (three.verifiers,)
    rules = ended_rules(three, (cancel(2),), 2)
    assert leak_status(rules, "Chess!") == "fail"
    assert leak_status(rules, "Chess, tennis, go.") == "pass"


def test_what_ordinary_replies_follow_cannot_leak() -> None:
    catalog = load_catalog()
    ordinary = compose([catalog.entry("format.no_digits")], Random(0))
    assert is_ordinary(ordinary.verifiers)
    assert not is_ordinary(TENNIS.verifiers)
    assert not is_ordinary(())
    assert ended_rules(ordinary, (cancel(2),), 2) == ()
    assert ended_rules(combine(TENNIS, ordinary), (cancel(2),), 2) == (TENNIS.verifiers,)
    # What no rule covers is undecided.
    bare = hobby("tennis", verifiers=())
    assert leak_status(ended_rules(bare, (cancel(2),), 2), "Tennis!") == "undecided"
