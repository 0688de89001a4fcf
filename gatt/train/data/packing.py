"""How many dialogues share a row, and how many rows make a step."""

from __future__ import annotations

from collections.abc import Sequence

from gatt.comb.comb import best_fit
from gatt.train.config import TrainConfig
from gatt.train.runtime import trains_on_cuda


def is_packed(config: TrainConfig) -> bool:
    """Return whether rows are filled with dialogues on this machine, where the layout is the comb."""
    if config.pack_rows == "auto":
        return config.per_device_train_batch_size == 1 and trains_on_cuda()
    return config.pack_rows


def packed_rows(lengths: Sequence[int], config: TrainConfig) -> tuple[list[list[int]], int]:
    """Return the dialogues of each row, and the micro-batches of a step on each process.

    With `pack_rows: true` a row is filled up to `max_tokens_per_row`, and a step has as many rows as it would
    have dialogues. With `auto` a step has about as many dialogues as unpacked, in fewer rows, so that a
    run makes as many steps: a row is filled up to the tokens of such a step, but never beyond the same limit.

    Args:
        lengths: tokens of each dialogue, at least one.
        config: of one process.
    """
    wanted, limit = config.gradient_accumulation_steps, config.max_tokens_per_row
    if config.pack_rows != "auto":
        return best_fit(lengths, limit), wanted
    of_a_step = wanted * sum(lengths) // len(lengths)
    rows = best_fit(lengths, max(*lengths, min(limit, of_a_step), 1))
    return rows, max(1, round(wanted * len(rows) / len(lengths)))
