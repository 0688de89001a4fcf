"""What is in force at which turn, and changes that cannot be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gatt.data.instruction import combine
from gatt.data.switches import Switch, check_switches, ended, in_force, on_turns, texts_in_force
from gatt.errors import DataError
from tests.support.runs.switched import cancel, hobby, to

TENNIS, CHESS = hobby("tennis"), hobby("chess")
BOTH = combine(TENNIS, CHESS)
ADD = Switch(3, "add", "user", "Also: You enjoy chess.", BOTH)


def test_in_force_changes_at_the_turn_itself() -> None:
    switches = (to("chess", 3), cancel(5))
    assert [in_force(TENNIS, switches, t) for t in range(1, 7)] == [
        TENNIS, TENNIS, hobby("chess"), hobby("chess"), None, None,
    ]  # fmt: skip
    texts = texts_in_force(TENNIS.text, switches, 5)
    assert texts == ("You enjoy tennis.",) * 2 + ("You enjoy chess.",) * 2 + (None,)
    assert texts_in_force(None, (), 2) == (None, None)


def test_added_holds_with_the_first() -> None:
    held = in_force(TENNIS, (ADD,), 3)
    assert (held.text, held.entries) == (
        "You enjoy tennis. You enjoy chess.",
        ("hobby.tennis", "hobby.chess"),
    )
    assert held.verifiers == TENNIS.verifiers + CHESS.verifiers
    assert held.probes == TENNIS.probes + CHESS.probes


@pytest.mark.parametrize(
    ("switches", "expected"),
    [
        ((ADD,), [None, None, None, None]),
        ((to("chess", 2), cancel(4)), [None, TENNIS, TENNIS, CHESS]),
        ((cancel(2), Switch(3, "add", "user", "Do: chess.", CHESS)), [None, TENNIS, TENNIS, TENNIS]),
        ((ADD, cancel(4)), [None, None, None, BOTH]),
    ],
)  # fmt: skip
def test_ended_is_what_the_last_replace_or_cancel_took_away(switches, expected) -> None:
    assert [ended(TENNIS, switches, t) for t in range(1, 5)] == expected


def test_turns_are_counted_anew_where_some_are_left_out() -> None:
    switches = (to("chess", 4), cancel(6))
    assert on_turns(switches, (1, 4, 5, 6)) == (to("chess", 2), cancel(4))
    assert on_turns(switches, (1, 4, 5)) == (to("chess", 2),)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cancel(1), "switch at turn 1: expected a turn from 2 on, turn 1 holds the first"),
        (
            lambda: replace(cancel(3), kind="swap"),  # type: ignore[arg-type]
            "switch at turn 3: unknown kind 'swap': expected one of replace, add, cancel",
        ),
        (lambda: cancel(3, "tool"), "switch at turn 3: unknown place 'tool': expected one of user, system"),
        (lambda: replace(cancel(3), text=" "), "text is ' ': expected the words that announce it"),
        (
            lambda: Switch(3, "replace", "user", "Now:", None),
            "switch at turn 3: 'replace' without instruction: expected what holds then",
        ),
    ],
)  # fmt: skip
def test_a_change_that_cannot_be_is_one_line(make, message) -> None:
    with pytest.raises(DataError, match=message):
        make()


@pytest.mark.parametrize(
    ("first", "switches", "message"),
    [
        (
            TENNIS,
            [cancel(6)],
            "sample 's': switch at turn 6, but the dialogue has 5 turns: expected a turn from 2 to 5",
        ),
        (
            None,
            [cancel(3)],
            "sample 's': switch at turn 3: 'cancel' of an instruction that was never given: expected",
        ),
        (TENNIS, [cancel(2), to("chess", 3)], "'replace' of an instruction that was never given"),
        (TENNIS, [to("chess", 3), cancel(3)], "turn 3 behind one at turn 3: expected rising turns"),
    ],
)
def test_changes_that_do_not_fit_their_dialogue_are_one_line(first, switches, message) -> None:
    with pytest.raises(DataError, match=message):
        check_switches("sample 's'", first, switches, 5)
    # Adding to nothing gives an instruction.
    check_switches("s", None, [replace(ADD, instruction=CHESS)], 5)
