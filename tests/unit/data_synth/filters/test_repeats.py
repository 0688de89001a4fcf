"""Targets that several samples of one instruction share, counted in bounded memory."""

from __future__ import annotations

import sys
from dataclasses import replace

from data_synth.filters.repeats import NUM_BITS, RepeatCounter
from gatt.data.instruction import Instruction
from gatt.data.sample import GattSample, TurnTarget
from tests.support.runs.stages import dialogue
from tests.support.runs.switched import hobby

TENNIS = hobby("tennis", verifiers=())


def sample(*replies: str | None, instruction: Instruction | None = TENNIS) -> GattSample:
    targets = tuple(
        TurnTarget(n, reply, None if reply else "cut") for n, reply in enumerate(replies, 1)
    )
    return GattSample("s", dialogue(0, len(replies)), instruction, targets)


def counted(*samples: GattSample) -> tuple[int, int]:
    counter = RepeatCounter()
    for one in samples:
        counter.add(one)
    return counter.num_repeats, counter.num_targets


def test_the_same_words_in_another_sample_count() -> None:
    first = sample("I love tennis!", "It rains.", None)
    assert counted(first, sample("i love TENNIS", "It snows.")) == (1, 4)
    assert counted(first, first) == (2, 4)


def test_within_a_sample_and_under_another_instruction_they_do_not() -> None:
    first = sample("I love tennis!", "I love tennis.")
    assert counted(first) == (0, 2)
    other = replace(TENNIS, id="hobby.golf")
    assert counted(first, sample("I love tennis!", instruction=other)) == (0, 3)
    assert counted(first, sample("I love tennis!", instruction=None)) == (0, 3)
    assert counted(first, first) == (1, 4)


def test_share_and_memory_are_bounded() -> None:
    counter = RepeatCounter()
    assert counter.share == 0.0
    for number in range(300):
        counter.add(sample(f"Number {number}."))
    counter.add(sample("Number 7."))
    assert counter.num_repeats == 1
    assert counter.share == 1 / 301
    assert sys.getsizeof(counter._bits) < NUM_BITS // 8 + 100
