#!/usr/bin/env bash
# docs/guides/dental_clinic.md word for word: its files are written and its commands run in their order, in an
# empty folder; prints the seconds of each and the counts at turn 20. Only the installation is passed over: `gatt`,
# `transformers` and `curl` are those of the PATH.
#   scripts/checks/guide_dental.sh FOLDER
# Exit status 1: the served bot of the clinic asked in fewer than 28 of 30 dialogues, or that of the bank left
# insurance alone in fewer than 27 (a reply that no rule could decide did not).
set -euo pipefail
if [[ $# -ne 1 || -e ${1:-} && -n $(ls -A "${1:-}") ]]; then
  echo "usage: scripts/checks/guide_dental.sh FOLDER (new or empty)" >&2
  exit 2
fi
guide=$(realpath "$(dirname "$0")/../../docs/guides/dental_clinic.md")
mkdir -p "$1"
cd "$1"
blocks=$(mktemp -d)
server=
finish() {
  [[ -z $server ]] || kill "$server" 2>/dev/null || true
  rm -rf "$blocks"
}
trap finish EXIT

# One file a fenced block: its language and title on the first line, its text below.
awk -v out="$blocks" '
  /^```/ && !inside { inside = 1; file = sprintf("%s/%03d", out, ++num)
    title = $0; if (!sub(/.*title="/, "", title)) title = ""; sub(/".*/, "", title)
    language = $1; sub(/^```/, "", language); print language "|" title > file; next }
  /^```/ { inside = 0; close(file); next }
  inside { print > file }' "$guide"

began=$SECONDS
for block in "$blocks"/*; do
  IFS='|' read -r language title <"$block"
  text=$(tail -n +2 "$block")
  if [[ $language == yaml ]]; then
    mkdir -p "$(dirname "$title")"
    printf '%s\n' "$text" >"$title"
  elif [[ $language == bash && $title == "second terminal" ]]; then
    if curl -sf localhost:8000/health >/dev/null; then
      echo "port 8000 is taken by another server: stop it first" >&2
      exit 2
    fi
    # The environment is active already; the server itself is what has to be stopped at the end.
    bash -c "exec $(grep -v activate <<<"$text")" >server.log 2>&1 &
    server=$!
    until curl -sf localhost:8000/health >/dev/null; do
      kill -0 "$server" 2>/dev/null || { cat server.log >&2; exit 1; }
      sleep 1
    done
  elif [[ $language == bash && $title != installation ]]; then
    printf '\n$ %s\n' "$text"
    started=$SECONDS
    bash -euc "$text" </dev/null
    printf '[%s s]\n' "$((SECONDS - started))"
  fi
done
printf '\nall of the guide: %s s\n' "$((SECONDS - began))"

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
