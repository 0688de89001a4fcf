"""The rows of a run in its folder: one process makes them, all read them, a resumed run finds them again."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from gatt.comb.comb import DEFAULT_OBJECTIVE
from gatt.data.sample import GattSample, read_all_samples
from gatt.data.training_marks import TrainedOn, read_marks, write_marks
from gatt.models.chat_template import Tokenizer, printed_day
from gatt.runs.atomic_file import atomic_stream, atomic_write_json
from gatt.runs.input_file import count_lines, read_json
from gatt.runs.progress import Bar, progress_bar
from gatt.runs.provenance import fingerprint
from gatt.train.config import TrainConfig
from gatt.train.data.report import RowReport, refuse_too_few
from gatt.train.data.rows import rows_in, write_combs
from gatt.train.runtime import current_runtime, from_main

log = logging.getLogger(__name__)

FOLDER: Final = "rows"
COMBS: Final = "combs.arrow"
REPORT: Final = "rows.json"
"""Written last: where it stands, the rows are whole."""


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
        written = read_json(kept / REPORT)
        return RowReport.from_dict(written["report"]) if written["fingerprint"] == mark else None
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
