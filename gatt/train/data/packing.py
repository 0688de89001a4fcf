"""The layout of rows: how many dialogues share one, and how many rows make a step."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from gatt.comb.collator import RowLayout
from gatt.comb.comb import best_fit
from gatt.errors import ConfigError
from gatt.models.template_facts import TemplateFacts
from gatt.train.config import TrainConfig
from gatt.train.runtime import trains_on_cuda

log = logging.getLogger(__name__)


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
    """
    wanted, limit = config.gradient_accumulation_steps, config.max_tokens_per_row
    if config.pack_rows != "auto":
        return best_fit(lengths, limit), wanted
    of_a_step = wanted * sum(lengths) // len(lengths)
    rows = best_fit(lengths, max(*lengths, min(limit, of_a_step), 1))
    return rows, max(1, round(wanted * len(rows) / len(lengths)))


def choose_layout(
    wanted: str, facts: TemplateFacts, why_not_packable: Callable[[], str | None]
) -> RowLayout:
    """Return the layout of a run; `auto` is the comb where template and model allow it.

    `why_not_packable` speaks of the model that will take the rows; it is asked only if it counts.

    Raises:
        ConfigError: `comb`, where template or model do not allow it.
    """
    if wanted == "expanded":
        return "expanded"
    if not facts.is_prefix_preserving:
        why: str | None = f"turns cannot share a trunk: the chat template {facts.note}"
    elif why := why_not_packable():
        why = f"the model cannot take packed rows: {why}"
    if not why:
        return "comb"
    if wanted == "comb":
        raise ConfigError(f"layout 'comb': {why}: use layout 'auto' or 'expanded'")
    log.warning("layout 'expanded' (one row a turn) instead of 'comb': %s", why)
    return "expanded"


def student_lengths(combs: pa.Table) -> list[int]:
    """Return how many tokens the student reads of each row of combs."""
    whole: list[int] = pc.list_value_length(combs.column("input_ids")).to_pylist()
    if not pc.any(pc.list_flatten(combs.column("teachers"))).as_py():
        return whole
    parts = zip(*(combs.column(name).to_pylist() for name in ("lengths", "teachers")), strict=True)
    return [
        num - sum(length for length, is_read in zip(*part, strict=True) if is_read)
        for num, part in zip(whole, parts, strict=True)
    ]
