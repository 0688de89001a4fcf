"""Rows that are packed by themselves: how long they are, and how many make a step."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from gatt.comb.attention.lengths import MOST_PACKED, kernel_lengths, padded_length
from gatt.train.config import TrainConfig
from gatt.train.data import packing
from gatt.train.data.packing import is_packed, packed_rows


def config(**settings: Any) -> TrainConfig:
    return TrainConfig(samples=(Path("s.jsonl"),), output_dir=Path("out"), **settings)


@pytest.mark.parametrize(
    ("settings", "on_cuda", "on_cpu"),
    [
        ({}, True, False),
        ({"per_device_train_batch_size": 2}, False, False),
        ({"pack_rows": True}, True, True),
        ({"pack_rows": False}, False, False),
    ],
)
def test_rows_are_packed_on_cuda_unless_the_user_says_otherwise(
    monkeypatch: Any, settings: dict[str, Any], on_cuda: bool, on_cpu: bool
) -> None:
    for is_cuda, expected in ((True, on_cuda), (False, on_cpu)):
        monkeypatch.setattr(packing, "trains_on_cuda", lambda is_cuda=is_cuda: is_cuda)
        assert is_packed(config(**settings)) is expected


@pytest.mark.parametrize(
    ("lengths", "settings", "rows", "a_step"),
    [
        # Eight of 1,000 tokens: four rows of two, and so four rows a step for its eight dialogues.
        ([1000] * 8, {"max_tokens_per_row": 2048}, 4, 4),
        # A step of two of 1,000: one row holds both, though 8,192 tokens had room for all.
        ([1000] * 8, {"gradient_accumulation_steps": 2}, 4, 1),
        # One of 100 a step: the longest sets the limit.
        ([100, 100, 100, 300], {"gradient_accumulation_steps": 1}, 2, 1),
        # Asked for, a row takes what fits, and a step its eight rows.
        ([1000] * 8, {"pack_rows": True, "max_tokens_per_row": 8192}, 1, 8),
    ],
)
def test_a_step_keeps_its_dialogues(lengths, settings, rows, a_step) -> None:
    found, of_a_step = packed_rows(lengths, config(**settings))
    assert (len(found), of_a_step) == (rows, a_step)
    assert sorted(n for row in found for n in row) == list(range(len(lengths)))


def test_sixty_dialogues_meet_two_shapes_with_little_filling() -> None:
    rng = random.Random(0)
    lengths = [rng.randint(150, 2000) for _ in range(60)]
    rows, a_step = packed_rows(lengths, config())
    sizes = [sum(lengths[n] for n in row) for row in rows]
    shapes = [padded_length(size, kernel_lengths(sizes, MOST_PACKED)) for size in sizes]
    assert len(set(shapes)) <= MOST_PACKED
    assert sum(shapes) < 1.1 * sum(sizes)
    # 6.7 dialogues a step for 8, the nearest that whole rows allow.
    assert (len(rows), a_step) == (9, 1)
