#!/usr/bin/env bash
# A guide word for word: its files are written and its commands run in their order, in an empty folder; prints the
# seconds of each. Only the installation is passed over: `gatt`, `python`, `curl` and the guide's server are those of
# the PATH, and variables such as MODEL are set before. CHECKOUT is this checkout.
#   scripts/research/checks/guide.sh GUIDE.md FOLDER
set -euo pipefail
if [[ $# -ne 2 || ! -f ${1:-} || -e ${2:-} && -n $(ls -A "${2:-}") ]]; then
  echo "usage: scripts/research/checks/guide.sh GUIDE.md FOLDER (new or empty)" >&2
  exit 2
fi
guide=$(realpath "$1")
export CHECKOUT=$(realpath "$(dirname "$0")/../../..")
if grep -q '\$MODEL' "$guide" && [[ -z ${MODEL:-} ]]; then
  echo "$1 needs a model: set MODEL to a hub id or a folder" >&2
  exit 2
fi
mkdir -p "$2"
cd "$2"
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
  if [[ $language == yaml || $language == python ]]; then
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
