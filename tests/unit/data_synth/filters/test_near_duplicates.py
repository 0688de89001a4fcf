"""Targets that come again within a sample."""

from __future__ import annotations

import pytest

from data_synth.filters.config import QualityConfig
from data_synth.filters.near_duplicates import SampleTargets, character_grams, is_near

FIONA = "I'm Fiona, 51, a skilled bagpipe maker from Edinburgh."


def taken(*texts: str, own_words: tuple[str, ...] = (), **settings: object) -> list[bool]:
    targets = SampleTargets(QualityConfig(**settings), own_words)
    return [targets.take(text) for text in texts]


@pytest.mark.parametrize(
    "again",
    [
        FIONA,
        FIONA.upper(),
        "I'm Fiona 51 a skilled bagpipe maker from Edinburgh",
        "I'm Fiona, 52, a skilled bagpipe maker from Edinburgh!",
    ],
)
def test_nearly_the_same_is_taken_once(again) -> None:
    assert taken(FIONA, again) == [True, False]


@pytest.mark.parametrize(
    "other",
    ["I carve chanters in a cellar near the castle.", "I'm Fiona, and I have lived here for long."],
)
def test_another_reply_is_taken(other) -> None:
    assert taken(FIONA, other) == [True, True]


def test_a_repeat_is_found_however_far_back() -> None:
    between = [f"Number {n} is what {n * 7919} people asked for {n * n} times." for n in range(20)]
    assert taken(FIONA, *between, FIONA)[-1] is False


def test_short_replies_may_come_twice_and_each_on_its_own() -> None:
    assert taken(*["Of course."] * 3, "I agree.") == [True, True, False, True]
    assert taken("是的。", "是的！", "是的") == [True, True, False]


def test_the_settings_decide() -> None:
    assert taken("Of course.", "Of course.", short_repeats=1) == [True, False]
    assert taken("Of course.", "Of course.", short_words=0) == [True, False]
    assert taken(FIONA, FIONA, near_duplicate=None) == [True, True]
    close = FIONA.replace("skilled", "humble")
    assert taken(FIONA, close, near_duplicate=1.0) == [True, True]
    assert taken(FIONA, close, near_duplicate=0.5) == [True, False]


def test_what_the_instruction_prescribes_is_left_out() -> None:
    thanks = "Thank you for choosing our shop for all that you need."
    texts = (f"It rains a lot. {thanks}", f"My cat is asleep. {thanks}")
    assert taken(*texts, near_duplicate=0.5) == [True, False]
    assert taken(*texts, own_words=(thanks,), near_duplicate=0.5) == [True, True]
    assert taken(thanks, thanks.upper(), own_words=(thanks,)) == [True, False]


def test_the_jaccard_index_by_hand() -> None:
    # abcd bcde cdef | abcd bcde cdeg: 2 of 4 in common.
    a, b = character_grams("abcdef"), character_grams("abcdeg")
    assert is_near(a, b, 0.5)
    assert not is_near(a, b, 0.51)
    assert character_grams("ab") == {"ab"}
