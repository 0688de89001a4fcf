"""Which dialogues train and which evaluate: decided by the id, the same in every run."""

from __future__ import annotations

import hashlib
from typing import Literal, get_args

SplitName = Literal["train", "validation", "eval"]
PARTS: tuple[str, ...] = get_args(SplitName)
SHARES = (0.7, 0.1, 0.2)
"""Shares of `PARTS`, in their order."""


def partition(dialogue_id: str) -> SplitName:
    """Return the part that a dialogue belongs to: equal ids give equal parts on every machine.

    No seed goes in: a seed that differed between training and evaluation
    would let dialogues of the one into the other.
    """
    digest = hashlib.sha256(dialogue_id.encode()).digest()
    point = int.from_bytes(digest[:8], "big") / 2**64
    train, validation, _ = SHARES
    if point < train:
        return "train"
    return "validation" if point < train + validation else "eval"
