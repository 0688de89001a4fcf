"""Geometry of the comb: contracts, rows written out, splitting."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatt.comb.comb import IGNORE, Branch, Comb, best_fit, expand, fold_branches, split_to_fit
from gatt.errors import DataError
from tests.support.models.combs import combs

X = IGNORE


def test_expand_by_hand() -> None:
    comb = Comb((1, 2, 3, 4), (X, X, 3, X), (Branch(2, (5, 6), (5, 6)), Branch(4, (7,), (X,))))
    assert expand(comb) == [Comb((1, 2, 5, 6), (X, X, 5, 6)), Comb((1, 2, 3, 4), (X, X, 3, X))]
    assert expand(Comb((1, 2), (X, X))) == []


@given(comb=combs(), limit=st.integers(1, 90))
def test_split_fits_and_carries_everything_once(comb, limit) -> None:
    try:
        parts = split_to_fit(comb, limit)
    except DataError:
        needed = [b.fork + len(b.input_ids) for b in comb.branches]
        if not comb.branches or any(x != X for x in comb.trunk_labels[comb.branches[-1].fork :]):
            needed.append(len(comb.trunk))
        assert max(needed) > limit
        return
    assert all(part.num_tokens <= limit for part in parts)
    assert [b for part in parts for b in part.branches] == list(comb.branches)
    assert sum(part.num_supervised for part in parts) == comb.num_supervised
    assert all(comb.trunk[: len(part.trunk)] == part.trunk for part in parts)


@given(comb=combs(), limit=st.integers(20, 90))
def test_split_falls_where_it_does_whatever_carries_loss(comb, limit) -> None:
    end = max((b.fork for b in comb.branches), default=0)
    bare = Comb(comb.trunk[: end or 1], (X,) * (end or 1), comb.branches)
    labelled = replace(bare, trunk_labels=(X, *bare.trunk[1:]))
    try:
        parts = split_to_fit(bare, limit)
    except DataError:
        return
    assert [p.trunk for p in split_to_fit(labelled, limit)] == [p.trunk for p in parts]


def test_fold_by_hand() -> None:
    """What the trunk goes on with is labelled there; the last reply is appended to it."""
    comb = Comb(
        (1, 2, 3, 4, 5, 6),
        (X,) * 6,
        (Branch(2, (3, 4), (3, 4)), Branch(5, (7,), (7,)), Branch(6, (8, 9), (8, 9))),
    )
    assert fold_branches(comb) == Comb(
        (1, 2, 3, 4, 5, 6, 8, 9), (X, X, 3, 4, X, X, 8, 9), (Branch(5, (7,), (7,)),)
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Branch(0, (1, 2), (1,)), "a branch of 2 tokens with 1 labels after 0 trunk tokens"),
        (lambda: Comb((1, 2), (X,)), "a trunk of 2 tokens with 1 labels"),
        (lambda: Comb((1,), (1,)), "the first trunk token has a label"),
        (lambda: Comb((1,), (X,), (Branch(2, (1,), (1,)),)), "forks after token 2 of a trunk of 1"),
        (
            lambda: split_to_fit(Comb((1, 2, 3), (X,) * 3, (Branch(3, (1,), (1,)),)), 3),
            "a branch of 1 tokens after 3 trunk tokens does not fit in 3",
        ),
        (
            lambda: Comb((1, 2), (X, 2), teacher=(Comb((1, 3), (X, 3)),)),
            "a teacher of 1 labels for a comb of 1",
        ),
        (lambda: split_to_fit(Comb((1, 2, 3), (X,) * 3), 2), "a trunk of 3 tokens does not fit in 2"),
    ],
)  # fmt: skip
def test_contracts(make, message) -> None:
    with pytest.raises(DataError, match=message):
        make()


def test_what_is_made_of_a_comb_is_learned_as_it_is() -> None:
    comb = Comb((1, 2, 3, 4), (X, X, 3, 4), (Branch(2, (9, 9), (9, 9), "kl"),), "kl")
    made = [*expand(comb), fold_branches(comb), *split_to_fit(comb, 5)]
    assert len(made) == 2 + 1 + 2
    assert all(objective == "kl" for one in made for objective, _ in one.labelled)


def test_a_teacher_reads_the_same_replies_whatever_is_made_of_a_comb() -> None:
    first, second = Branch(2, (3, 4), (3, 4)), Branch(5, (6,), (6,))
    teacher = Comb((8, 8, 8, 3, 4, 9), (X,) * 6, (Branch(3, (3, 4), (3, 4)), Branch(6, (6,), (6,))))
    comb = Comb((1, 2, 3, 4, 5), (X,) * 5, (first, second), teacher=(teacher,))
    assert [row.teacher for row in expand(comb)] == [(row,) for row in expand(teacher)]
    assert [part.teacher for part in split_to_fit(comb, 7)] == [
        (Comb((8, 8, 8), (X,) * 3, teacher.branches[:1]),),
        (Comb(teacher.trunk, (X,) * 6, teacher.branches[1:]),),
    ]
    whole = Comb((8, 8, 8, 3, 4, 9, 6), (X, X, X, 3, 4, X, 6))
    assert fold_branches(comb) == Comb((1, 2, 3, 4, 5, 6), (X, X, 3, 4, X, 6), teacher=(whole,))
    # One of two that the trunk does not say: in the trunk the other one would come first.
    other = replace(comb, trunk=(1, 2, 9, 9, 5))
    assert fold_branches(other) == other
    assert comb.num_positions == 7


def test_a_pair_stays_together() -> None:
    """Also where the trunk says its first reply, and where a row has room for one of the two alone."""
    pair = (Branch(2, (3, 4), (3, 4)), Branch(2, (9, 9, 8), (9, 9, 8), is_partner=True))
    comb = Comb((1, 2, 3, 4), (X,) * 4, (*pair, Branch(4, (5,), (5,))))
    assert fold_branches(comb).branches == pair
    first, second = split_to_fit(comb, 7)
    assert (first.branches, second.branches) == (pair, comb.branches[2:])
    assert [row.is_partner for row in expand(comb)] == [False, True, False]


@pytest.mark.parametrize(
    ("lengths", "capacity", "expected"),
    [
        ([6, 5, 4, 3, 2], 10, [[0, 2], [1, 3, 4]]),
        ([2, 7, 5, 3], 10, [[0, 2], [1, 3]]),  # 3 fits 7 best
        ([12, 1], 10, [[0], [1]]),  # too long for any row: alone
    ],
)
def test_rows_by_hand(lengths, capacity, expected) -> None:
    assert best_fit(lengths, capacity) == expected


@given(lengths=st.lists(st.integers(1, 50), max_size=60), capacity=st.integers(50, 120))
def test_every_dialogue_is_in_one_row_that_holds_it(lengths, capacity) -> None:
    rows = best_fit(lengths, capacity)
    assert sorted(i for row in rows for i in row) == list(range(len(lengths)))
    assert all(sum(lengths[i] for i in row) <= capacity for row in rows)
    # No two rows could be one.
    sizes = sorted(sum(lengths[i] for i in row) for row in rows)
    assert len(sizes) < 2 or sizes[0] + sizes[1] > capacity
    assert rows == best_fit(lengths, capacity)
