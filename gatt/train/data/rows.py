"""From samples to training rows. Whatever is left out is counted, by reason."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa

from gatt.comb.collator import Layout
from gatt.comb.comb import Comb, expand, fold, split_to_fit
from gatt.comb.packing import best_fit
from gatt.data.sample import GattSample
from gatt.errors import ConfigError, DataError, TemplateError
from gatt.models.chat_template import Tokenizer, printed_day, rendered_on
from gatt.models.template_facts import TemplateFacts, usable_placement
from gatt.train.config import TrainConfig
from gatt.train.data.drop_counts import Dropped, reason_of
from gatt.train.data.encoded_samples import (
    EncodedSample,
    cut,
    encode_sample,
    learnable_facts,
    no_trunk,
    placement_of,
    with_usable_switches,
)
from gatt.train.data.in_parallel import in_order
from gatt.train.data.labels import BuiltRows
from gatt.train.data.row_file import CombWriter, comb_lengths, combs_in, packed_rows, writing_combs
from gatt.train.data.row_report import RowReport, SampleRows, refuse_too_few, warn_of_changes

log = logging.getLogger(__name__)


def choose_layout(
    wanted: str, facts: TemplateFacts, why_not_packable: Callable[[], str | None]
) -> Layout:
    """Return the layout of a run; `auto` is the comb where template and model allow it.

    Args:
        wanted: `comb`, `expanded` or `auto`.
        facts: of the chat template.
        why_not_packable: of the model that will take the rows; asked only if it counts.

    Raises:
        ConfigError: `comb`, where template or model do not allow it.
    """
    if wanted == "expanded":
        return "expanded"
    if facts.is_prefix_preserving:
        problem = why_not_packable()
        why = problem and f"the model cannot take packed rows: {problem}"
    else:
        why = no_trunk(facts)
    if not why:
        return "comb"
    if wanted == "comb":
        raise ConfigError(f"layout 'comb': {why}: use layout 'auto' or 'expanded'")
    log.warning("layout 'expanded' (one row a turn) instead of 'comb': %s", why)
    return "expanded"


def build_rows(
    samples: Iterable[GattSample],
    tokenizer: Tokenizer,
    config: TrainConfig,
    *,
    why_not_packable: Callable[[], str | None],
    world_size: int = 1,
) -> tuple[Any, RowReport]:
    """Return the rows of samples, kept in memory: `write_combs` and `rows_in`.

    Raises:
        TemplateError, ConfigError, TrainingError: see `write_combs`.
    """
    sink = pa.BufferOutputStream()
    with writing_combs(sink) as writer:
        report = write_combs(samples, tokenizer, config, writer, why_not_packable=why_not_packable)
    return rows_in(sink.getvalue(), report, config, world_size), report


def write_combs(
    samples: Iterable[GattSample],
    tokenizer: Tokenizer,
    config: TrainConfig,
    writer: CombWriter,
    *,
    why_not_packable: Callable[[], str | None],
    dropped: Dropped | None = None,
) -> RowReport:
    """Write the combs of samples, or their written-out rows, in order; return what became of the samples.

    Samples are read, tokenised and written one after the other: none is kept.

    Args:
        samples: of `gatt.train.data.samples.read_all_samples`.
        tokenizer: with a chat template.
        config: of the run; `dataset_num_proc` processes share the work.
        writer: of `gatt.train.data.row_file`.
        why_not_packable: see `choose_layout`.
        dropped: lines that could not be read; counted on.

    Raises:
        TemplateError: no chat template, or one under which no reply can be learned as it stands.
        ConfigError: see `choose_layout`.
        TrainingError: no sample is left with a token that carries loss, with `plain_loss` `kl` none with
            an instruction, or a larger share of the targets would be lost than `max_lost_targets`.
    """
    facts = learnable_facts(tokenizer, config)
    layout = choose_layout(config.layout, facts, why_not_packable)
    placement = usable_placement(config.placement, facts)
    make = RowMaker(tokenizer, config, facts, layout, placement, printed_day())
    dropped = Dropped() if dropped is None else dropped
    report = RowReport(layout, dropped=dropped.counts)
    for made in in_order(make, samples, config.dataset_num_proc):
        for told, reason in made.problems:
            dropped.add(told, reason)
        for comb in made.combs:
            writer.add(comb)
        report.add(made)
    report.num_samples += dropped.num_lines
    refuse_too_few(report, dropped, config)
    dropped.say()
    warn_of_changes(report, config)
    return report


def rows_in(
    source: Path | pa.Buffer, report: RowReport, config: TrainConfig, world_size: int
) -> Any:
    """Return the rows of a run as a `datasets.Dataset` with the columns of `gatt.comb.collator`.

    Rows without loss are appended until an epoch is a whole number of optimiser
    steps on all processes: else Accelerate's `even_batches` would train the
    first rows of the epoch twice.

    Args:
        source: what `write_combs` wrote.
        report: of `write_combs`; gets the numbers of rows.
        config: of the run.
        world_size: number of processes.
    """
    combs = combs_in(source)
    if config.pack_rows and report.layout == "comb":
        groups = best_fit(comb_lengths(combs), config.max_tokens_per_row)
    else:
        groups = [[number] for number in range(len(combs))]
    step = world_size * config.per_device_train_batch_size * config.gradient_accumulation_steps
    report.num_rows, report.num_padding_rows = len(groups), -len(groups) % step
    return packed_rows(combs, [*groups, *[[]] * report.num_padding_rows])


@dataclass(frozen=True)
class RowMaker:
    """Makes the rows of one sample after the other, in whichever process."""

    tokenizer: Tokenizer
    config: TrainConfig
    facts: TemplateFacts
    layout: Layout
    placement: str
    """That the template allows, or `mixed`."""
    day: date
    """That the template prints, in every process."""

    def __call__(self, whole: GattSample) -> SampleRows:
        """Return the rows of a sample, as far as it can be learned."""
        with rendered_on(self.day):
            return self._rows(whole)

    def _rows(self, whole: GattSample) -> SampleRows:
        config = self.config
        where = placement_of(self.placement, config.seed, whole.id)
        as_made = cut(whole, config)
        sample = with_usable_switches(as_made, self.facts, where)
        made = SampleRows(sample.id, num_wanted=sample.num_targets, is_moved=sample != as_made)
        try:
            one = encode_sample(sample, self.tokenizer, config, self.facts, where)
            made.problems += (reason_of(told, sample) for told in one.built.dropped_targets)
            made.num_targets = one.built.num_targets
            made.num_exchanges_dropped = one.built.num_exchanges_dropped
            rows, problems = rows_of(one, config, self.layout) if made.num_targets else ([], [])
        except (DataError, TemplateError) as error:
            made.problems.append(reason_of(str(error), sample))
            return made
        made.problems += (reason_of(told, sample) for told in problems)
        made.combs += (comb for comb, _ in rows)
        if made.is_used:
            made.kinds += (t.kind for t in sample.targets if t.kind is not None)
            made.family = sample.family
            made.switches += (switch.kind for switch in sample.switches or ())
            made.entries |= entries_in_force(sample, one.built.targets)
        return made


def entries_in_force(sample: GattSample, turns: Iterable[int]) -> set[str]:
    """Return the ids of the catalogue entries that a sample is told at some of these turns."""
    told = (sample.instruction_at(turn) for turn in turns)
    return {entry for instruction in told if instruction for entry in instruction.entries}


def rows_of(
    one: EncodedSample, config: TrainConfig, layout: Layout
) -> tuple[list[tuple[Comb, tuple[int, ...]]], list[str]]:
    """Return the rows of one sample, and a message where none of them has a token to learn.

    With each row stand the turns of the comb that it is from; none where no trunk is shared.
    A sample without a token that carries loss gives its message in every layout; in the comb
    layout its rows stay, so that a control trains in the same steps.

    Raises:
        DataError: a branch or a trunk that does not fit into a row.
    """
    where = f"sample {one.sample.id!r}"
    rows: list[tuple[Comb, tuple[int, ...]]] = []
    if isinstance(one.built, BuiltRows):
        rows += [(replace(row, by_kl=one.by_kl), ()) for row in one.built.rows]
    else:
        for part in one.built.parts:
            comb = replace(part.comb, by_kl=one.by_kl)
            if layout == "expanded":
                rows += [(row, part.turns) for row in expand(comb)]
                continue
            comb = fold(comb) if one.has_sampled_history else comb
            try:
                fitting = split_to_fit(comb, config.max_tokens_per_row)
            except DataError as error:
                raise DataError(f"{where}: {error}") from None
            rows += [(row, part.turns) for row in fitting]
    if one.built.num_targets and not any(row.num_supervised for row, _ in rows):
        return rows, [
            f"{where}: no reply of its own before its last target that supervise "
            f"{one.supervise!r} could train on: expected a target at turn 2 or later"
        ]
    return rows, []
