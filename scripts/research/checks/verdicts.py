"""How often the verifiers of the shipped catalogue agree with people: wrong passes and wrong fails.

    python scripts/research/checks/verdicts.py labels.jsonl [more.jsonl …] [--list]

Every line is a labelled reply: `entry`, `user`, `reply`, `label` ("good" or "bad") and `trap` (what makes
it hard). Wrong passes are counted among passes, wrong fails among fails, undecided among all replies.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gatt.data.catalog.read import load_catalog
from gatt.data.instruction import Entry
from gatt.verifiers import Status, check_all, overall

EXPECTED = {"good": "pass", "bad": "fail"}
MOST_WRONG_PASSES = 0.05
MOST_WRONG_FAILS = 0.10
MOST_UNDECIDED = 0.10


@dataclass(frozen=True)
class Judged:
    """A labelled reply with the verdict on it."""

    family: str
    entry: str
    reply: str
    label: str
    trap: str
    status: Status
    evidence: str

    @property
    def is_wrong(self) -> bool:
        """Whether the verdict is a pass or a fail, and the other one was right."""
        return self.status not in ("undecided", EXPECTED[self.label])


def read_judged(files: Iterable[Path], entries: Iterable[Entry]) -> list[Judged]:
    """Return every labelled reply of some files with its verdict; a label or entry unknown is an error."""
    by_id = {entry.id: entry for entry in entries}
    judged = []
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
            raw = json.loads(line)
            entry = by_id.get(raw["entry"])
            if entry is None or raw["label"] not in EXPECTED:
                raise SystemExit(
                    f"{file} line {number}: entry {raw['entry']!r}, label {raw['label']!r}: expected an "
                    f"entry of the catalogue and a label of {', '.join(EXPECTED)}"
                )
            verdicts = check_all(entry.verifiers, raw["reply"])
            status = overall(verdicts)
            evidence = next((v.evidence for v in verdicts if v.status == status), "no verifier")
            judged.append(
                Judged(entry.family, entry.id, raw["reply"], raw["label"], raw.get("trap") or "", status,
                       evidence)
            )  # fmt: skip
    return judged


def share(part: int, whole: int, most: float) -> str:
    """Return a count with its share of the whole; red where it is above the bar."""
    if not whole:
        return f"{part}"
    text = f"{part} ({part / whole:.1%})"
    return f"[red]{text}[/red]" if part / whole > most else text


def table_of(judged: Sequence[Judged]) -> Table:
    """Return the counts by family, and over all."""
    table = Table(
        "family", "replies", "passes", "wrong passes", "fails", "wrong fails", "undecided"
    )
    families = sorted({one.family for one in judged})
    for name in [*families, *(["all"] if len(families) > 1 else [])]:
        rows = [one for one in judged if name in (one.family, "all")]
        passes = [one for one in rows if one.status == "pass"]
        fails = [one for one in rows if one.status == "fail"]
        num_undecided = len(rows) - len(passes) - len(fails)
        table.add_row(
            name, str(len(rows)), str(len(passes)),
            share(sum(one.is_wrong for one in passes), len(passes), MOST_WRONG_PASSES), str(len(fails)),
            share(sum(one.is_wrong for one in fails), len(fails), MOST_WRONG_FAILS),
            share(num_undecided, len(rows), MOST_UNDECIDED),
        )  # fmt: skip
    return table


def main() -> None:
    """Print the table, and with `--list` every wrong or undecided verdict before it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--list", action="store_true", help="show every wrong or undecided verdict")
    options = parser.parse_args()
    judged = read_judged(options.files, load_catalog().entries)
    console = Console(soft_wrap=True, highlight=False)
    if options.list:
        for one in sorted(judged, key=lambda one: (one.family, one.status, one.entry)):
            if one.is_wrong or one.status == "undecided":
                said = escape(f"{one.entry} [{one.trap}] {one.reply!r}: {one.evidence}")
                console.print(f"[bold]{one.status}[/bold], labelled {one.label}: {said}")
    console.print(table_of(judged))


if __name__ == "__main__":
    main()
