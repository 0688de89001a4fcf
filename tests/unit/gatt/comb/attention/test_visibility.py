"""Who sees whom, against a definition that walks the rows of each token."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gatt.comb.collator import RowGeometry
from gatt.comb.comb import Comb
from tests.support.models.combs import combs, vectors_of


def geometry_of(documents: list[Comb]) -> RowGeometry:
    row = vectors_of(documents)
    return RowGeometry(*(row[name] for name in RowGeometry.__dataclass_fields__))


def brute_force(documents: list[Comb], window: int | None = None) -> torch.Tensor:
    """Each token sees what stands up to it in the plain sequence that it belongs to."""
    places: list[list[int]] = []  # for every token of the row, the row indices that it sees
    for comb in documents:
        start = len(places)
        trunk = list(range(start, start + len(comb.trunk)))
        places += [trunk[: i + 1] for i in range(len(trunk))]
        for branch in comb.branches:
            own = list(range(len(places), len(places) + len(branch.input_ids)))
            sequence = trunk[: branch.fork] + own
            places += [sequence[: branch.fork + i + 1] for i in range(len(own))]
    mask = torch.zeros(len(places), len(places), dtype=torch.bool)
    for query, keys in enumerate(places):
        mask[query, keys if window is None else keys[-window:]] = True
    return mask


@given(
    documents=st.lists(combs(), min_size=1, max_size=3),
    window=st.none() | st.integers(1, 12),
)
@settings(deadline=None)
def test_mask_is_that_of_the_plain_sequences(documents, window) -> None:
    assert torch.equal(geometry_of(documents).mask(window), brute_force(documents, window))
