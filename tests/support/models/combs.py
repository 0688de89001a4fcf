"""Random combs for property tests, combs out of training rows, and combs as the vectors of a packed row."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from hypothesis import strategies as st

from gatt.comb.collator import TRUNK, GattCollator, combs_to_features
from gatt.comb.comb import IGNORE, Branch, Comb, expand
from gatt.comb.objectives.table import TABLE
from gatt.train.data.labels import BuiltSample

VOCABULARY = 97


@st.composite
def combs(draw: st.DrawFn, *, max_turns: int = 8) -> Comb:
    """Draw a comb of 1 to `max_turns` turns; some have no target (a gap).

    The shape is drawn, the ids come from one drawn seed, so that shrinking is quick.
    """
    num_turns = draw(st.integers(1, max_turns))
    has_trunk_labels = draw(st.booleans())
    rng = random.Random(draw(st.integers(0, 2**32)))

    def ids(length: int) -> tuple[int, ...]:
        return tuple(rng.randrange(VOCABULARY) for _ in range(length))

    trunk: tuple[int, ...] = ()
    labels: tuple[int, ...] = ()
    branches = []
    for turn in range(num_turns):
        prompt = ids(draw(st.integers(1, 5)))
        trunk, labels = trunk + prompt, labels + (IGNORE,) * len(prompt)
        if draw(st.booleans()):
            target = ids(draw(st.integers(1, 4)))
            branches.append(Branch(len(trunk), target, target))
        if turn < num_turns - 1:
            reply = ids(draw(st.integers(1, 4)))
            trunk += reply
            labels += reply if has_trunk_labels else (IGNORE,) * len(reply)
    return Comb(trunk, labels, tuple(branches))


def combs_of(columns: Mapping[str, Any]) -> list[Comb]:
    """Return the combs of one row of `combs_to_features`."""
    combs: list[Comb] = []
    taught: list[bool] = []
    at = 0
    names = list(TABLE)
    segments = ("forks", "lengths", "objectives", "partners", "teachers")
    for fork, length, number, is_partner, is_teacher in zip(
        *(columns[name] for name in segments), strict=True
    ):
        objective = names[number]
        ids, labels = (tuple(columns[name][at : at + length]) for name in ("input_ids", "labels"))
        at += length
        if fork == TRUNK:
            combs.append(Comb(ids, labels, (), objective, is_partner))
            taught.append(is_teacher)
        else:
            last = combs[-1]
            branch = Branch(fork, ids, labels, objective, is_partner)
            combs[-1] = replace(last, branches=(*last.branches, branch))
    found: list[Comb] = []
    read: list[Comb] = []
    # From the last to the first: the teachers of a comb stand behind it.
    for comb, is_teacher in zip(reversed(combs), reversed(taught), strict=True):
        if is_teacher:
            read.insert(0, comb)
        else:
            found.insert(0, replace(comb, teacher=tuple(read)))
            read = []
    return found


def vectors_of(combs: Sequence[Comb]) -> dict[str, torch.Tensor]:
    """Return the vectors `[T]` of the combs in one packed row."""
    batch = GattCollator(pad_token_id=0)([combs_to_features(combs)])
    return {name: vector[0] for name, vector in batch.items()}


def written_out(built: BuiltSample) -> list[Comb]:
    """Return the plain rows that the combs of a sample stand for."""
    return [row for part in built.parts for row in expand(part.comb)]
