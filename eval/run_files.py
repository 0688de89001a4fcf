"""What the files in an evaluation's folder are called."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from gatt.jsonl_lines import COMPRESSED

ROLLOUTS_FILE: Final = "rollouts.jsonl"
"""The unit of resuming is its row; see `eval.rollout_rows`."""
SAMPLES_FILE: Final = "samples.jsonl"
RESULTS_FILE: Final = "results.json"
REPORT_FILE: Final = "report.html"


def samples_of_run(folder: Path) -> Path:
    """Return where a run's replies are: `samples.jsonl`, or where there is none that file compressed."""
    plain = folder / SAMPLES_FILE
    packed = (plain.with_name(plain.name + ending) for ending in COMPRESSED)
    return next((path for path in (plain, *packed) if path.is_file()), plain)
