"""`gatt report`: the page and the tables of one or several runs, written again from their files."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from gatt.cli import path_argument
from gatt.stages.run_file import RUN_FILE, load_run

log = logging.getLogger(__name__)

HELP = "write the report of a run again, or put several runs side by side"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the runs and what is to be written."""
    parser.add_argument(
        "runs", nargs="+", metavar="RUN",
        help="folder (output_dir) of an evaluation or of a run of `gatt run`; NAME=FOLDER names it in a report "
        "of several runs",
    )  # fmt: skip
    for flag, about in (
        ("--output", "the page (default: report.html in the folder of the run; of several runs, here)"),
        ("--markdown", "also write the tables as Markdown, for a model card"),
        ("--chart", "also write a curve over turns as a picture (.png, .svg, .pdf)"),
    ):  # fmt: skip
        parser.add_argument(flag, type=path_argument, metavar="FILE", help=about)
    parser.add_argument(
        "--metric", metavar="NAME",
        help="the measure of --chart, such as survival (default: that of the page's first chart)",
    )  # fmt: skip
    parser.add_argument(
        "--ratings", type=path_argument, action="append", default=[], metavar="FILE",
        help="ratings.jsonl that the page of a report or `gatt chat --web` saved; they are compared with the "
        "rules; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--baseline", metavar="ARM",
        help="the arm that all others are compared with, case by case (default: that of the evaluation; of "
        "several runs, that of the first)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Write the page, and the tables where they are asked for."""
    from eval.records.samples import REPORT_FILE, samples_of_run
    from eval.report.charts.curves import save_main_chart
    from eval.report.data.runs import (
        compared,
        joined,
        read_runs,
        refuse_own_files,
        samples_of,
    )
    from eval.report.data.selection import Curves
    from eval.report.page.render import render_report
    from eval.report.tables.written import markdown_tables
    from gatt.data.ratings import read_ratings
    from gatt.runs.atomic_file import atomic_write_text

    runs = read_runs(args.runs, _evaluation_of)
    output = args.output or (runs[0].folder if len(runs) == 1 else Path()) / REPORT_FILE
    refuse_own_files((output, args.markdown, args.chart), [run.folder for run in runs])
    results = dict(joined(runs))
    missing = [path for run in runs if not (path := samples_of_run(run.folder)).is_file()]
    if missing:
        log.warning(
            "%s: no such file: the page has no transcripts, and runs are not compared reply by reply",
            ", ".join(map(str, missing)),
        )
    if args.baseline is not None:
        results["differences"] = compared(runs, args.baseline)
    elif len(runs) > 1 and not missing:
        results["differences"] = [*results["differences"], *compared(runs)]
    ratings = [rating for file in args.ratings for rating in read_ratings(file)]
    render_report(results, () if missing else samples_of(runs), output, ratings)
    sys.stdout.write(f"{output} ({output.stat().st_size / 1e6:.1f} MB)\n")
    if args.markdown:
        atomic_write_text(args.markdown, markdown_tables(results))
        sys.stdout.write(f"{args.markdown}\n")
    if args.chart:
        curves = Curves.of(results)
        save_main_chart(args.chart, curves, args.metric or curves.main_metric)
        sys.stdout.write(f"{args.chart}\n")
    return 0


def _evaluation_of(folder: Path) -> Path:
    """Return the folder of the evaluation of a run of `gatt run`; any other folder as it is."""
    from eval.records.samples import RESULTS_FILE

    if (folder / RESULTS_FILE).is_file() or not (folder / RUN_FILE).is_file():
        return folder
    config = load_run(folder).config_of("eval")
    return folder if config is None else Path(config.output_dir)
