"""Which dialogues train and which evaluate: decided by the id, the same in every run."""

from __future__ import annotations

import hashlib
import math
from typing import Literal, get_args

from gatt.errors import ConfigError

Part = Literal["train", "validation", "eval"]
PARTS: tuple[str, ...] = get_args(Part)
SHARES = (0.7, 0.1, 0.2)
"""Shares of `PARTS`, in their order."""


def partition(dialogue_id: str, shares: tuple[float, float, float] = SHARES) -> Part:
    """Return the part that a dialogue belongs to.

    No seed goes in: a seed that differed between training and evaluation
    would let dialogues of the one into the other.

    Args:
        dialogue_id: any text; equal ids give equal parts on every machine.
        shares: of train, validation and eval; each in [0, 1], together 1.

    Raises:
        ConfigError: shares that are negative or do not add up to 1.
    """
    if len(shares) != 3 or min(shares) < 0 or not math.isclose(sum(shares), 1.0):
        raise ConfigError(
            f"partition shares are {shares}: expected three numbers from 0 to 1 "
            "(train, validation, eval) that add up to 1"
        )
    digest = hashlib.sha256(dialogue_id.encode()).digest()
    point = int.from_bytes(digest[:8], "big") / 2**64
    if point < shares[0]:
        return "train"
    return "validation" if point < shares[0] + shares[1] else "eval"
