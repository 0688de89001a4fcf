"""Paired differences: arithmetic, and the exact test."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.metrics.intervals import Ways
from eval.metrics.paired import Difference, differences, sign_flip_p_value
from eval.records.samples import Sample
from tests.support.runs.fake_samples import instruction, sample


def paired(num: int, passes: int, turn: int = 1) -> list[Sample]:
    """GAtt passes in the first `passes` of `num` dialogues, the base model never."""
    return [
        sample(
            dialogue=f"d{n}",
            turn=turn,
            arm=arm,
            status="pass" if arm == "gatt" and n < passes else "fail",
        )
        for n in range(num)
        for arm in ("base", "gatt")
    ]


def one(samples: list[Sample], turn: int | None = 1) -> Difference:
    (found,) = [
        d
        for d in differences(samples)
        if (d.metric, d.split, d.turn) == ("adherence", "train", turn)
    ]
    return found


def by_dialogue(dialogues: list[int]) -> Ways:
    codes = np.array(dialogues)
    return Ways(codes, np.zeros_like(codes), codes)


def test_the_paired_difference_matches_the_arithmetic() -> None:
    # 12 of 16 against 0 of 16, one pair a dialogue. Agresti and Min: 18 pairs, difference 12/18,
    # squares 13/18, error sqrt((13/18 - 4/9) / 18) = 0.1242260, times 1.959964 = 0.2434785.
    found = one(paired(16, 12))
    assert found.difference == 0.75
    assert (found.low, found.high) == pytest.approx((2 / 3 - 0.2434785, 2 / 3 + 0.2434785))
    assert one(paired(4, 4)).high == 1
    # McNemar: 12 of 12 discordant pairs for GAtt, 2 * 0.5**12.
    assert found.p_value == pytest.approx(2 * 0.5**12, rel=1e-9)
    assert (found.arm, found.baseline, found.num_dialogues, found.num_pairs) == (
        "gatt", "base", 16, 16,
    )  # fmt: skip


def test_replies_to_other_words_are_no_pair() -> None:
    """Cases of two files may have the same ids."""
    both = paired(6, 6)
    told = replace(both[0].instruction, text="Other.")
    for change in ({"user": "Something else?"}, {"instruction": told}):
        others = [replace(s, **change) if s.arm == "base" else s for s in both]
        assert differences(others) == []
    assert differences(both)


def test_only_replies_that_both_arms_have_decided_are_compared() -> None:
    made = [
        *paired(2, 1),
        sample(dialogue="d9", arm="gatt", status="pass"),
        sample(dialogue="d8", arm="gatt", status="pass"),
        sample(dialogue="d8", arm="base", status="undecided"),
        # The same dialogue under another instruction is another case.
        sample(dialogue="d1", arm="gatt", instruction=instruction("language", "Polish")),
    ]
    found = one(made)
    assert (found.difference, found.num_dialogues, found.num_pairs) == (0.5, 2, 2)


def test_all_turns_together_are_one_test_over_dialogues() -> None:
    # 12 of 16 dialogues gain at turn 1, the first 6 of them at turn 2 too, none at turn 3.
    made = [*paired(16, 12), *paired(16, 6, turn=2), *paired(16, 0, turn=3)]
    whole = one(made, None)
    assert (whole.difference, whole.num_dialogues, whole.num_pairs) == (18 / 48, 16, 48)
    # Every sign of twelve sums has to be the same: pairs of a dialogue are not tossed one by one.
    assert whole.p_value == pytest.approx(2 * 0.5**12)
    assert whole.low < whole.difference < whole.high
    # A curve of one turn has no difference over all of them, one without the baseline none at all.
    assert {d.turn for d in differences(paired(16, 12))} == {1}
    assert differences([sample(arm="gatt")]) == []
    # A turn more at which nothing differs is more replies, and no more evidence.
    longer = one([*made, *paired(16, 0, turn=4)], None)
    assert (longer.difference, longer.p_value) == (18 / 64, whole.p_value)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(-1, 1)), min_size=1, max_size=40))
def test_the_test_counts_every_pattern_of_signs(pairs: list[tuple[int, int]]) -> None:
    sums = [0] * 8
    for dialogue, value in pairs:
        sums[dialogue] += value
    patterns = [
        abs(sum(s * d for s, d in zip(signs, sums, strict=True)))
        for signs in itertools.product((-1, 1), repeat=8)
    ]
    expected = sum(p >= abs(sum(sums)) for p in patterns) / len(patterns)
    found = sign_flip_p_value(np.array([v for _, v in pairs]), by_dialogue([d for d, _ in pairs]))
    assert found == pytest.approx(expected, abs=1e-9)


def test_a_gain_on_few_of_many_instructions_is_no_gain_over_instructions() -> None:
    # 12 instructions, 10 dialogues each: one instruction gains in all of its dialogues, the rest
    # are as before. Over dialogues 10 of 10; over instructions 1 of 1, whose p-value is 1.
    values = np.array([1] * 10 + [0] * 110)
    codes = np.arange(120)
    ways = Ways(codes, codes // 10, codes)
    assert sign_flip_p_value(values, by_dialogue(codes.tolist())) == pytest.approx(2 * 0.5**10)
    assert sign_flip_p_value(values, ways) == 1.0
    # Nine instructions are taken as given.
    few = Ways(codes, np.minimum(codes // 10, 8), codes)
    assert sign_flip_p_value(values, few) == pytest.approx(2 * 0.5**10)
