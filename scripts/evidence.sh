#!/usr/bin/env bash
# The evidence under results/, stage by stage: data, training, choice of the recipe, evaluation, controls.
#   scripts/evidence.sh [STAGE…]       those that `scripts/evidence.sh list` names without a name; besides there are
#                                      `restore` (the samples of results/data in place of `data`) and `gpu`
# Hours on two cores. Stop it at any time: started again it goes on where it was, and passes over what is done (but
# for the perplexity, minutes, which is measured anew). The evaluations read results/adapter, as `main` leaves it: with
# a committed one they need no data and no training, but for `forty`, `switch` and `long`, which train their own.
set -euo pipefail
cd "$(dirname "$0")/.."
gatt() { "${PYTHON:-python3}" -m gatt "$@"; }
configs=configs/evidence
out=runs/evidence
sets=(figure hobby language behaviour persona plain combined questions) # of samples, in the order of train.yaml

publish() { # publish NAME FOLDER [METRIC]: the results of an evaluation, as they are committed
  mkdir -p "results/$1"
  cp "$2/results.json" "$2/report.html" "results/$1/"
  gatt report "$2" --metric "${3:-adherence}" --chart "results/$1/curve.png"
}
evaluate() { # evaluate NAME METRIC CONFIG [KEY=VALUE…]: configs/evidence/eval_CONFIG.yaml, to results/NAME
  local name=$1 metric=$2 config=$3
  shift 3
  gatt eval --config "$configs/eval_$config.yaml" --output_dir="$out/$name" "$@"
  publish "$name" "$out/$name" "$metric"
}
ablation() { # ablation NAME STEPS [KEY=VALUE…]: the main recipe in so many steps, with keys set anew
  local name=$1 steps=$2
  shift 2
  local at=$out/ablations/$name kept=results/ablations/$name
  gatt train --config "$configs/train.yaml" --output_dir="$at" --max_steps="$steps" "$@"
  gatt eval --config "$configs/eval_ablations.yaml" --output_dir="$at/validation" --adapters.gatt="$at/adapter"
  mkdir -p "$kept"
  cp "$at/validation/results.json" "$kept/"
  gzip -9 -n -c "$at/validation/samples.jsonl" >"$kept/samples.jsonl.gz"
}

synth() { # synth NAME [KEY=VALUE…]: samples to runs/evidence/NAME
  local name=$1
  shift
  gatt synth --config "$configs/synth.yaml" --output_dir="$out/$name" "$@"
}
stage_ability() { # which languages the model speaks at all: configs/evidence/synth.yaml leaves the others out
  synth ability --instructions.families='[language]' --instructions.exclude='[]' \
    --instructions.splits='[train, heldout_value]' --num_samples=60 --batch_samples=30 \
    --source.min_turns=6 --source.max_turns=6 --teacher.hint_attempts=0 --teacher.prefill_attempts=0
}
stage_data() {
  synth data/figure --instructions.families='[figure]' --teacher.hint_attempts=0 --teacher.prefill_attempts=2
  # More than of the others: with 32 samples hobbies missed from turn 1 on (results/README.md).
  synth data/hobby --instructions.families='[hobby]' --num_samples=72
  synth data/language --instructions.families='[language]'
  # A behaviour's sentence is added to a reply that lacks it.
  synth data/behaviour --instructions.families='[behaviour]' --num_samples=60 --teacher.hint_attempts=0
  synth data/persona --source.seed=3 --instructions.families='[persona]' --num_samples=24
  # 22 % of all, with those of `questions`; from another seed on, so mostly chats that no other set has.
  synth data/plain --plain_fraction=1 --num_samples=72 --source.seed=1
  synth data/combined --source.seed=2 --instructions.families='[figure, hobby, persona, behaviour]' --num_samples=16 \
    --instructions.num_entries='[0, 0.8, 0.2]' --teacher.hint_attempts=0
  # Clear questions, among them such that get to know the other side, which strangers rarely ask.
  synth data/questions --source.name=questions --source.num=32 --plain_fraction=0.15 \
    --instructions.families='[language, figure, hobby, persona, behaviour]'
  local name
  mkdir -p results/data
  for name in "${sets[@]}"; do
    gzip -9 -n -c "$out/data/$name/samples.jsonl" >"results/data/$name.jsonl.gz"
  done
}
stage_restore() { # the samples of results/data in place of `data`, which would make them anew
  local kept made
  for kept in results/data/*.jsonl.gz; do
    made=$out/data/$(basename "$kept" .jsonl.gz)
    [[ -f "$kept" ]] || { echo "results/data: no samples are kept there: run the stage \`data\`" >&2; exit 1; }
    if [[ -e "$made/samples.jsonl" ]]; then
      gunzip -c "$kept" | cmp -s - "$made/samples.jsonl" && continue
      echo "$made/samples.jsonl: other samples than $kept: move them away to restore those" >&2
      exit 1
    fi
    mkdir -p "$made"
    gunzip -c "$kept" >"$made/restored"
    mv "$made/restored" "$made/samples.jsonl"
  done
}
keep() { # keep ADAPTER FOLDER: the adapter in bfloat16, as it is committed and evaluated
  mkdir -p "$2"
  cp "$1"/* "$2/"
  "${PYTHON:-python3}" - "$2/adapter_model.safetensors" <<'EOF'
import sys
import torch
from safetensors.torch import load_file, save_file
weights = {name: value.to(torch.bfloat16) for name, value in load_file(sys.argv[1]).items()}
save_file(weights, sys.argv[1], metadata={"format": "pt"})
EOF
}
stage_main() { # the adapter of all evaluations: results/adapter, to be committed before they are run
  gatt train --config "$configs/train.yaml"
  keep "$out/main/adapter" results/adapter
}
stage_validation() { evaluate validation adherence validation --arms='[base, gatt]'; }
stage_table30() { evaluate table30 probe_recall table30; }
stage_ordinary() {
  evaluate ordinary adherence ordinary
  evaluate ordinary_own adherence ordinary --histories='[own]' --num_dialogues=30
  # The instruction at the start of the first message, where training had it in half of the samples.
  evaluate ordinary_first_user adherence ordinary --placement=first_user --splits='[train]'
  evaluate ordinary_dental adherence dental
}
stage_attend() { # where the model looks in the ordinary dialogues, both arms over the same text: half an hour
  local from=$out/ordinary
  [[ -f "$from/attention-heads.png" ]] || # written last
    gatt attend --samples="$from" --history=reference --num_dialogues=15 --overwrite=true \
      --chart="$from/attention.png"
  # What hiding it costs, where much of it is kept still.
  [[ -f "$out/attend_20/attention.html" ]] ||
    gatt attend --samples="$from" --history=reference --num_dialogues=60 --turns='[20]' --overwrite=true \
      --output_dir="$out/attend_20"
  mkdir -p results/attend
  cp "$from"/attention.{json,html} "$from"/attention{,-turns,-heads}.png results/attend/
  cp "$out/attend_20/attention.json" results/attend/attention-20.json
  publish ordinary "$from" # Its report has the section now.
}
stage_heldout() { # 20 turns of its own, and 40 of a human history
  evaluate heldout adherence heldout
  evaluate heldout_reference adherence heldout --histories='[reference]' --num_turns=40 --source.min_turns=12 \
    --source.max_turns=40 --turns='[1, 2, 4, 8, 12, 20, 30, 40]'
}
stage_combined() {
  evaluate combined_2 adherence combined
  evaluate combined_3 adherence combined --instructions.num_entries='[0.0, 0.0, 1.0]'
}
further() { # further NAME [KEY=VALUE…]: the main adapter goes on with the chats of NAME_chats, to NAME_main
  local name=$1
  shift
  gatt train --config "$configs/train_further.yaml" --samples="[$out/${name}_chats/samples.jsonl]" \
    --output_dir="$out/${name}_main" "$@"
}
stage_switch() {
  local kind metric
  gatt synth --config "$configs/synth_switch.yaml"
  further switch
  # The control: as many more chats and steps, without a change.
  gatt synth --config "$configs/synth_switch.yaml" --output_dir="$out/steady_chats" --switch=null
  further steady
  for kind in replace cancel add; do
    evaluate "switch_$kind" adherence switch --switch.replace=0 "--switch.$kind=1"
  done
  for metric in adherence_since_switch leakage; do
    gatt report "$out/switch_replace" --metric "$metric" --chart "results/switch_replace/$metric.png"
  done
  # What it costs where nothing changes.
  evaluate switch_unchanged adherence ordinary --arms='[gatt, steady, switch]' \
    --adapters.switch="$out/switch_main/adapter" --adapters.steady="$out/steady_main/adapter"
}
stage_forty() { # does it hold twice as long, after chats twice as long? On the validation part, behind `switch`.
  synth forty_chats --source.min_turns=40 --source.max_turns=40 --source.seed=4 --num_samples=96 \
    --instructions.families='[language, figure, hobby, persona, behaviour]' --plain_fraction=0.15
  further forty --max_length=4096 # 2,048 would drop turns of every third chat.
  # `steady` went on as well, with chats of 20 turns. The part joins to 41 conversations of 40 turns.
  evaluate validation_forty adherence validation --arms='[gatt, steady, forty]' --num_dialogues=40 \
    --adapters.steady="$out/steady_main/adapter" --adapters.forty="$out/forty_main/adapter" \
    --histories='[reference]' --num_turns=40 --source.min_turns=12 --source.max_turns=40 \
    --turns='[1, 2, 4, 8, 12, 20, 30, 40]' --probe_turns='[2, 20, 40]'
}
stage_cost() { # no instruction at all: false triggers, task completion, perplexity
  evaluate cost false_trigger cost
  gatt perplexity --config "$configs/perplexity.yaml"
  cp "$out/perplexity.json" results/cost/
}
stage_long() { # trained at 8, 16 and 20 turns, evaluated to the end of the context
  for turns in 8 16; do
    gatt train --config "$configs/train.yaml" --output_dir="$out/turns_$turns" --max_turns="$turns"
  done
  evaluate long adherence long
}
half_a_pass() { # the steps of an ablation: half of the samples that have a target
  echo $(($(cat "$out"/data/*/samples.jsonl | grep -c '"reply": "[^"]') / 2))
}
stage_ablations() {
  local every name steps
  steps=$(half_a_pass)
  # A part of the samples, file by file as their ids are told apart, in as many steps.
  mkdir -p "$out/ablations/parts"
  for name in "${sets[@]}"; do
    grep -v '"instruction": null' "$out/data/$name/samples.jsonl" >"$out/ablations/parts/$name-told.jsonl" || true
    for every in 8 4; do
      awk "NR % $every == 1" "$out/data/$name/samples.jsonl" >"$out/ablations/parts/$name-$every.jsonl"
    done
  done
  rm "$out/ablations/parts/plain-told.jsonl"
  part() { # part NAME: the files of a part, as --samples takes them
    local IFS=, files=("$out"/ablations/parts/*-"$1".jsonl)
    echo "[${files[*]}]"
  }
  ablation recipe "$steps" # What the others are compared with.
  ablation all_turns "$steps" --supervise=all_turns --history=reference
  ablation context_only "$steps" --supervise=context_only --history=reference
  ablation every_turn "$steps" --placement=every_turn
  ablation reference "$steps" --history=reference
  ablation sampled "$steps" --history=sampled
  ablation told "$steps" --samples="$(part told)" # No dialogue without an instruction.
  for every in 8 4; do
    ablation "one_in_$every" "$steps" --samples="$(part "$every")"
  done
  ablation plain_targets "$steps" --plain_loss=targets # Taught its replies, and not held to the base model.
  ablation system "$steps" --placement=system
  # What plain dialogues, and how they are learned, do to the model's general text.
  local at=$out/ablations
  gatt perplexity --config "$configs/perplexity.yaml" --output=results/ablations/perplexity.json \
    --adapters.recipe="$at/recipe/adapter" --adapters.plain_targets="$at/plain_targets/adapter" \
    --adapters.told="$at/told/adapter"
}

# Too much for two cores: on a GPU, `scripts/evidence.sh gpu`, after the others.
stage_gpu() {
  local seed rank terse num
  for seed in 1 2; do ablation "seed_$seed" "$(half_a_pass)" --seed="$seed"; done
  for rank in 4 64; do ablation "rank_$rank" "$(half_a_pass)" --lora.r="$rank" --lora.lora_alpha="$((2 * rank))"; done
  for terse in 0 1; do
    synth "terse_$terse" --num_samples=320 --plain_fraction=0.15 --instructions.terse_probability="$terse"
    ablation "terse_$terse" 320 --samples="[$out/terse_$terse/samples.jsonl]"
  done
  for num in 320 1600 6400; do
    synth "samples_$num" --num_samples="$num" --plain_fraction=0.15
    ablation "samples_$num" "$num" --samples="[$out/samples_$num/samples.jsonl]"
  done
}

stages=(ability data main validation table30 ordinary attend heldout combined switch forty cost long ablations)
if [[ ${1:-} == list ]]; then
  printf '%s\n' "${stages[@]}"
  exit 0
fi
for stage in "${@:-${stages[@]}}"; do
  if [[ $(type -t "stage_$stage") != function ]]; then
    echo "no stage '$stage': expected some of ${stages[*]} restore gpu" >&2
    exit 2
  fi
done
for stage in "${@:-${stages[@]}}"; do
  echo "== $stage =="
  "stage_$stage"
done
