"""How far the rules' verdicts hold where somebody reads the replies: drawn blind, marked by hand, counted.

    python scripts/check_verdicts.py draw RUN FILE --arms gatt base+reminder
    python scripts/check_verdicts.py count RUN FILE

`draw` writes as many replies of each arm that passed as that failed, in an order that tells neither arm nor
verdict, with `"kept": null`. The reader puts true or false there: is the instruction kept, as whoever gave it
would see it? `count` sets the marks against the verdicts: how many of those that passed were not kept, and how
many of those that failed were.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections import defaultdict
from pathlib import Path

from eval.metrics.wilson import wilson_interval
from eval.run_files import samples_of_run
from eval.samples import Sample, read_samples


def name_of(sample: Sample) -> str:
    """Return a name of the reply that tells neither arm nor verdict."""
    return hashlib.sha256("\0".join(map(str, sample.key)).encode()).hexdigest()[:12]


def replies(run: Path) -> list[Sample]:
    """Return the decided replies to ordinary turns under an instruction."""
    path = samples_of_run(run)
    if not path.is_file():
        sys.exit(f"{path}: no such file: expected the folder of an evaluation")
    return [
        sample
        for sample in read_samples(path)
        if sample.kind == "turn" and sample.instruction and sample.status != "undecided"
    ]


def draw(args: argparse.Namespace) -> None:
    """Write the replies that are to be read."""
    if args.file.exists():
        sys.exit(f"{args.file}: is there already: expected a new file")
    rng = random.Random(args.seed)
    by_kind: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    for sample in replies(args.run):
        if sample.arm in args.arms:
            by_kind[sample.arm, sample.status].append(sample)
    drawn = [
        sample
        for _, samples in sorted(by_kind.items())
        for sample in rng.sample(samples, min(args.num, len(samples)))
    ]
    rng.shuffle(drawn)
    with args.file.open("w", encoding="utf-8") as out:
        for sample in drawn:
            assert sample.instruction is not None
            row = {
                "name": name_of(sample),
                "instruction": sample.instruction.text,
                "user": sample.user,
                "reply": sample.reply,
                "kept": None,
            }
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    sys.stdout.write(f"{args.file}: {len(drawn)} replies: put true or false behind each `kept`\n")


def count(args: argparse.Namespace) -> None:
    """Print how often the marks and the verdicts differ, and where."""
    try:
        rows = [json.loads(line) for line in args.file.read_text(encoding="utf-8").splitlines()]
        marks = {row["name"]: row["kept"] for row in rows}
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"{args.file}: {error}: expected what `draw` wrote, with true or false for `kept`")
    if missing := [name for name, kept in marks.items() if not isinstance(kept, bool)]:
        sys.exit(f"{args.file}: {len(missing)} replies have no mark, such as {missing[0]}")
    found: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    for sample in replies(args.run):
        if name_of(sample) in marks:
            found[sample.arm, sample.status].append(sample)
    if sum(map(len, found.values())) != len(marks):
        sys.exit(f"{args.file}: not all of its {len(marks)} replies are decided ones of {args.run}")
    wrong = []
    for (arm, status), samples in sorted(found.items()):
        others = [s for s in samples if marks[name_of(s)] != (status == "pass")]
        low, high = (100 * bound for bound in wilson_interval(len(others), len(samples)))
        said = "were not kept" if status == "pass" else "were kept"
        sys.stdout.write(
            f"{arm}: of {len(samples)} that {status} {len(others)} {said} [{low:.0f}, {high:.0f}] %\n"
        )
        wrong += others
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
            command.add_argument("--arms", nargs="+", default=["base", "gatt", "base+reminder"])
            command.add_argument("--num", type=int, default=40, help="of an arm and verdict")
            command.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.run_command(args)


if __name__ == "__main__":
    main()
