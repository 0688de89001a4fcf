"""Combs to batches: literal vectors, and nothing lost on the way through columns."""

from __future__ import annotations

import pytest
from hypothesis import given

from gatt.comb.collator import GattCollator, combs_to_features
from gatt.comb.comb import IGNORE, Branch, Comb
from gatt.errors import DataError
from tests.support.models.combs import combs, combs_of, vectors_of

X = IGNORE


@given(comb=combs())
def test_columns_keep_the_comb(comb) -> None:
    assert combs_of(combs_to_features([comb])) == [comb]


def test_a_packed_row_by_hand() -> None:
    """Trunk a b c d with branches after 2 (e f) and 4 (g), then a trunk h i."""
    first = Comb((1, 2, 3, 4), (X,) * 4, (Branch(2, (5, 6), (5, 6)), Branch(4, (7,), (7,))))
    row = vectors_of([first, Comb((8, 9), (X, 9))])
    assert {name: vector.tolist() for name, vector in row.items()} == {
        "input_ids": [1, 2, 3, 4, 5, 6, 7, 8, 9],
        "position_ids": [0, 1, 2, 3, 2, 3, 4, 0, 1],
        "labels": [X, X, X, X, 5, 6, 7, X, 9],
        "document_ids": [0] * 7 + [1, 1],
        "branch_ids": [0, 0, 0, 0, 1, 1, 2, 0, 0],
        "visible": [1, 2, 3, 4, 2, 2, 4, 1, 2],
        # Heads of branches are predicted in the trunk: b (1) for e, d (3) for g.
        "source": [-1, 0, 1, 2, 1, 4, 3, -1, 7],
    }


def test_expanded_layout_pads_on_the_right() -> None:
    rows = [Comb((1, 2, 3), (X, X, 3)), Comb((9, 9), (X, 9))]
    batch = GattCollator(pad_token_id=9, layout="expanded")([combs_to_features([c]) for c in rows])
    assert {name: value.tolist() for name, value in batch.items()} == {
        "input_ids": [[1, 2, 3], [9, 9, 9]],
        "attention_mask": [[1, 1, 1], [1, 1, 0]],
        "labels": [[X, X, 3], [X, 9, X]],  # pad equals a real token: only the real one is learned
    }


def test_branches_in_the_expanded_layout() -> None:
    row = combs_to_features([Comb((1,), (X,), (Branch(1, (2,), (2,)),))])
    with pytest.raises(DataError, match="a row with branches in the expanded layout: write it out"):
        GattCollator(pad_token_id=0, layout="expanded")([row])
