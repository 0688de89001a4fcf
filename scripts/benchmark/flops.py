"""The arithmetic of LoRA training and of sampling: what must be computed, and the bound on a layout's gain.

Counted are the matrix products of forward and backward pass, a multiply-add as
two operations (`gatt.commands.run.plan`).
"""

from __future__ import annotations

from collections.abc import Sequence

from gatt.comb.comb import IGNORE, Comb
from gatt.commands.run.plan import ModelShape, Work

__all__ = ["ModelShape", "Work", "work_of"]


def work_of(combs: Sequence[Comb], *, scores_everywhere: bool = False) -> Work:
    """Return the work of rows: combs, or plain sequences (combs without branches).

    Args:
        combs: one or more rows; rows that share a packed one count alike.
        scores_everywhere: the LM head scores every position, not only those
            that predict a supervised token.
    """
    num_tokens = sum(c.num_tokens for c in combs)
    num_pairs = sum(
        _triangle(len(c.trunk))
        + sum(b.fork * len(b.input_ids) + _triangle(len(b.input_ids)) for b in c.branches)
        for c in combs
    )
    return Work(
        num_tokens=num_tokens,
        num_pairs=num_pairs,
        num_scored=num_tokens if scores_everywhere else sum(_num_sources(c) for c in combs),
    )


def _triangle(length: int) -> int:
    return length * (length + 1) // 2


def _num_sources(comb: Comb) -> int:
    """Return how many hidden states predict a supervised token: a fork may predict two."""
    in_trunk = {i - 1 for i, label in enumerate(comb.trunk_labels) if label != IGNORE}
    in_branches = 0
    for branch in comb.branches:
        if branch.labels[0] != IGNORE:
            in_trunk.add(branch.fork - 1)
        in_branches += sum(label != IGNORE for label in branch.labels[1:])
    return len(in_trunk) + in_branches
