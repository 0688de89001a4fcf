#!/usr/bin/env bash
# docs/guides/dental_clinic.md word for word (scripts/research/checks/guide.sh), then the counts at turn 20.
#   scripts/research/checks/guide_dental.sh FOLDER
# Exit status 1: the served bot of the clinic asked in fewer than 28 of 30 dialogues, or that of the bank left
# insurance alone in fewer than 27 (a reply that no rule could decide did not).
set -euo pipefail
if [[ $# -ne 1 ]]; then
  echo "usage: scripts/research/checks/guide_dental.sh FOLDER (new or empty)" >&2
  exit 2
fi
checks=$(realpath "$(dirname "$0")")
"$checks/guide.sh" "$checks/../../docs/guides/dental_clinic.md" "$1"
cd "$1"

python3 - <<'PYTHON'
import json
import sys
from pathlib import Path


def counts(folder: str) -> tuple[int, int, int]:
    """Replies at turn 20 that passed, that failed, and that no rule could decide."""
    records = json.loads(Path(folder, "results.json").read_text(encoding="utf-8"))["curves"]
    [found] = [
        r
        for r in records
        if (r["metric"], r["turn"], r["family"], r["split"]) == ("keeps", 20, "all", "all")
    ]
    passed, decided = found["num_passed"], found["num_decided"]
    return passed, decided - passed, found["num_undecided"]


for folder in ("eval/clinic", "eval/served_clinic", "eval/served_other"):
    print(folder, "at turn 20: %d passed, %d failed, %d undecided" % counts(folder))
asked, left_alone = counts("eval/served_clinic")[0], counts("eval/served_other")[0]
print(f"the clinic's bot asked in {asked} of 30; the bank's left it alone in {left_alone} of 30")
sys.exit(asked < 28 or left_alone < 27)
PYTHON
