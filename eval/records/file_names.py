"""What the files in an evaluation's folder are called."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from gatt.runs.jsonl import COMPRESSED

ROLLOUTS_FILE: Final = "rollouts.jsonl"
"""The unit of resuming is its row; see `eval.rollout.rows`."""
SAMPLES_FILE: Final = "samples.jsonl"
SAMPLES_FILES: Final = tuple(SAMPLES_FILE + ending for ending in ("", *COMPRESSED))
"""It, or where it is not there the same compressed."""
RESULTS_FILE: Final = "results.json"
REPORT_FILE: Final = "report.html"


def samples_of_run(folder: Path) -> Path:
    """Return where a run's replies are: the first of `SAMPLES_FILES`, and the plain one if none is there."""
    paths = [folder / name for name in SAMPLES_FILES]
    return next((path for path in paths if path.is_file()), paths[0])
