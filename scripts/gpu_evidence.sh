#!/usr/bin/env bash
# Evidence on one GPU: the 1.5B writes targets, the 0.5B learns them, and both are measured.
#   scripts/gpu_evidence.sh FOLDER STAGE…   stages: models, base, synth, train, trained, s_ifeval; FOLDER holds all they
#                                           make. Started again, a stage goes on where it was.
#   scripts/gpu_evidence.sh FOLDER part FILE   takes one part of a model's file (`split -b 56M -d FILE FILE.`), where
#                                              nothing can be downloaded; the last one joins the file for `models`
# Needs this package with torch for CUDA. S_IFEVAL names sys_ifeval.jsonl of RealGuardrails. SMALL=1 rehearses every
# stage with the smallest model and few cases, on a CPU.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1
shift
mkdir -p "$out/log"
export GATT_CACHE="${GATT_CACHE:-$out/cache}" HF_HUB_OFFLINE=1 PYTHONUNBUFFERED=1
python=${PYTHON:-python3}
gatt() { "$python" -m gatt "$@"; }
student=qwen2.5-coder-0.5b-instruct teacher=qwen2.5-coder-1.5b-instruct
synth=() train=() eval=()
if [[ ${SMALL:-} ]]; then
  student=smollm2-135m-instruct teacher=$student
  unset GATT_CACHE
  synth=(--num_samples=4 --source.num=4 --source.min_turns=4 --source.max_turns=4 --batch_samples=4)
  train=(--max_steps=2 --pack_rows=false)
  eval=(--num_dialogues=1 --source.num=8 --source.min_turns=4 --source.max_turns=4 --source.asked='[1,2,4]'
    --turns='[1,2,4]' --sampling.max_new_tokens=8)
fi
step() { # step NAME COMMAND…: run once, keep the log, say how long it took
  local name=$1 start=$SECONDS
  shift
  [[ -f $out/log/$name.done ]] && return 0
  if "$@" >"$out/log/$name.log" 2>&1; then
    touch "$out/log/$name.done"
    echo "$name: $((SECONDS - start)) s"
  else
    echo "$name: FAILED after $((SECONDS - start)) s: $(tail -n 3 "$out/log/$name.log")"
    return 1
  fi
}
part() { # part FILE.NN
  local name file
  name=$(basename "${1%.*}")
  file=${name%-q4_k_m.gguf}
  mkdir -p "$out/parts" "$out/cache/downloads/$file"
  cp "$1" "$out/parts/"
  "$python" - "$out" "$file" "$name" <<'CODE'
import hashlib, sys
from pathlib import Path
from gatt.models.packaged import PACKAGED
out, model, name = Path(sys.argv[1]), PACKAGED[sys.argv[2]], sys.argv[3]
parts = sorted((out / "parts").glob(f"{name}.*"))
held = sum(part.stat().st_size for part in parts)
print(f"{name}: {len(parts)} parts, {held} of {model.num_bytes} bytes")
if held == model.num_bytes:
    data = b"".join(part.read_bytes() for part in parts)
    assert hashlib.sha256(data).hexdigest() == model.sha256, "another digest: send the parts again"
    (out / "cache" / "downloads" / model.name / model.file).write_bytes(data)
CODE
}
evaluate() { # evaluate NAME [KEY=VALUE…]: three seeds of sampling beside each other
  local name=$1 seed pids=() failed=0
  shift
  for seed in ${SEEDS:-0 1 2}; do
    step "${name}_$seed" gatt eval --config scripts/research/evidence/gpu/eval.yaml --output_dir="$out/${name}_$seed" --seed="$seed" \
      --engine.model="$student" "${eval[@]}" "$@" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
  return $failed
}
learn() { # learn NAME HISTORY SEED
  step "train_$1" gatt train --config scripts/research/evidence/gpu/train.yaml --output_dir="$out/$1" --history="$2" --seed="$3" \
    --model="$student" --samples="[$out/synth_written/samples.jsonl,$out/synth_people/samples.jsonl]" "${train[@]}"
}
adapters="{gatt: $out/gatt/adapter, single_turn: $out/single_turn/adapter}"
untrained='[base, alone, base+system+reminder, window_3, canned]'
for stage; do
  case $stage in
    part) part "$2"; break ;;
    models) for m in "$student" "$teacher"; do step "model_$m" gatt models get "$m"; done ;;
    base)
      evaluate base_own --arms="$untrained"
      evaluate base_people --arms="$untrained" --histories='[reference]' --source.small_talk=people
      ;;
    synth)
      for talk in written people; do
        step "synth_$talk" gatt synth --config scripts/research/evidence/gpu/synth.yaml --output_dir="$out/synth_$talk" \
          --source.small_talk="$talk" --source.seed="${#talk}" --teacher.engine.model="$teacher" "${synth[@]}" &
      done
      wait
      ;;
    train) learn gatt reference 0; learn single_turn none 0 ;;
    trained)
      evaluate own --arms='[gatt, single_turn]' --adapters="$adapters"
      evaluate people --arms='[gatt, single_turn]' --adapters="$adapters" --histories='[reference]' \
        --source.small_talk=people
      SEEDS=0 evaluate slip --arms='[gatt, single_turn]' --adapters="$adapters" --histories='[slip_1, slip_2, slip_4]'
      ;;
    s_ifeval)
      for n in 0 19; do
        [[ -f $out/s_ifeval_$n.jsonl ]] ||
          gatt suite import s-ifeval "$S_IFEVAL" --exchanges $n --num "${NUM:-200}" --output "$out/s_ifeval_$n.jsonl"
        step "s_ifeval_$n" gatt eval --cases="$out/s_ifeval_$n.jsonl" --turns="[$((n + 1))]" --histories='[reference]' \
          --probe_turns='[]' --arms='[base, base+system+reminder, gatt, single_turn]' --adapters="$adapters" \
          --output_dir="$out/s_ifeval_$n" --engine.model="$student" --engine.max_rows=256 --batch_cases=200 \
          --sampling.max_new_tokens="${TOKENS:-512}" --sampling.temperature=0
      done
      ;;
    *) echo "no stage $stage" >&2; exit 2 ;;
  esac
done
