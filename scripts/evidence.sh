#!/usr/bin/env bash
# The figures of results/, a stage each: run files of scripts/research/evidence, by `gatt run`, published to results/.
#   scripts/evidence.sh STAGE…   `scripts/evidence.sh list` names the stages
# Hours on two cores. Stop it at any time: started again it goes on where it was, and passes over what is done. Samples
# and the adapter of results/qwen are taken as they are: move them away to have them made anew. On a CPU with bfloat16
# (AVX512-BF16, AMX) DTYPE=bfloat16 makes the evaluations twice as fast; without it they are run in float32.
# On a GPU: scripts/gpu_evidence.sh, scripts/gpu_check.sh. The stages of the archived runs (SmolLM2-135M, ablations,
# changed instructions, attention) stand at commit 7722c749: results/archive/README.md.
set -euo pipefail
cd "$(dirname "$0")/.."
files=scripts/research/evidence out=runs/evidence
gatt() { "${PYTHON:-python3}" -m gatt "$@"; }
run() { # run NAME FILE [--KEY=VALUE…]: a run file, in runs/evidence/NAME
  gatt run "$files/$2.yaml" --output_dir="$out/$1" "${@:3}"
}
measure() { # measure NAME METRIC FILE [--KEY=VALUE…]: a run file that evaluates; results, curve and replies to results/NAME
  run "$1" "$3" ${DTYPE:+--eval.engine.dtype="$DTYPE"} "${@:4}"
  mkdir -p "results/$1"
  cp "$out/$1/results.json" "results/$1/"
  gatt report "$out/$1" --metric "$2" --chart "results/$1/curve.png"
  xz -9 -c "$out/$1/samples.jsonl" >"results/$1/samples.jsonl.xz"
}
pack() { # pack FILE KEPT.gz
  gzip -9 -n -c "$1" >"$2.part"
  mv "$2.part" "$2"
}
draw() { # draw SOURCE_FAMILY NUM [--KEY=VALUE…]: so many samples of the 1.5B, packed to results/qwen
  local set=$1 folder=$out/qwen/$1 first=$out/qwen/questions_figure keys=(--synth.num_samples="$2" "${@:3}")
  [[ ! -f results/qwen/$set.jsonl.gz ]] || return 0
  mkdir -p "$folder" results/qwen
  if [[ $set == questions_* ]]; then
    keys+=(--synth.source.name=questions --synth.source.num=40)
    # The answers to the questions are drawn once: the other families take those of the first.
    [[ -f $folder/dialogues.jsonl || ! -f $first/dialogues.jsonl ]] || cp "$first"/dialogues.jsonl{,.meta.json} "$folder/"
  fi
  case ${set#*_} in
    plain) keys+=(--synth.plain_fraction=1) ;;
    format) keys+=(--synth.teacher.brief="Keep it short.") ;;&
    # Given beginnings bring a hobby's name and little sense, so it is drawn with examples more often.
    hobby) keys+=(--synth.teacher.hint_attempts=5 --synth.teacher.prefill_attempts=0) ;;&
    *) keys+=(--synth.instructions.families="[${set#*_}]") ;;
  esac
  run "qwen/$set" samples "${keys[@]}"
  pack "$folder/samples.jsonl" "results/qwen/$set.jsonl.gz"
}
stage_qwen_chats() {
  draw chitchat_figure 20
  draw chitchat_persona 20
  draw chitchat_language 20
  # From other seeds on, so other chats.
  draw chitchat_behaviour 20 --synth.source.seed=2
  draw chitchat_format 20 --synth.source.seed=3
  draw chitchat_plain 40 --synth.source.seed=1
}
stage_qwen_questions() {
  draw questions_figure 40
  draw questions_hobby 40
  draw questions_persona 30
  draw questions_language 20
  draw questions_behaviour 30
  draw questions_format 20
}
stage_qwen_student() { # the 0.5B on these samples: results/qwen/adapter, in bfloat16
  local to=results/qwen/adapter
  [[ ! -f $to/adapter_model.safetensors ]] || return 0
  run qwen/student student
  mkdir -p $to
  # The weights come last: they say that the adapter is kept.
  find "$out/qwen/student/adapter" -type f ! -name adapter_model.safetensors -exec cp {} $to/ \;
  "${PYTHON:-python3}" - "$out/qwen/student/adapter/adapter_model.safetensors" $to/adapter_model.safetensors <<'END'
import os, sys
import torch
from safetensors.torch import load_file, save_file
weights = {name: value.to(torch.bfloat16) for name, value in load_file(sys.argv[1]).items()}
save_file(weights, f"{sys.argv[2]}.part", metadata={"format": "pt"})
os.replace(f"{sys.argv[2]}.part", sys.argv[2])
END
}
stage_qwen_ordinary() { measure ordinary keeps ordinary; }
stage_qwen_ordinary_own() { measure ordinary_own keeps ordinary --eval.histories='[own]' --eval.num_dialogues=20; }
stage_qwen_table30() { measure table30 probe_recall table30; }
stage_qwen_table30_base() {
  measure table30_base probe_recall table30 --eval.arms='[base, gatt]' --eval.num_dialogues=30
}
stage_qwen_heldout() { measure heldout keeps heldout; }
stage_qwen_cost() { measure cost false_trigger cost; }
stage_qwen_perplexity() { # of plain dialogues, to results/qwen/perplexity.json
  gatt perplexity --config "$files/perplexity.yaml" --output=results/qwen/perplexity.json ${DTYPE:+--engine.dtype="$DTYPE"}
}
stage_targets() { # what recipe.yaml and the demo train on, rewritten by the 1.5B
  mkdir -p results/recipes
  run targets targets
  pack "$out/targets/samples.jsonl" results/recipes/targets.jsonl.gz
  head -n 48 "$out/targets/samples.jsonl" >"$out/targets/demo.jsonl"
  pack "$out/targets/demo.jsonl" configs/demo_samples.jsonl.gz
}
stage_published() { measure published joint published; } # the student of results/qwen by the yardstick of recipes
stage_recipes() { # one data set learned in its dialogues, alone, both; other targets and histories; pairs; more seeds
  local seed half
  run recipe/gatt recipe
  run recipe/single_turn recipe --train.history=none
  run recipe/both recipe --train.history=both
  run recipe/sampled recipe --train.samples='[results/recipes/sampled.jsonl.gz]'
  for half in first last; do
    "${PYTHON:-python3}" "$files/switched_history.py" results/recipes/targets.jsonl.gz "$out/kept_$half.jsonl" "$half"
    run "recipe/kept_$half" recipe --train.samples="[$out/kept_$half.jsonl]"
  done
  gatt improve "$out/recipe/gatt" --pairs.num_samples=32 ${DTYPE:+--pairs.engine.dtype="$DTYPE"} --train.bf16=true
  for seed in 1 2; do
    run "recipe/gatt_$seed" recipe --train.seed="$seed"
    run "recipe/single_turn_$seed" recipe --train.history=none --train.seed="$seed"
  done
  measure recipes joint recipes
}
stage_recipes_own() { # the same adapters in their own chat, and after two replies that ignore the instruction
  measure recipes_own joint recipes --eval.arms='[base, base+system+reminder, gatt, single_turn]' \
    --eval.histories='[own]' --eval.num_dialogues=32 --eval.source.num=32
  measure recipes_slip joint recipes --eval.arms='[gatt, single_turn]' --eval.histories='[slip_2]' \
    --eval.num_dialogues=32 --eval.source.num=32
}
stage_s_ifeval() { # S_IFEVAL=sys_ifeval.jsonl of RealGuardrails: 120 prompts, alone and behind 19 exchanges
  local n history=own # nothing stands before the prompt
  mkdir -p "$out"
  for n in 0 19; do
    [[ -f $out/s_ifeval_$n.jsonl ]] ||
      gatt suite import s-ifeval "$S_IFEVAL" --exchanges $n --num 120 --output "$out/s_ifeval_$n.jsonl"
    measure s_ifeval_$n keeps s_ifeval --eval.cases="$out/s_ifeval_$n.jsonl" --eval.turns="[$((n + 1))]" \
      --eval.histories="[$history]"
    history=reference
  done
}
stage_ability() { # IFEVAL=ifeval.jsonl: without an instruction, 200 prompts of IFEval, and 120 conversations of the bank
  local arms='[base, gatt, single_turn, preference]'
  mkdir -p "$out"
  [[ -f $out/ifeval.jsonl ]] || gatt suite import ifeval "$IFEVAL" --num 200 --output "$out/ifeval.jsonl"
  measure ifeval keeps s_ifeval --eval.cases="$out/ifeval.jsonl" --eval.turns='[1]' --eval.histories='[own]' --eval.arms='[base, gatt]' \
    --eval.sampling.max_new_tokens=512
  measure plain answers_plain recipes --eval.suite=none --eval.num_plain=120 --eval.arms="$arms" --eval.baseline=base
}
stage_demo_seeds() { # the demo with ten seeds: how far its figures spread. GAtt alone; the base model is in results/demo
  local seed
  for seed in {1..10}; do
    gatt run configs/demo.yaml --output_dir="$out/demo/seed_$seed" --{synth,train,eval}.seed="$seed" \
      --eval.arms='[gatt]' --eval.baseline=gatt \
      ${DTYPE:+--synth.teacher.engine.dtype="$DTYPE" --eval.engine.dtype="$DTYPE" --train.bf16=true}
    mkdir -p "results/demo/seeds/$seed"
    cp "$out/demo/seed_$seed/results.json" "results/demo/seeds/$seed/"
  done
}

mapfile -t stages < <(declare -F | sed -n 's/^declare -f stage_//p')
[[ ${1:-list} != list ]] || { printf '%s\n' "${stages[@]}"; exit 0; }
for stage; do
  declare -F "stage_$stage" >/dev/null || { echo "no stage '$stage': expected some of ${stages[*]}" >&2; exit 2; }
done
for stage; do
  echo "== $stage =="
  "stage_$stage"
done
