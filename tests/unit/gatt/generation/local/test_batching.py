"""Which rows are decoded together: within both limits, and every prefix is read once with little beside."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gatt.generation.base import GenerationRequest
from gatt.generation.local.batching import (
    Group,
    RunningRequest,
    like_lengths,
    plan_batches,
    plan_groups,
    prefilled_together,
)
from gatt.generation.local.prefix.cache import MOST_IDLE, _products

TRUNK = tuple(range(2000))


def row(
    index: int, fork: int, own: int = 0, group: str = "g", *, is_aside: bool = False
) -> RunningRequest:
    """Return a row that shares `fork` tokens with the trunk and adds others."""
    request = GenerationRequest(f"{group}/{index}", (), group, is_aside=is_aside)
    prompt = TRUNK[:fork] + tuple(10_000 * (index + 1) + i for i in range(own))
    return RunningRequest(index, request, prompt)


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
    rows: Sequence[RunningRequest],
    *,
    max_rows: int = 64,
    max_cache_tokens: int = 10_000,
    new: int = 50,
) -> list[list[Group]]:
    batches = plan_batches(
        plan_groups(rows), max_rows=max_rows, max_cache_tokens=max_cache_tokens, max_new_tokens=new
    )
    return list(batches)


def indices(batches: Sequence[Sequence[Group]]) -> list[list[int]]:
    return [[r.index for group in batch for r in group.rows] for batch in batches]


def flat(batches: Sequence[Sequence[Group]]) -> list[int]:
    return [index for batch in indices(batches) for index in batch]


def test_the_row_that_a_roll_out_goes_on_from_comes_last() -> None:
    rows = [row(0, 300), *(row(i, 300, 5, is_aside=True) for i in (1, 2, 3))]
    batches = planned(rows, max_rows=2)
    assert indices(batches) == [[1, 2], [3, 0]]
    assert [batch[0].continued for batch in batches] == [None, rows[0]]


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
def test_any_plan_keeps_both_limits_and_loses_no_row(rows, max_rows, max_cache_tokens, new) -> None:
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


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    work=st.lists(st.lists(st.integers(1, 90), max_size=9), min_size=1, max_size=20),
    most=st.integers(1, 5000),
)
def test_every_row_is_read_once_and_little_beside(work: list[list[int]], most: int) -> None:
    covered = []
    for first, end in _products(work, 0, len(work), most):
        covered += list(range(first, end))
        part = work[first:end]
        done = len(part) * max(map(len, part)) * max(max(w, default=0) for w in part)
        assert len(part) == 1 or done <= min(most, MOST_IDLE * sum(map(sum, part)))
    assert covered == sorted(set(covered))
    assert {i for i, w in enumerate(work) if w} <= set(covered)
