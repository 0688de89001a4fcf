"""How far the rules' verdicts hold against two readers who saw neither verdict nor arm.

    python scripts/research/checks/read_blind.py results/verdicts/read_blind.jsonl

A line is a reply with the verdicts (`keeps`, `answers`) and what each reader said (`y`, `n` or `?`; of
`sensible` only `y` or `n`). A verdict is wrong where both readers say the opposite.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from gatt.runs.input_file import scan_lines

OPPOSITE: Final = {"pass": "n", "fail": "y"}


def share(rows: Sequence[dict[str, Any]], key: str, verdict: str) -> str:
    """Return how many verdicts of a kind both readers contradict."""
    given = [row for row in rows if row[key] == verdict]
    wrong = sum(all(reader[key] == OPPOSITE[verdict] for reader in row["readers"]) for row in given)
    percent = f", {100 * wrong / len(given):.1f} %" if given else ""
    return f"{wrong} of {len(given)}{percent}"


def main() -> None:
    """Print the table, how often the readers agree, and how many passes of both they find sensible."""
    rows = [line.record for line in scan_lines(Path(sys.argv[1]))]
    table = Table("", "replies", "wrong passes", "wrong fails")
    for key in ("keeps", "answers"):
        for family in ("", *sorted({row["family"] for row in rows})):
            some = [row for row in rows if family in ("", row["family"])]
            cells = (share(some, key, verdict) for verdict in OPPOSITE)
            table.add_row(f"{key} {family}".strip(), str(len(some)), *cells)
    Console().print(table)
    for key in ("keeps", "answers", "sensible"):
        equal = sum(len({reader[key] for reader in row["readers"]}) == 1 for row in rows)
        print(f"{key}: both readers say the same of {equal} of {len(rows)}")
    both = [row for row in rows if row["keeps"] == row["answers"] == "pass"]
    for number in range(len(rows[0]["readers"])):
        sensible = sum(row["readers"][number]["sensible"] == "y" for row in both)
        print(f"passes of both that reader {number + 1} calls sensible: {sensible} of {len(both)}")


if __name__ == "__main__":
    main()
