"""From samples to training rows. Whatever is left out is counted, by reason.

The rows of a run stand in its folder: one process makes them, all read them, a resumed run finds them again.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc

from gatt.comb.collator import combs_to_features
from gatt.comb.comb import DEFAULT_OBJECTIVE, IGNORE, Comb
from gatt.data.sample import GattSample
from gatt.data.training_marks import TrainedOn, read_marks, write_marks
from gatt.models.chat_template import Tokenizer, printed_day, rendered_on
from gatt.models.template_facts import learnable_facts, usable_placement
from gatt.runs.atomic_file import atomic_stream, atomic_write_json
from gatt.runs.input_file import count_lines, read_json
from gatt.runs.progress import Bar, progress_bar
from gatt.runs.provenance import fingerprint
from gatt.train.config import TrainConfig
from gatt.train.data.encode import choose_layout, combs_of_sample, draw_sample
from gatt.train.data.packing import is_packed, packed_rows
from gatt.train.data.samples import (
    Dropped,
    RowReport,
    read_all_samples,
    refuse_too_few,
    warn_of_changes,
)
from gatt.train.runtime import current_runtime, from_main

log = logging.getLogger(__name__)

SCHEMA: Final = pa.schema(
    {
        **dict.fromkeys(("input_ids", "labels", "forks", "lengths"), pa.list_(pa.int32())),
        "objectives": pa.list_(pa.int8()),
        **dict.fromkeys(("partners", "teachers"), pa.list_(pa.bool_())),
    }
)
"""The columns of `gatt.comb.collator.combs_to_features`."""
COMBS_PER_BLOCK: Final = 256
"""Combs that are held in memory until they are written."""
NUM_TOKENS: Final = "num_tokens"
"""The column of `row_lengths`."""
FOLDER: Final = "rows"
COMBS: Final = "combs.arrow"
REPORT: Final = "rows.json"
"""Written last: where it stands, the rows are whole."""


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
) -> RowReport:
    """Write the combs of samples, or their written-out rows, in order; return what became of the samples.

    Samples are read, tokenised and written one after the other: none is kept.

    Raises:
        TemplateError, ConfigError, TrainingError: see `learnable_facts`, `choose_layout` and
            `refuse_too_few`.
    """
    facts = learnable_facts(tokenizer)
    layout = choose_layout(config.layout, facts, why_not_packable)
    placement = usable_placement(config.placement, facts)
    dropped = Dropped()
    report = RowReport(layout, dropped=dropped.counts)

    def combs() -> Iterator[Comb]:
        for whole in samples:
            one = draw_sample(whole, config, facts, placement)
            yield from combs_of_sample(one, tokenizer, config, facts, report, dropped)

    # Whatever the hour, all of them print one day.
    with rendered_on(printed_day()):
        store_combs(combs(), sink)
    refuse_too_few(report, config)
    dropped.say()
    warn_of_changes(report, config)
    return report


def rows_in(
    source: str | pa.Buffer, report: RowReport, config: TrainConfig, world_size: int
) -> Any:
    """Return the rows of what `write_combs` wrote, as a `datasets.Dataset`; the report gets their numbers.

    Rows without loss are appended until an epoch is a whole number of optimiser
    steps on all processes: else Accelerate's `even_batches` would train the
    first rows of the epoch twice. `row_lengths` reads how long the rows are.
    """
    from datasets import Dataset, Features, List, Value

    combs = (Dataset.from_file if isinstance(source, str) else Dataset.from_buffer)(source)
    lengths = _student_lengths(combs.data)
    report.rows_a_step = config.gradient_accumulation_steps
    if report.layout == "comb" and is_packed(config):
        groups, report.rows_a_step = packed_rows(lengths, config)
    else:
        groups = [[number] for number in range(len(combs))]
    step = world_size * config.per_device_train_batch_size * report.rows_a_step
    report.num_rows, report.num_padding_rows = len(groups), -len(groups) % step
    num_tokens = [sum(lengths[number] for number in group) for group in groups]
    numbers = Dataset.from_dict(
        {
            "combs": [*groups, *[[]] * report.num_padding_rows],
            NUM_TOKENS: [*num_tokens, *[1] * report.num_padding_rows],
        },
        Features({"combs": List(Value("int64")), NUM_TOKENS: Value("int64")}),
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


def row_lengths(rows: Any) -> list[int]:
    """Return how many tokens the student reads of each row of `rows_in`, without putting rows together."""
    lengths: list[int] = rows.data.column(NUM_TOKENS).to_pylist()
    return lengths


def _student_lengths(combs: pa.Table) -> list[int]:
    """Return how many tokens the student reads of each row of combs."""
    whole: list[int] = pc.list_value_length(combs.column("input_ids")).to_pylist()
    if not pc.any(pc.list_flatten(combs.column("teachers"))).as_py():
        return whole
    parts = zip(*(combs.column(name).to_pylist() for name in ("lengths", "teachers")), strict=True)
    return [
        num - sum(length for length, is_read in zip(*part, strict=True) if is_read)
        for num, part in zip(whole, parts, strict=True)
    ]


def store_combs(combs: Iterable[Comb], sink: BinaryIO) -> None:
    """Write combs one block after the other, one comb or a pair of plain ones a row."""
    columns = (combs_to_features(together) for together in _pairs(combs))
    with pa.ipc.new_stream(sink, SCHEMA) as stream:
        while block := list(islice(columns, COMBS_PER_BLOCK)):
            stream.write_batch(pa.RecordBatch.from_pylist(block, schema=SCHEMA))


def _pairs(combs: Iterable[Comb]) -> Iterator[list[Comb]]:
    """Yield each comb with its partner where it has one: they are trained together."""
    together: list[Comb] = []
    for comb in combs:
        if together and not comb.is_partner:
            yield together
            together = []
        together.append(comb)
    if together:
        yield together


@dataclass(frozen=True)
class TrainingRows:
    """The rows of a run."""

    rows: Any
    """A `datasets.Dataset`, mapped into memory."""
    report: RowReport
    trained_on: TrainedOn
    """The dialogues of all samples, and the catalogue entries of those that are used."""


def rows_of_run(
    config: TrainConfig,
    tokenizer: Tokenizer,
    folder: Path,
    identity: Mapping[str, Any],
    *,
    why_not_packable: str | None,
) -> TrainingRows:
    """Return the rows of a run; every process calls it, and the main one makes them where none are kept.

    `identity` is that of the run (`gatt.train.run_folder.identity`), whose folder all processes see;
    `why_not_packable` is of its model.

    Raises:
        DataError: broken samples, with file and line.
        StoreError: the folder cannot be written.
        TemplateError, ConfigError, TrainingError: see `write_combs`.
    """
    kept = folder / FOLDER
    made_of = {
        "why_not_packable": why_not_packable,
        "day": printed_day().isoformat(),
        "version": version("ghost-attention"),
    }
    mark = fingerprint({**identity, **made_of})

    def made() -> RowReport:
        report = _kept_report(kept, mark)
        if report is None:
            return _make(config, tokenizer, kept, mark, why_not_packable)
        refuse_too_few(report, config)
        return report

    report = from_main(made)
    rows = rows_in(str(kept / COMBS), report, config, current_runtime().num_processes)
    log.info(
        "%d samples -> %d rows (%s), %d targets, %d of %d tokens carry loss%s",
        report.num_used, report.num_rows, report.layout, report.num_targets,
        report.num_supervised_tokens, report.num_tokens,
        "".join(
            f", {num} of them by {name}"
            for name, num in report.objectives.items()
            if name != DEFAULT_OBJECTIVE
        ),
    )  # fmt: skip
    trained_on = read_marks(kept)
    assert trained_on is not None
    return TrainingRows(rows, report, trained_on)


def forget_rows(folder: Path) -> None:
    """Delete the rows of a run, which a finished one needs no longer."""
    shutil.rmtree(folder / FOLDER, ignore_errors=True)


def _kept_report(kept: Path, mark: str) -> RowReport | None:
    try:
        found = read_json(kept / REPORT)
        return RowReport.from_dict(found["report"]) if found["fingerprint"] == mark else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _make(
    config: TrainConfig,
    tokenizer: Tokenizer,
    kept: Path,
    mark: str,
    why_not_packable: str | None,
) -> RowReport:
    (kept / REPORT).unlink(missing_ok=True)
    trained_on = TrainedOn.of(())
    counts = {path: count_lines(path) for path in config.samples}
    if len(counts) > 1:
        log.info("samples: %s", ", ".join(f"{num} from {path}" for path, num in counts.items()))

    def samples(bar: Bar) -> Iterator[GattSample]:
        for sample in read_all_samples(config.samples):
            trained_on.add(sample.dialogue)
            yield sample
            bar.advance(1)

    try:
        with (
            atomic_stream(kept / COMBS) as sink,
            progress_bar("tokenise", sum(counts.values()), unit="samples") as bar,
        ):
            report = write_combs(
                samples(bar), tokenizer, config, sink, why_not_packable=lambda: why_not_packable
            )
    except BaseException:
        shutil.rmtree(kept, ignore_errors=True)
        raise
    trained_on.entries = set(report.entries)
    write_marks(kept, trained_on)
    atomic_write_json(kept / REPORT, {"fingerprint": mark, "report": report.as_dict()})
    return report
