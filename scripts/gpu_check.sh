#!/usr/bin/env bash
# Every check and benchmark that needs a CUDA device, in under 8 minutes:
#   scripts/gpu_check.sh [FOLDER]      results go to FOLDER (default: results/gpu)
# Needs torch with CUDA, transformers, peft, accelerate, trl, datasets, pytest and hypothesis, and the
# tokenizer of the embedded model in a folder that GATT_TOKENIZER names.
set -uo pipefail
cd "$(dirname "$0")/.."
out="${1:-results/gpu}"
mkdir -p "$out"
python=${PYTHON:-python3}
export PYTHONPATH="$PWD" HF_HUB_OFFLINE=1

"$python" -c 'import torch; assert torch.cuda.is_available(), "no CUDA device"; print(torch.cuda.get_device_name(), torch.__version__)' ||
  exit 2

failed=0
step() { # step NAME SECONDS COMMAND…: run with a limit, keep the log, go on after a failure
  local name=$1 limit=$2 start=$SECONDS
  shift 2
  if timeout "$limit" "$@" >"$out/$name.log" 2>&1; then verdict=passed; else verdict="FAILED ($?)"; failed=1; fi
  printf '%-28s %-12s %4d s\n' "$name" "$verdict" $((SECONDS - start)) | tee -a "$out/summary.txt"
}
: >"$out/summary.txt"

bench() { # bench NAME SIZE SECONDS ROUNDS BATCH…: the comb against TRL on a random Llama, 20 turns
  local name=$1 size=$2 limit=$3 rounds=$4
  shift 4
  step "$name" "$limit" "$python" scripts/bench_training.py --model "random-llama:$size" --turns 20 \
    --rounds "$rounds" --exchange-tokens 200 --reply-tokens 150 --batch-sizes "$@" \
    --gradient-checkpointing --tokenizer "${GATT_TOKENIZER:-smollm2-135m-instruct}" \
    --peak-tflops "${PEAK_TFLOPS:-989}" --json "$out/$name.json"
}
step flex_equals_split 140 "$python" -m pytest -q tests/numerics/test_cuda.py
bench bench_1b 1b 120 3 1 4 8
bench bench_8b 8b 210 2 1 4

cat "$out/summary.txt"
for table in "$out"/bench_*.log; do sed -n '/┏/,$p' "$table"; done
exit $failed
