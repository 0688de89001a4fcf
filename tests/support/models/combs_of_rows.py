"""Rows of the training data back to combs, and combs to the vectors of a packed row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from gatt.comb.collator import TRUNK, GattCollator, combs_to_features
from gatt.comb.comb import Branch, Comb, expand
from gatt.train.data.labels import BuiltSample


def combs_of(columns: Mapping[str, Any]) -> list[Comb]:
    """Return the combs of one row of `combs_to_features`."""
    combs: list[Comb] = []
    at = 0
    for fork, length, by_kl in zip(
        columns["forks"], columns["lengths"], columns["by_kl"], strict=True
    ):
        ids, labels = (tuple(columns[name][at : at + length]) for name in ("input_ids", "labels"))
        at += length
        if fork == TRUNK:
            combs.append(Comb(ids, labels, (), by_kl))
        else:
            last = combs[-1]
            branches = (*last.branches, Branch(fork, ids, labels))
            combs[-1] = Comb(last.trunk, last.trunk_labels, branches, last.by_kl)
    return combs


def vectors_of(combs: Sequence[Comb]) -> dict[str, torch.Tensor]:
    """Return the vectors `[T]` of the combs in one packed row."""
    batch = GattCollator(pad_token_id=0)([combs_to_features(combs)])
    return {name: vector[0] for name, vector in batch.items()}


def written_out(built: BuiltSample) -> list[Comb]:
    """Return the plain rows that the combs of a sample stand for."""
    return [row for part in built.parts for row in expand(part.comb)]
