"""Count the kept samples of a folder as a Markdown table, or print targets at random to be read.

    python scripts/research/checks/kept_samples.py results/qwen
    python scripts/research/checks/kept_samples.py results/qwen --read 100 --seed 0

Kinds of targets: sampled (the first draw), hinted (drawn with the catalogue's hint), prefilled (drawn behind a
given beginning) and composed (the behaviour's sentence was added).
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from gatt.data.sample import read_samples

KINDS = ("sampled", "hinted", "prefilled", "composed")


def counted(folder: Path) -> str:
    """Return the table: a row for each file, and one for all."""
    rows, total = [], Counter[str]()
    for path in sorted(folder.glob("*.jsonl.gz")):
        found = Counter[str]()
        for sample in read_samples(path):
            kinds = [str(target.kind) for target in sample.targets if target.reply]
            found.update(samples=1, turns=len(sample.targets), targets=len(kinds))
            found.update(kinds)
        rows.append((path.name.removesuffix(".jsonl.gz"), found))
        total.update(found)
    columns = ("samples", "turns", "targets", *KINDS)
    lines = [f"| set | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    for name, found in (*rows, ("all", total)):
        lines.append(f"| {name} | {' | '.join(f'{found[column]:,}' for column in columns)} |")
    return "\n".join(lines)


def drawn(folder: Path, num: int, seed: int) -> Iterator[str]:
    """Yield targets under an instruction, drawn at random, each with its message."""
    found = []
    for path in sorted(folder.glob("*.jsonl.gz")):
        for sample in read_samples(path):
            users = [m.content for m in sample.dialogue.messages if m.role == "user"]
            for target, user in zip(sample.targets, users, strict=True):
                if target.reply and sample.instruction:
                    found.append((sample.instruction.text, user, target.reply))
    for number, texts in enumerate(random.Random(seed).sample(found, num), 1):
        told, user, reply = (" / ".join(text.split("\n")) for text in texts)
        yield f"{number}. [{told}]\n   user: {user}\n   reply: {reply}"


def main() -> None:
    """Print the table, or the targets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--read", type=int, metavar="N", help="print N targets instead")
    parser.add_argument("--seed", type=int, default=0, help="of --read (%(default)s)")
    args = parser.parse_args()
    if args.read:
        print(*drawn(args.folder, args.read, args.seed), sep="\n")
    else:
        print(counted(args.folder))


if __name__ == "__main__":
    main()
