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
from collections import defaultdict
from pathlib import Path

from eval.metrics.intervals import wilson_interval
from eval.records.samples import Sample, read_samples, samples_of_run
from gatt.errors import ConfigError, DataError, GattError
from gatt.runs.atomic_file import atomic_write_text
from gatt.runs.input_file import scan_lines


def name_of(sample: Sample) -> str:
    """Return a name of the reply that tells neither arm nor verdict."""
    return hashlib.sha256("\0".join(map(str, sample.key)).encode()).hexdigest()[:12]


def replies(run: Path) -> dict[tuple[str, str], list[Sample]]:
    """Return the decided replies to ordinary turns under one instruction, by arm and verdict."""
    found: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    for s in read_samples(samples_of_run(run)):
        is_plain_turn = s.kind == "turn" and s.instruction and not s.given and s.expected == "kept"
        if is_plain_turn and s.status != "undecided":
            found[s.arm, s.status].append(s)
    if not found:
        raise DataError(f"{run}: no reply to read: expected an evaluation under instructions")
    return found


def draw(args: argparse.Namespace) -> None:
    """Write replies that are to be read, in an order that tells nothing."""
    if args.file.exists():
        raise ConfigError(f"{args.file}: is there already: expected a new file")
    by_kind = replies(args.run)
    arms = {arm for arm, _ in by_kind}
    if unknown := [arm for arm in args.arms or () if arm not in arms]:
        raise ConfigError(
            f"{args.run}: no reply to read of {unknown[0]}: expected some of {', '.join(sorted(arms))}"
        )
    rng = random.Random(args.seed)
    drawn = [
        sample
        for (arm, _), samples in sorted(by_kind.items())
        if arm in (args.arms or arms)
        for sample in rng.sample(samples, min(args.num, len(samples)))
    ]
    rng.shuffle(drawn)
    rows = [
        {"name": name_of(s), "instruction": s.instruction.text, "user": s.user, "reply": s.reply, "kept": None}
        for s in drawn
        if s.instruction
    ]  # fmt: skip
    atomic_write_text(args.file, "".join(json.dumps(row) + "\n" for row in rows))
    print(f"{args.file}: {len(rows)} replies: put true or false behind each `kept`")


def count(args: argparse.Namespace) -> None:
    """Print how often the marks and the verdicts differ, and where."""
    marks: dict[str, bool] = {}
    for line in scan_lines(args.file, allow_broken_end=False, allow_torn_end=False):
        name, kept = line.record.get("name"), line.record.get("kept")
        if not isinstance(name, str) or not isinstance(kept, bool):
            raise DataError(
                f"{args.file} line {line.number}: `kept` is {json.dumps(kept)}: expected true or false"
            )
        marks[name] = kept
    by_kind = replies(args.run)
    read = {kind: [s for s in found if name_of(s) in marks] for kind, found in by_kind.items()}
    if not marks or sum(map(len, read.values())) != len(marks):
        raise DataError(
            f"{args.file}: not all of its {len(marks)} replies are decided ones of {args.run}: "
            "expected the evaluation that they were drawn from"
        )
    wrong = []
    num_kept: dict[str, dict[str, float]] = defaultdict(dict)
    for (arm, status), samples in sorted(read.items()):
        if not samples:
            continue
        others = [s for s in samples if marks[name_of(s)] != (status == "pass")]
        low, high = (100 * bound for bound in wilson_interval(len(others), len(samples)))
        said = "were not kept" if status == "pass" else "were kept"
        print(
            f"{arm}: of {len(samples)} that {status} {len(others)} {said} [{low:.0f}, {high:.0f}] %"
        )
        wrong += others
        share = sum(marks[name_of(s)] for s in samples) / len(samples)
        num_kept[arm][status] = share * len(by_kind[arm, status])
    for arm, kept_of in num_kept.items():
        totals = {status: len(found) for (of, status), found in by_kind.items() if of == arm}
        if kept_of.keys() == totals.keys():
            num = sum(totals.values())
            print(
                f"{arm}: {100 * totals.get('pass', 0) / num:.1f} % of {num} decided replies pass, and "
                f"about {100 * sum(kept_of.values()) / num:.1f} % are kept"
            )
    for s in wrong:
        evidence = "; ".join(verdict.evidence for verdict in s.verdicts)
        about = s.instruction.text if s.instruction else ""
        print(
            f"\n{s.arm}, turn {s.turn}: {s.status} ({evidence})\n  {about}\n  > {s.user!r}\n  {s.reply!r}"
        )


def main() -> None:
    """Draw or count."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["draw", "count"])
    parser.add_argument("run", type=Path, help="folder of the evaluation")
    parser.add_argument("file", type=Path, help="the replies and their marks (JSON lines)")
    parser.add_argument("--arms", nargs="+", metavar="ARM", help="that are drawn (all)")
    parser.add_argument("--num", type=int, default=40, help="drawn of an arm and verdict (40)")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn (0)")
    args = parser.parse_args()
    try:
        (draw if args.what == "draw" else count)(args)
    except GattError as error:
        sys.exit(f"verdicts_by_hand: {error}")


if __name__ == "__main__":
    main()
