"""From samples to training rows. Whatever is left out is counted, by reason."""

from __future__ import annotations

import logging
import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain, islice
from typing import Any, BinaryIO, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from gatt.comb.collator import Layout, combs_to_features
from gatt.comb.comb import IGNORE, Comb, best_fit, expand, fold, split_to_fit
from gatt.data.sample import GattSample
from gatt.errors import ConfigError, DataError, TemplateError, TrainingError
from gatt.models.chat_template import Tokenizer, printed_day, rendered_on
from gatt.models.template_facts import TemplateFacts, learnable_facts, usable_placement
from gatt.train.config import TrainConfig
from gatt.train.data.labels import (
    BuiltSample,
    DrawnSample,
    draw_sample,
    encode_sample,
)
from gatt.train.data.row_report import RowReport, refuse_too_few, warn_of_changes
from gatt.train.data.samples import Dropped, reason_of

log = logging.getLogger(__name__)

SCHEMA: Final = pa.schema(
    {
        **dict.fromkeys(("input_ids", "labels", "forks", "lengths"), pa.list_(pa.int32())),
        "by_kl": pa.list_(pa.bool_()),
    }
)
"""The columns of `gatt.comb.collator.combs_to_features`."""
T = TypeVar("T")
R = TypeVar("R")
ITEMS_PER_CALL: Final = 64
"""Items that travel to a process together."""
_work: Callable[[Any], Any]
COMBS_PER_BLOCK: Final = 256
"""Combs that are held in memory until they are written."""


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


def build_rows(
    samples: Iterable[GattSample],
    tokenizer: Tokenizer,
    config: TrainConfig,
    *,
    why_not_packable: Callable[[], str | None],
    world_size: int = 1,
) -> tuple[Any, RowReport]:
    """Return the rows of samples, kept in memory: `write_combs` and `rows_in`."""
    sink = pa.BufferOutputStream()
    report = write_combs(samples, tokenizer, config, sink, why_not_packable=why_not_packable)
    return rows_in(sink.getvalue(), report, config, world_size), report


def write_combs(
    samples: Iterable[GattSample],
    tokenizer: Tokenizer,
    config: TrainConfig,
    sink: BinaryIO,
    *,
    why_not_packable: Callable[[], str | None],
    dropped: Dropped | None = None,
) -> RowReport:
    """Write the combs of samples, or their written-out rows, in order; return what became of the samples.

    Samples are read, tokenised and written one after the other: none is kept. Lines that could not be
    read stand in `dropped` already, or get there while the samples are read.

    Raises:
        TemplateError, ConfigError, TrainingError: see `learnable_facts`, `choose_layout` and
            `refuse_too_few`.
    """
    facts = learnable_facts(tokenizer)
    layout = choose_layout(config.layout, facts, why_not_packable)
    placement = usable_placement(config.placement, facts)
    make = RowMaker(tokenizer, config, facts, layout, placement, printed_day())
    dropped = Dropped() if dropped is None else dropped
    report = RowReport(layout, dropped=dropped.counts)

    def combs() -> Iterator[Comb]:
        for made in in_order(make, samples, config.dataset_num_proc):
            for told, reason in made.problems:
                dropped.add(told, reason)
            report.add(made.report)
            yield from made.combs

    store_combs(combs(), sink)
    report.num_samples += dropped.num_lines
    refuse_too_few(report, dropped, config)
    dropped.say()
    warn_of_changes(report, config)
    return report


def rows_in(
    source: str | pa.Buffer, report: RowReport, config: TrainConfig, world_size: int
) -> Any:
    """Return the rows of what `write_combs` wrote, as a `datasets.Dataset`; the report gets their numbers.

    Rows without loss are appended until an epoch is a whole number of optimiser
    steps on all processes: else Accelerate's `even_batches` would train the
    first rows of the epoch twice.
    """
    from datasets import Dataset, Features, List, Value

    combs = (Dataset.from_file if isinstance(source, str) else Dataset.from_buffer)(source)
    if config.pack_rows and report.layout == "comb":
        lengths = pc.list_value_length(combs.data.column("input_ids")).to_pylist()
        groups = best_fit(lengths, config.max_tokens_per_row)
    else:
        groups = [[number] for number in range(len(combs))]
    step = world_size * config.per_device_train_batch_size * config.gradient_accumulation_steps
    report.num_rows, report.num_padding_rows = len(groups), -len(groups) % step
    numbers = Dataset.from_dict(
        {"combs": [*groups, *[[]] * report.num_padding_rows]},
        Features({"combs": List(Value("int64"))}),
    )
    # Any token will do, but one that the model has: a padding token may be added behind its embeddings.
    padding = combs_to_features([Comb(tuple(combs[0]["input_ids"][:1]), (IGNORE,))])

    def row(group: Sequence[int]) -> Mapping[str, Any]:
        found = combs[group]
        joined = {name: list(chain.from_iterable(found[name])) for name in SCHEMA.names}
        return joined if group else padding

    def read(batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        rows = [row(group) for group in batch["combs"]]
        return {name: [row[name] for row in rows] for name in SCHEMA.names}

    # Put together when they are read.
    return numbers.with_transform(read)


def store_combs(combs: Iterable[Comb], sink: BinaryIO) -> None:
    """Write combs one block after the other."""
    columns = (combs_to_features([comb]) for comb in combs)
    with pa.ipc.new_stream(sink, SCHEMA) as stream:
        while block := list(islice(columns, COMBS_PER_BLOCK)):
            stream.write_batch(pa.RecordBatch.from_pylist(block, schema=SCHEMA))


@dataclass(frozen=True)
class SampleRows:
    """The rows of one sample, and what was left out of it on the way."""

    combs: list[Comb]
    problems: list[tuple[str, str]]
    """What is wrong with the sample or a target, and its reason, as `Dropped` counts it."""
    report: RowReport
    """Of this sample alone."""


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
        one = draw_sample(whole, self.config, self.facts, self.placement)
        sample = one.sample
        combs: list[Comb] = []
        told: list[str] = []
        report = RowReport(
            self.layout, num_samples=1, num_wanted=sample.num_targets, num_moved=int(one.is_moved)
        )
        try:
            with rendered_on(self.day):
                built = encode_sample(one, self.tokenizer, self.config, self.facts)
            told += built.dropped_targets
            report.num_encoded = built.num_targets
            rows, problems = rows_of(one, built, self.config, self.layout)
            combs += (comb for comb, _ in rows)
            told += problems
        except (DataError, TemplateError) as error:
            told.append(str(error))
        for comb in combs:
            report.add_comb(comb)
        if report.num_supervised_tokens:
            report.num_used = 1
            report.num_targets = built.num_targets
            report.num_exchanges_dropped = built.num_exchanges_dropped
            report.num_shortened = int(built.num_exchanges_dropped > 0)
            report.kinds.update(t.kind for t in sample.targets if t.kind is not None)
            report.families[sample.family] += 1
            report.switches.update(switch.kind for switch in sample.switches or ())
            told_of = (sample.instruction_at(turn) for turn in built.targets)
            report.entries.update({e for one in told_of if one for e in one.entries})
        return SampleRows(combs, [reason_of(line, sample) for line in told], report)


def rows_of(
    one: DrawnSample, built: BuiltSample, config: TrainConfig, layout: Layout
) -> tuple[list[tuple[Comb, tuple[int, ...]]], list[str]]:
    """Return the rows of one sample, and a message where none of them has a token to learn.

    With each row stand the turns of the comb that it is from.
    A sample without a token that carries loss gives its message in every layout; in the comb
    layout its rows stay, so that a control trains in the same steps.

    Raises:
        DataError: a branch or a trunk that does not fit into a row.
    """
    where = f"sample {one.sample.id!r}"
    rows: list[tuple[Comb, tuple[int, ...]]] = []
    for part in built.parts:
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
    if built.num_targets and not any(row.num_supervised for row, _ in rows):
        return rows, [
            f"{where}: no reply of its own before its last target that supervise "
            f"{one.supervise!r} could train on: expected a target at turn 2 or later"
        ]
    return rows, []


def in_order(work: Callable[[T], R], items: Iterable[T], num_proc: int = 1) -> Iterator[R]:
    """Yield the result of each item in the order of the items, which are read as they are needed.

    Raises:
        TrainingError: one of the processes was killed.
    """
    if num_proc == 1:
        yield from map(work, items)
        return
    # Forked, a child would share the locks of torch's and the tokenizer's threads.
    pool = ProcessPoolExecutor(num_proc, multiprocessing.get_context("spawn"), _take, (work,))
    waiting: deque[Future[list[R]]] = deque()
    rest = iter(items)
    try:
        while True:
            while len(waiting) < 2 * num_proc and (some := list(islice(rest, ITEMS_PER_CALL))):
                waiting.append(pool.submit(_results, some))
            if not waiting:
                return
            yield from waiting.popleft().result()
    except BrokenProcessPool:
        raise TrainingError(
            f"one of {num_proc} processes that tokenise was killed, often for memory: set a smaller "
            "dataset_num_proc"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _take(work: Callable[[Any], Any]) -> None:
    global _work
    _work = work


def _results(items: Sequence[Any]) -> list[Any]:
    return [_work(item) for item in items]
