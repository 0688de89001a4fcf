"""Which rows are decoded together: within both limits, and each prefix from its front to its end."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gatt.generation.base import GenerationRequest
from gatt.generation.local.batching import (
    Group,
    Row,
    like_lengths,
    plan_batches,
    plan_groups,
    prefilled_together,
)

TRUNK = tuple(range(2000))


def row(index: int, fork: int, own: int = 0, group: str = "g", *, is_aside: bool = False) -> Row:
    """Return a row that shares `fork` tokens with the trunk and adds others."""
    request = GenerationRequest(f"{group}/{index}", (), group, is_aside=is_aside)
    prompt = TRUNK[:fork] + tuple(10_000 * (index + 1) + i for i in range(own))
    return Row(index, request, prompt)


def held(batch: Sequence[Group], new: int) -> int:
    """Return the tokens that a batch needs room for, from its rows alone.

    Of each dialogue's prefix what its rows see, once, and those of like lengths a second
    time side by side; and for every row as much as the longest adds to it: what stands
    behind its fork, a token more for a prompt whose end was encoded before, and the reply.
    """
    rows = [r for group in batch for r in group.rows]
    if not batch[0].name:
        return len(rows) * (max(len(r.prompt) for r in rows) + new)
    reaches = [max(r.fork for r in group.rows) for group in batch]
    copies = [[reaches[i] for i in part] for part in like_lengths(reaches) if len(part) > 1]
    shared = sum(reaches) + sum(len(part) * max(part) for part in copies)
    return shared + len(rows) * (1 + max(len(r.prompt) - r.fork for r in rows) + new)


def planned(
    rows: Sequence[Row], *, max_rows: int = 64, max_cache_tokens: int = 10_000, new: int = 50
) -> list[list[Group]]:
    batches = plan_batches(
        plan_groups(rows), max_rows=max_rows, max_cache_tokens=max_cache_tokens, max_new_tokens=new
    )
    return list(batches)


def indices(batches: Sequence[Sequence[Group]]) -> list[list[int]]:
    return [[r.index for group in batch for r in group.rows] for batch in batches]


def flat(batches: Sequence[Sequence[Group]]) -> list[int]:
    return [index for batch in indices(batches) for index in batch]


def test_one_dialogue_of_many_turns_is_cut_to_the_memory() -> None:
    rows = [row(i, 50 * (i + 1)) for i in range(20)]
    # 1,000 tokens of prefix and 20 rows of 51: more than half of it must wait.
    assert held(plan_groups(rows), 50) == 2020
    batches = planned(rows, max_cache_tokens=1200)
    assert flat(batches) == list(range(20))
    assert [held(batch, 50) <= 1200 for batch in batches] == [True] * len(batches)
    # Eleven rows read 550 tokens of the prefix: 550 + 11 * 51 = 1,111; twelve would hold 1,212.
    assert len(batches[0][0].rows) == 11


def test_the_row_that_a_roll_out_goes_on_from_comes_last() -> None:
    rows = [row(0, 300), *(row(i, 300, 5, is_aside=True) for i in (1, 2, 3))]
    batches = planned(rows, max_rows=2)
    assert indices(batches) == [[1, 2], [3, 0]]
    assert [batch[0].continued for batch in batches] == [None, rows[0]]


def test_a_probe_that_reads_far_beyond_the_turns_is_what_the_others_share() -> None:
    rows = [row(0, 300), *(row(i, 100 * i, 8, is_aside=True) for i in (1, 6, 9))]
    (group,) = plan_groups(rows)
    assert len(group.prefix) == 908
    # No row's suffix is longer than its question, so that little is padded.
    assert [len(r.suffix) for r in group.rows] == [0, 8, 8, 0]


@pytest.mark.parametrize("question", [8, 60, 200])
def test_a_probe_in_place_of_the_turn_leaves_the_reply_to_be_read_again(question: int) -> None:
    rows = [row(0, 300, 5), row(1, 295, question, is_aside=True)]
    (group,) = plan_groups(rows)
    assert group.continued is rows[0]


def test_a_long_probe_of_another_start_takes_nobody_out_of_the_group() -> None:
    rows = [row(0, 400), row(1, 600), row(2, 900), row(3, 5, 1100, is_aside=True)]
    assert [[r.index for r in group.rows] for group in plan_groups(rows)] == [[3], [0, 1, 2]]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["", "a", "b", "c"]), st.integers(1, 400), st.integers(0, 90),
                  st.booleans()),
        min_size=1, max_size=40,
    ),
    max_rows=st.integers(1, 12),
    max_cache_tokens=st.integers(1, 3000),
    new=st.integers(1, 60),
)  # fmt: skip
def test_any_plan_keeps_both_limits_and_loses_no_row(
    rows: list[tuple[str, int, int, bool]], max_rows: int, max_cache_tokens: int, new: int
) -> None:
    made = [
        row(i, fork, own, group, is_aside=is_aside)
        for i, (group, fork, own, is_aside) in enumerate(rows)
    ]
    batches = planned(made, max_rows=max_rows, max_cache_tokens=max_cache_tokens, new=new)
    assert sorted(flat(batches)) == list(range(len(made)))
    reached: dict[str, int] = {}
    for batch in batches:
        num_rows = sum(len(group.rows) for group in batch)
        assert num_rows <= max_rows
        assert num_rows == 1 or held(batch, new) <= max_cache_tokens
        names = [group.name for group in batch if group.name]
        assert len(set(names)) == len(names)
        assert len(names) in (0, len(batch))
        for group in batch:
            if group.name:
                assert reached.get(group.name, 0) <= min(r.fork for r in group.rows)
                reached[group.name] = group.reach
                assert group.reach <= len(group.prefix)


def test_rows_are_encoded_together_as_far_as_their_scores_fit() -> None:
    lengths, forks = [100] * 9, [900] * 9
    assert list(prefilled_together(lengths, forks, None)) == [list(range(9))]
    parts = list(prefilled_together(lengths, forks, 2 * 100 * 1000 + 99))
    assert [len(part) for part in parts] == [2, 2, 2, 2, 1]
    assert sorted(i for part in parts for i in part) == list(range(9))
    # One is encoded whatever it takes.
    assert list(prefilled_together([100], [900], 1)) == [[0]]
