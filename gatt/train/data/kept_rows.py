"""The rows of a run in its folder: made by one process, read by all, and found again by a resumed run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gatt import __version__
from gatt.data.sample import GattSample
from gatt.data.training_marks import Marks, TrainedOn, read_marks, write_marks
from gatt.models.chat_template import Tokenizer, printed_day
from gatt.runs.atomic_file import atomic_stream, atomic_write_json
from gatt.runs.input_file import count_lines, read_json
from gatt.runs.progress import Bar, progress_bar
from gatt.runs.provenance import fingerprint
from gatt.train.config import TrainConfig
from gatt.train.data.row_report import RowReport, refuse_too_few
from gatt.train.data.rows import rows_in, write_combs
from gatt.train.data.samples import Dropped, read_all_samples
from gatt.train.runtime import current_runtime, from_main

FOLDER: Final = "rows"
COMBS: Final = "combs.arrow"
REPORT: Final = "rows.json"
"""Written last: where it stands, the rows are whole."""
MANY_SAMPLES: Final = 2000
"""So many take long enough to show how far it is."""


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
        TemplateError, ConfigError, TrainingError: see `gatt.train.data.rows.write_combs`.
    """
    kept = folder / FOLDER
    mark = fingerprint(
        {
            **identity,
            "why_not_packable": why_not_packable,
            "day": printed_day().isoformat(),
            "version": __version__,
        }
    )

    def made() -> RowReport:
        report = _kept_report(kept, mark)
        if report is None:
            return _make(config, tokenizer, kept, mark, why_not_packable)
        refuse_too_few(report, Dropped(report.dropped), config)
        return report

    report = from_main(made)
    rows = rows_in(str(kept / COMBS), report, config, current_runtime().num_processes)
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
    dropped, marks = Dropped(), Marks()
    num_lines = sum(count_lines(path) for path in config.samples)
    is_long = num_lines >= MANY_SAMPLES
    shown = progress_bar("tokenise", num_lines, unit="samples") if is_long else nullcontext()

    def samples(bar: Bar | None) -> Iterator[GattSample]:
        for sample in read_all_samples(config.samples, dropped.add_line):
            marks.add(sample.dialogue)
            yield sample
            if bar:
                bar.advance(1)

    try:
        with atomic_stream(kept / COMBS) as sink, shown as bar:
            report = write_combs(
                samples(bar), tokenizer, config, sink, dropped=dropped,
                why_not_packable=lambda: why_not_packable,
            )  # fmt: skip
    except BaseException:
        shutil.rmtree(kept, ignore_errors=True)
        raise
    write_marks(kept, marks.trained_on(report.entries))
    atomic_write_json(kept / REPORT, {"fingerprint": mark, "report": report.as_dict()})
    return report
