"""From samples to training rows. Whatever is left out is counted, by reason.

The rows of a run stand in its folder: one process makes them, all read them, a resumed run finds them again.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow as pa

from gatt.comb.collator import RowLayout
from gatt.comb.comb import DEFAULT_OBJECTIVE, Comb, expand, fold, split_to_fit
from gatt.comb.objectives.table import TABLE
from gatt.data.sample import GattSample
from gatt.data.training_marks import TrainedOn, read_marks, write_marks
from gatt.errors import ConfigError, DataError, TemplateError
from gatt.models.chat_template import Tokenizer, printed_day, rendered_on
from gatt.models.template_facts import TemplateFacts, learnable_facts, usable_placement
from gatt.runs.atomic_file import atomic_stream, atomic_write_json
from gatt.runs.input_file import count_lines, read_json
from gatt.runs.progress import Bar, progress_bar
from gatt.runs.provenance import fingerprint
from gatt.train.config import TrainConfig
from gatt.train.data.encode import DrawnSample, draw_sample, encode_sample
from gatt.train.data.labels import BuiltComb, BuiltSample
from gatt.train.data.row_table import rows_in, store_combs
from gatt.train.data.samples import (
    Dropped,
    RowReport,
    read_all_samples,
    reason_of,
    refuse_too_few,
    warn_of_changes,
)
from gatt.train.runtime import current_runtime, from_main

log = logging.getLogger(__name__)

FOLDER: Final = "rows"
COMBS: Final = "combs.arrow"
REPORT: Final = "rows.json"
"""Written last: where it stands, the rows are whole."""


def choose_layout(
    wanted: str, facts: TemplateFacts, why_not_packable: Callable[[], str | None]
) -> RowLayout:
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
            yield from _combs_of(one, tokenizer, config, facts, report, dropped)

    # Whatever the hour, all of them print one day.
    with rendered_on(printed_day()):
        store_combs(combs(), sink)
    refuse_too_few(report, config)
    dropped.say()
    warn_of_changes(report, config)
    return report


def _combs_of(
    one: DrawnSample,
    tokenizer: Tokenizer,
    config: TrainConfig,
    facts: TemplateFacts,
    report: RowReport,
    dropped: Dropped,
) -> list[Comb]:
    """Return the rows of a sample, as far as it can be learned; count them, and what is left out of it."""
    sample = one.sample
    combs: list[Comb] = []
    told: list[str] = []
    report.num_samples += 1
    has_pairs = TABLE[one.objective].needs_pairs
    report.num_wanted += sample.num_pairs if has_pairs else sample.num_targets
    report.num_moved += one.is_moved
    before = report.num_supervised_tokens
    try:
        built = encode_sample(one, tokenizer, config, facts)
        told += built.dropped_targets
        report.num_encoded += built.num_targets
        rows, problems = rows_of(one, built, config, report.layout)
        combs += (comb for comb, _ in rows)
        told += problems
    except (DataError, TemplateError) as error:
        told.append(str(error))
    for comb in combs:
        report.add_comb(comb)
    if report.num_supervised_tokens > before:
        report.num_used += 1
        report.num_targets += built.num_targets
        report.num_exchanges_dropped += built.num_exchanges_dropped
        report.num_shortened += built.num_exchanges_dropped > 0
        report.kinds.update(t.kind for t in sample.targets if t.kind is not None)
        report.families[sample.family] += 1
        told_of = (sample.instruction_at(turn) for turn in built.targets)
        report.entries.update({e for one in told_of if one for e in one.entries})
    for line in told:
        dropped.add(*reason_of(line, sample))
    return combs


def rows_of(
    one: DrawnSample, built: BuiltSample, config: TrainConfig, layout: RowLayout
) -> tuple[list[tuple[Comb, BuiltComb]], list[str]]:
    """Return the rows of one sample, and a message where none of them has a token to learn.

    With each row stands the comb that it is from.
    A sample without a token that carries loss gives its message in every layout; in the comb
    layout its rows stay, so that a control trains in the same steps.

    Raises:
        DataError: a branch or a trunk that does not fit into a row.
    """
    where = f"sample {one.sample.id!r}"
    rows: list[tuple[Comb, BuiltComb]] = []
    for part in built.parts:
        comb = part.comb
        if layout == "expanded":
            rows += [(row, part) for row in expand(comb)]
            continue
        comb = fold(comb) if part.is_alone or one.history == "sampled" else comb
        try:
            fitting = split_to_fit(comb, config.max_tokens_per_row)
        except DataError as error:
            raise DataError(f"{where}: {error}") from None
        rows += [(row, part) for row in fitting]
    if built.num_targets and not any(row.num_supervised for row, _ in rows):
        return rows, [
            f"{where}: no reply of its own before its last target that supervise "
            f"{one.supervise!r} could train on: expected a target at turn 2 or later"
        ]
    return rows, []


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
