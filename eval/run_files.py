"""What the files in an evaluation's folder are called."""

from __future__ import annotations

from typing import Final

ROLLOUTS_FILE: Final = "rollouts.jsonl"
"""The unit of resuming is its row; see `eval.rollout_rows`."""
SAMPLES_FILE: Final = "samples.jsonl"
RESULTS_FILE: Final = "results.json"
REPORT_FILE: Final = "report.html"
