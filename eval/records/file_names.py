"""Names of the files in an evaluation's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from gatt.runs.input_file import COMPRESSED

ROLLOUTS_FILE: Final = "rollouts.jsonl"
"""An evaluation resumes from its rows; see `eval.rollout.rows`."""
SAMPLES_FILE: Final = "samples.jsonl"
SAMPLES_FILES: Final = tuple(SAMPLES_FILE + ending for ending in ("", *COMPRESSED))
"""The samples, plain or compressed; the first that exists is read."""
RESULTS_FILE: Final = "results.json"
REPORT_FILE: Final = "report.html"


def samples_of_run(folder: Path) -> Path:
    """Return the path of a run's replies: the first of `SAMPLES_FILES` that exists, else the plain one."""
    paths = [folder / name for name in SAMPLES_FILES]
    return next((path for path in paths if path.is_file()), paths[0])
