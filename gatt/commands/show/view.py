"""The rows that training makes of a sample, cut into pieces of text.

The rows come from `gatt.train.data.rows.rows_of`, which training calls too, and the
draws and fallbacks from the same functions as there, so what is shown cannot be
other than what trains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from gatt.comb.collator import Layout
from gatt.commands.show.rows import RowCutter, ShownRow
from gatt.data.sample import GattSample
from gatt.data.views import TrainingPlacement
from gatt.errors import DataError, TemplateError
from gatt.models.chat_template import Tokenizer
from gatt.models.template_facts import inspect_template, usable_placement
from gatt.train.config import TrainConfig
from gatt.train.data.encoded_samples import draw_sample, encode_sample
from gatt.train.data.labels import Supervise
from gatt.train.data.rows import choose_layout, rows_of


@dataclass(frozen=True)
class ShownSample:
    """What training makes of one sample."""

    layout: Layout
    placement: TrainingPlacement
    has_sampled_history: bool
    rows: tuple[ShownRow, ...]
    """None where training leaves the sample out."""
    num_exchanges_dropped: int
    supervise: Supervise
    """Which tokens of it carry loss."""
    by_kl: bool
    """Learned by the KL divergence from the model without the adapter."""
    left_out: tuple[str, ...]
    """Why the sample, or each of these targets, is not trained on."""


def pick(
    samples: Iterable[GattSample],
    path: Path,
    *,
    row: int | None = None,
    identity: str | None = None,
) -> GattSample:
    """Return the sample of a row (from 1; the first where neither is given) or an id.

    Raises:
        DataError: no such row or id.
    """
    wanted = 1 if row is None else row
    number = 0
    for number, sample in enumerate(samples, start=1):
        if (sample.id == identity) if identity is not None else (number == wanted):
            return sample
    if identity is not None:
        raise DataError(f"{path}: no sample {identity!r} among {number}: give an id of the file")
    raise DataError(f"{path}: no row {wanted}: expected 1 to {number}")


def view_sample(
    tokenizer: Tokenizer,
    sample: GattSample,
    config: TrainConfig,
    *,
    why_not_packable: Callable[[], str | None] = lambda: None,
) -> ShownSample:
    """Return the rows that a training run would make of a sample, as pieces.

    Fallbacks (no system role, no shared trunk) are those of training and are
    logged as there.

    Args:
        tokenizer: of the run's model.
        sample: of `gatt.data.sample.read_samples`.
        config: of the run.
        why_not_packable: see `gatt.train.data.rows.choose_layout`.

    Raises:
        TemplateError: no chat template.
        ConfigError: see `gatt.train.data.rows.choose_layout`.
    """
    facts = inspect_template(tokenizer)
    layout = choose_layout(config.layout, facts, why_not_packable)
    one = draw_sample(sample, config, facts, usable_placement(config.placement, facts))
    drawn = (one.placement, one.has_sampled_history)
    try:
        built = encode_sample(one, tokenizer, config, facts)
        made, problems = rows_of(one, built, config, layout)
    except (DataError, TemplateError) as error:
        # Training counts such a sample as dropped and goes on.
        return ShownSample(layout, *drawn, (), 0, one.supervise, one.by_kl, (str(error),))
    cutter = RowCutter(tokenizer, one.as_learned, one.supervise, one.placement)
    rows = tuple(cutter.row(comb, turns) for comb, turns in made)
    return ShownSample(
        layout, *drawn, rows, built.num_exchanges_dropped, one.supervise, one.by_kl,
        (*built.dropped_targets, *problems),
    )  # fmt: skip
