"""`gatt synth verify`: whether the files of a run hold what its plan says."""

from __future__ import annotations

import argparse
import sys

from gatt.config.path_argument import path_argument

HELP = "check every line of a run's files; a line for each problem, and status 1 if there is one"
EXIT_PROBLEMS = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the folder and whether to run the verifiers."""
    parser.add_argument(
        "folder", type=path_argument, metavar="FOLDER", help="output_dir of the run"
    )
    parser.add_argument(
        "--recheck",
        action="store_true",
        help="also run the verifiers on every target and compare their verdicts (takes longer)",
    )


def run(args: argparse.Namespace) -> int:
    """Check the files and return the exit status; 1 where there is a problem."""
    from data_synth.parallel.verify import VerifyCounts, verify_run

    counts = VerifyCounts()
    num_problems = 0
    for problem in verify_run(args.folder, counts, recheck=args.recheck):
        num_problems += 1
        sys.stdout.write(f"{' '.join(problem.split())}\n")
    found = f"{num_problems} problems" if num_problems else "no problem"
    sys.stdout.write(
        f"{args.folder}: {found} in {counts.num_samples} samples with {counts.num_targets} targets "
        f"in {counts.num_files} files\n"
    )
    return EXIT_PROBLEMS if num_problems else 0
