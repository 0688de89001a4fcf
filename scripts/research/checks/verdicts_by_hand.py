"""How far the rules' verdicts hold where somebody reads the replies: drawn blind, marked by hand, counted.

    python scripts/research/checks/verdicts_by_hand.py draw RUN FILE --arms gatt base+system+reminder
    python scripts/research/checks/verdicts_by_hand.py count RUN FILE

`draw` writes as many replies of each arm that passed as that failed, in an order that tells neither arm nor
verdict, with `"kept": null`. The reader puts true or false there: is the instruction kept, as whoever gave it
would see it? `count` sets the marks against the verdicts: how many of those that passed were not kept, and how
many of those that failed were (the intervals take the replies for independent), and what the arm's rate would
be by these. Replies behind a change of the instruction, probes and undecided ones are not drawn.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from eval.metrics.intervals import wilson_interval
from eval.records.samples import Sample, read_samples, samples_of_run
from gatt.errors import ConfigError, DataError, GattError
from gatt.runs.atomic_file import atomic_write_text
from gatt.runs.input_file import scan_lines


def name_of(sample: Sample) -> str:
    """Return a name of the reply that tells neither arm nor verdict."""
    return hashlib.sha256("\0".join(map(str, sample.key)).encode()).hexdigest()[:12]


def replies(run: Path) -> list[Sample]:
    """Return the decided replies to ordinary turns under one instruction.

    Raises:
        DataError: no folder of an evaluation, or a broken one.
    """
    return [
        sample
        for sample in read_samples(samples_of_run(run))
        if sample.kind == "turn"
        and sample.instruction
        and not sample.given
        and sample.expected == "kept"
        and sample.status != "undecided"
    ]


def draw(args: argparse.Namespace) -> None:
    """Write replies that are to be read, in an order that tells nothing."""
    if args.file.exists():
        raise ConfigError(f"{args.file}: is there already: expected a new file")
    by_kind: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    for sample in replies(args.run):
        by_kind[sample.arm, sample.status].append(sample)
    known = sorted({arm for arm, _ in by_kind})
    if not known:
        raise DataError(f"{args.run}: no reply to read: expected an evaluation under instructions")
    arms = args.arms or known
    if unknown := [arm for arm in arms if arm not in known]:
        raise ConfigError(
            f"{args.run}: no reply to read of {unknown[0]}: expected some of {', '.join(known)}"
        )
    rng = random.Random(args.seed)
    drawn = [
        sample
        for (arm, _), samples in sorted(by_kind.items())
        if arm in arms
        for sample in rng.sample(samples, min(args.num, len(samples)))
    ]
    rng.shuffle(drawn)
    atomic_write_text(args.file, "".join(json.dumps(_row(s)) + "\n" for s in drawn))
    print(f"{args.file}: {len(drawn)} replies: put true or false behind each `kept`")


def _row(sample: Sample) -> dict[str, Any]:
    assert sample.instruction is not None
    return {
        "name": name_of(sample),
        "instruction": sample.instruction.text,
        "user": sample.user,
        "reply": sample.reply,
        "kept": None,
    }


def read_marks(path: Path) -> dict[str, bool]:
    """Return what the reader said of each reply, by its name.

    Raises:
        GattError: with file and line, for what `draw` did not write or nobody marked.
    """
    marks: dict[str, bool] = {}
    for line in scan_lines(path, allow_broken_end=False, allow_torn_end=False):
        name, kept = line.record.get("name"), line.record.get("kept")
        if not isinstance(name, str) or not isinstance(kept, bool):
            raise DataError(
                f"{path} line {line.number}: `kept` is {json.dumps(kept)}: expected true or false"
            )
        marks[name] = kept
    if not marks:
        raise DataError(f"{path}: empty: expected what `draw` wrote")
    return marks


def count(args: argparse.Namespace) -> None:
    """Print how often the marks and the verdicts differ, and where."""
    marks = read_marks(args.file)
    found: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    totals: Counter[tuple[str, str]] = Counter()
    for sample in replies(args.run):
        totals[sample.arm, sample.status] += 1
        if name_of(sample) in marks:
            found[sample.arm, sample.status].append(sample)
    if sum(map(len, found.values())) != len(marks):
        raise DataError(
            f"{args.file}: not all of its {len(marks)} replies are decided ones of {args.run}: "
            "expected the evaluation that they were drawn from"
        )
    wrong = []
    kept: dict[str, dict[str, float]] = defaultdict(dict)
    for (arm, status), samples in sorted(found.items()):
        others = [s for s in samples if marks[name_of(s)] != (status == "pass")]
        low, high = (100 * bound for bound in wilson_interval(len(others), len(samples)))
        said = "were not kept" if status == "pass" else "were kept"
        print(
            f"{arm}: of {len(samples)} that {status} {len(others)} {said} [{low:.0f}, {high:.0f}] %"
        )
        wrong += others
        share = sum(marks[name_of(s)] for s in samples) / len(samples)
        kept[arm][status] = share * totals[arm, status]
    for arm, by_status in kept.items():
        num = totals[arm, "pass"] + totals[arm, "fail"]
        if by_status.keys() == {s for s in ("pass", "fail") if totals[arm, s]}:
            sys.stdout.write(
                f"{arm}: {100 * totals[arm, 'pass'] / num:.1f} % of {num} decided replies pass, and about "
                f"{100 * sum(by_status.values()) / num:.1f} % are kept\n"
            )
    for sample in wrong:
        assert sample.instruction is not None
        evidence = "; ".join(verdict.evidence for verdict in sample.verdicts)
        sys.stdout.write(
            f"\n{sample.arm}, turn {sample.turn}: {sample.status} ({evidence})\n"
            f"  {sample.instruction.text}\n  > {sample.user!r}\n  {sample.reply!r}\n"
        )


def main() -> None:
    """Draw or count."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="draw | count")
    for name, run in (("draw", draw), ("count", count)):
        command = commands.add_parser(name, help=(run.__doc__ or "").splitlines()[0])
        command.add_argument("run", type=Path, help="folder of the evaluation")
        command.add_argument("file", type=Path, help="the replies and their marks (JSON lines)")
        command.set_defaults(run_command=run)
        if run is draw:
            command.add_argument("--arms", nargs="+", metavar="ARM", help="default: all")
            command.add_argument(
                "--num", type=int, default=40, help="of an arm and verdict (%(default)s)"
            )
            command.add_argument("--seed", type=int, default=0, help="%(default)s")
    args = parser.parse_args()
    try:
        args.run_command(args)
    except GattError as error:
        sys.exit(f"verdicts_by_hand: {error}")
    except OSError as error:
        sys.exit(f"verdicts_by_hand: {error.filename}: {error.strerror}")


if __name__ == "__main__":
    main()
