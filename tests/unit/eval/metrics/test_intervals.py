"""Intervals of rates; paired differences with their exact test."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import stdtrit

from eval.metrics.intervals import (
    MIN_INSTRUCTIONS,
    Ways,
    crossed_interval,
    effective_size,
    inflation,
    wilson_from_rate,
    wilson_interval,
)
from eval.metrics.paired import Difference, differences, sign_flip_p_value
from eval.records.samples import Sample
from tests.support.runs.fake_samples import instruction, sample

CLUSTERS = st.lists(
    st.integers(1, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=1,
    max_size=40,
)


def ways(dialogues: list[int], instructions: list[int]) -> Ways:
    dialogue, instruction = np.array(dialogues), np.array(instructions)
    return Ways(dialogue, instruction, dialogue * 1000 + instruction)


def clustered(clusters: list[tuple[int, int]]) -> tuple[float, float]:
    """Return the interval over dialogues alone: (successes, total) of each."""
    passed = [value for s, n in clusters for value in (1.0,) * s + (0.0,) * (n - s)]
    dialogues = [d for d, (_, n) in enumerate(clusters) for _ in range(n)]
    return crossed_interval(np.array(passed), ways(dialogues, [0] * len(dialogues)))


@pytest.mark.parametrize(
    ("successes", "total", "low", "high"),
    [
        # z² = 3.841459. 0 of 16: high = z² / (n + z²) = 3.841459 / 19.841459.
        (0, 16, 0.0, 0.193608),
        # Newcombe 1998 (Statistics in Medicine 17:857), table I, method 3: 81/263 and 15/148.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        # Nothing measured leaves everything possible.
        (0, 0, 0.0, 1.0),
    ],
)
def test_wilson_matches_the_arithmetic(successes: int, total: int, low: float, high: float) -> None:
    assert wilson_interval(successes, total) == pytest.approx((low, high), abs=5e-5)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=60))
def test_one_reply_a_dialogue_and_instruction_is_plain_wilson(replies: list[int]) -> None:
    codes = list(range(len(replies)))
    found = crossed_interval(np.array(replies, dtype=float), ways(codes, codes))
    assert found == pytest.approx(wilson_interval(sum(replies), len(replies)), abs=1e-12)


@given(CLUSTERS)
def test_the_interval_holds_the_rate_and_is_never_narrower_than_wilson(clusters) -> None:
    passes, total = sum(s for s, _ in clusters), sum(n for _, n in clusters)
    low, high = clustered(clusters)
    plain_low, plain_high = wilson_interval(passes, total)
    assert 0 <= low <= passes / total <= high <= 1
    if len(clusters) == 1:
        # One dialogue is worth one reply.
        assert (low, high) == wilson_from_rate(passes / total, 1)
    assert low <= plain_low + 1e-12
    assert high >= plain_high - 1e-12
    assert high - low > 0.01


def test_the_inflation_matches_the_arithmetic() -> None:
    # Four dialogues of 2 replies: 2, 2, 0, 1 passes. The pseudo-groups weigh 0.1 each, of mean
    # size: weight 1 + 0.2 / 4 = 1.05, rate (5/8 + 0.1/4) / 1.05 = 13/21.
    # Residuals s - 2 * 13/21: 16/21, 16/21, -26/21, -5/21; squares sum to 1213/441, over 8².
    # Pseudo: 0.1 / 4² * ((8/21)² + (13/21)²) = 0.00625 * 233/441.
    # Grouped: 4.2/3.2 * (1213/441/64 + 0.00625 * 233/441) / 1.05² = 0.0550950.
    # Independent: 13/21 * 8/21 / (8 * 1.05 - 1) = 0.0318686. Ratio 1.728816.
    passed = np.array([1, 1, 1, 1, 0, 0, 1, 0], dtype=float)
    dialogues = np.repeat(np.arange(4), 2)
    found, num = inflation(passed, dialogues)
    assert (found, num) == (pytest.approx(1.728816, abs=1e-6), 4)
    # Satterthwaite: 1.728816² / (1/7 + 0.728816²/3) = 9.34, more than the 7 of 8 replies: no price.
    clusters = [(2, 2), (2, 2), (0, 2), (1, 2)]
    assert clustered(clusters) == pytest.approx(wilson_from_rate(5 / 8, 8 / 1.728816))


def test_few_dialogues_pay_for_a_variance_that_they_estimate() -> None:
    # Four dialogues of 10 replies that all agree: rate 1/2, weight 1.05, residuals ±5 of 40.
    # Grouped: 4.2/3.2 * (4/64 + 0.1/16/2) / 1.05² = 0.0781250; independent: 0.25 / 41 = 0.00609756.
    # Ratio 12.8125; degrees 12.8125² / (1/39 + 11.8125²/3) = 3.527, so 3.
    # 40 / 12.8125 * (t39 / t3)² = 3.121951 * (2.022691 / 3.182446)².
    measured = np.repeat([1.0, 0.0, 1.0, 0.0], 10)
    where = ways(np.repeat(np.arange(4), 10).tolist(), [0] * 40)
    assert inflation(measured, where.dialogue)[0] == pytest.approx(12.8125, abs=1e-9)
    assert effective_size(measured, where) == pytest.approx(1.261130, abs=1e-5)


def test_instructions_that_cross_the_dialogues_widen_the_interval() -> None:
    # 20 dialogues of one reply, 10 instructions of two that agree, 5 pass: D = C = 1.
    # I: residuals ±1/20, weight 1.02; 10.2/9.2 * (10/400 + 0.1/100/2) / 1.02² = 0.0271740,
    # independent 0.25 / (20.4 - 1) = 0.0128866, ratio 2.108696.
    # Degrees: 2.108696² / (1/19 + 1.108696²/9) = 23.5, more than 19: no price.
    passed = np.repeat([1.0, 0.0] * 5, 2)
    where = ways(list(range(20)), np.repeat(np.arange(10), 2).tolist())
    found = effective_size(passed, where)
    assert found == pytest.approx(20 / 2.108696, abs=1e-5)
    assert crossed_interval(passed, where) == wilson_from_rate(0.5, found)


def test_fewer_instructions_than_a_sample_of_them_are_taken_as_given() -> None:
    num = MIN_INSTRUCTIONS - 1
    passed = np.repeat([1.0, 0.0, 1.0], [2 * num // 3 * 2, 2, 2 * num - 2 * num // 3 * 2 - 2])
    where = ways(list(range(len(passed))), (np.arange(len(passed)) // 2).tolist())
    expected = wilson_interval(int(passed.sum()), len(passed))
    assert crossed_interval(passed, where) == pytest.approx(expected, abs=1e-12)


def test_cases_of_a_dialogue_and_of_an_instruction_add_up_two_ways() -> None:
    # 8 dialogues, each under every one of 12 instructions; 6 instructions pass, whatever the
    # dialogue. C = 1. I: residuals ±4/96, weight 1 + 0.2/12; 12.2/11.2 * (12 * (4/96)² + 0.1/288)
    # / weight² = 0.0223214, independent 0.25 / (96 * weight - 1) = 0.0025880; ratio 8.625.
    # Each dialogue has the same rate: D is below 1, and the inflation I alone.
    # Degrees: 8.625² / (1/95 + 7.625²/11) = 14.05, so 14.
    where = ways(np.repeat(np.arange(8), 12).tolist(), list(range(12)) * 8)
    measured = np.array([1.0, 0.0] * 48)
    assert inflation(measured, where.instruction)[0] == pytest.approx(8.625, abs=1e-9)
    assert inflation(measured, where.dialogue)[0] < 1
    expected = 96 / 8.625 * (stdtrit(95, 0.975) / stdtrit(14, 0.975)) ** 2
    assert effective_size(measured, where) == pytest.approx(expected, rel=1e-4)


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
        d for d in differences(samples) if (d.metric, d.split, d.turn) == ("keeps", "train", turn)
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
