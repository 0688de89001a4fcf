#!/usr/bin/env bash
# Every check and benchmark that needs a CUDA device, in about 7 minutes on an H200:
#   scripts/gpu_check.sh [FOLDER [STEP…]]   results go to FOLDER (default: results/gpu); STEPs: attention, training,
#                                           sampling, bench_1b, bench_8b (default: all)
# Needs this package installed (`pip install --no-deps --no-build-isolation .` will do), torch with CUDA, transformers,
# peft, accelerate, trl, datasets, pydantic, pytest, pytest-timeout and hypothesis, and the tokenizer of the embedded
# model, or its files in a folder that GATT_TOKENIZER names.
set -uo pipefail
cd "$(dirname "$0")/.."
out="${1:-results/gpu}"
shift $(($# > 0))
wanted=" ${*:-attention training sharded sampling bench_1b bench_8b vllm} "
mkdir -p "$out"
python=${PYTHON:-python3}
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" HF_HUB_OFFLINE=1 PYTHONUNBUFFERED=1
# Measured without cuDNN's attention, which plans every new shape for about a second: for all alike.
export TORCH_CUDNN_SDPA_DEPRIORITIZED=1

"$python" - "${GATT_TOKENIZER:-smollm2-135m-instruct}" <<'END' || exit 2
import importlib
import importlib.metadata
import sys

missing = []
wanted = "torch transformers peft accelerate trl datasets pydantic pytest pytest_timeout hypothesis"
for name in wanted.split():
    try:
        importlib.import_module(name)
    except ImportError:
        missing.append(name)
if missing:
    sys.exit(f"gpu_check: not installed: {', '.join(missing)}")
if not list(importlib.metadata.entry_points(group="gatt.commands")):
    sys.exit("gpu_check: this package is not installed: pip install --no-deps --no-build-isolation .")
import torch

if not torch.cuda.is_available():
    sys.exit("gpu_check: torch sees no CUDA device")
from gatt.errors import GattError
from gatt.models.load import load_tokenizer

try:
    load_tokenizer(sys.argv[1])
except GattError as error:
    sys.exit(f"gpu_check: {error} (GATT_TOKENIZER names a folder with its files)")
versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers", "peft", "accelerate", "trl")}
print(torch.cuda.get_device_name(), versions)
END

failed=0
: >"$out/summary.txt"
step() { # step NAME SECONDS COMMAND…: run with a limit, keep the log, go on after a failure
  local name=$1 limit=$2 start=$SECONDS verdict=passed
  shift 2
  [[ $wanted == *" $name "* ]] || return 0
  # Interrupted, not ended: what was found so far is printed.
  timeout --signal=INT --kill-after=15 "$limit" "$@" >"$out/$name.log" 2>&1 || { verdict="FAILED ($?)"; failed=1; }
  printf '%-12s %-12s %4d s\n' "$name" "$verdict" $((SECONDS - start)) | tee -a "$out/summary.txt"
}
tests() { # tests NAME SECONDS FILE…
  local name=$1 limit=$2
  shift 2
  step "$name" "$limit" "$python" -m pytest -v --timeout 180 --maxfail 5 -p no:cacheprovider --durations 5 "$@"
}
bench() { # bench NAME SIZE SECONDS ROUNDS BATCH…: the comb against TRL on a random Llama, 20 turns
  local name=$1 size=$2 limit=$3 rounds=$4
  shift 4
  step "$name" "$limit" "$python" scripts/research/bench_training.py --model "random-llama:$size" --turns 20 \
    --rounds "$rounds" --exchange-tokens 200 --reply-tokens 150 --batch-sizes "$@" \
    --gradient-checkpointing --tokenizer "${GATT_TOKENIZER:-smollm2-135m-instruct}" \
    --peak-tflops "${PEAK_TFLOPS:-989}" --json "$out/$name.json"
}
tests attention 125 tests/numerics/test_cuda.py
tests training 150 tests/numerics/test_cuda_training.py
# CPU processes are the stand-in of this test; with a device named they share it.
ACCELERATE_TORCH_DEVICE=cuda:0 tests sharded 240 -k fsdp2 tests/numerics/test_sharded_training.py
step sampling 60 "$python" scripts/research/bench_sampling.py --device cuda --model random-llama:1b --part turns --rounds 1 \
  --tokenizer "${GATT_TOKENIZER:-smollm2-135m-instruct}" --json "$out/sampling.json"
bench bench_1b 1b 80 1 4 8
bench bench_8b 8b 140 1 4
if [[ -n ${MODEL:-} ]] && command -v vllm >/dev/null; then
  step vllm 400 scripts/research/checks/guide.sh docs/guides/trl_and_vllm.md "$out/guide"
else
  echo "vllm: passed over (not on the PATH, or MODEL names no model)"
fi

for table in "$out"/{sampling,bench_1b,bench_8b}.log; do [[ -f $table ]] && sed -n '/┏/,$p' "$table"; done
for log in "$out"/{attention,training,sharded}.log; do [[ -f $log ]] && tail -n 3 "$log"; done
cat "$out/summary.txt"
exit $failed
