#!/usr/bin/env bash
# The evidence under results/, stage by stage: data, training, choice of the recipe, evaluation, controls.
#   scripts/evidence.sh [STAGE…]       all of them without a name; `scripts/evidence.sh list` names them
# Hours on two cores. Stop it at any time: started again it goes on where it was, and passes over what is done
# (but for the perplexity, minutes, which is measured anew).
set -euo pipefail
cd "$(dirname "$0")/.."
gatt() { "${PYTHON:-python3}" -m gatt "$@"; }
configs=configs/evidence
out=runs/evidence

publish() { # publish NAME FOLDER: the results of an evaluation, as they are committed
  mkdir -p "results/$1"
  gatt report "$2" --chart "results/$1/curve.png"
  cp "$2/results.json" "$2/report.html" "results/$1/"
}
evaluate() { # evaluate NAME [KEY=VALUE…]: configs/evidence/eval_NAME.yaml, to results/NAME
  local name=$1
  shift
  gatt eval --config "$configs/eval_$name.yaml" "$@"
  publish "$name" "$out/$name"
}
ablation() { # ablation NAME [KEY=VALUE…]: the main recipe with keys set anew, judged on the validation part
  local name=$1
  shift
  gatt train --config "$configs/train.yaml" --output_dir="$out/ablations/$name" "$@"
  gatt eval --config "$configs/eval_validation.yaml" --output_dir="$out/ablations/$name/validation" \
    --adapters.gatt="$out/ablations/$name/adapter"
  mkdir -p "results/ablations/$name"
  cp "$out/ablations/$name/validation/results.json" "results/ablations/$name/"
}

stage_chats() { gatt synth --config "$configs/synth_chats.yaml"; }
stage_questions() { gatt synth --config "$configs/synth_questions.yaml"; }
stage_main() { gatt train --config "$configs/train.yaml"; }
stage_validation() { evaluate validation; }
stage_table30() { evaluate table30; }
stage_ordinary() { evaluate ordinary; }
stage_heldout() { evaluate heldout; }
stage_combined() { evaluate combined; }
stage_none() { evaluate none; }
stage_switch() {
  gatt synth --config "$configs/synth_switch.yaml"
  gatt train --config "$configs/train_switch.yaml"
  evaluate switch
  local metric
  for metric in adherence_since_switch leakage; do
    gatt report "$out/switch" --metric "$metric" --chart "results/switch/$metric.png"
  done
  # What it costs where nothing changes.
  gatt eval --config "$configs/eval_validation.yaml" --output_dir="$out/switch_unchanged" \
    --adapters.switch="$out/switch_main/adapter" --arms='[gatt, switch]'
  publish switch_unchanged "$out/switch_unchanged"
}
stage_perplexity() {
  gatt perplexity --config "$configs/perplexity.yaml"
  mkdir -p results/cost && cp "$out/perplexity.json" results/cost/
}
stage_ablations() {
  ablation all_turns --supervise=all_turns --history=reference
  ablation context_only --supervise=context_only --history=reference
  ablation every_turn --placement=every_turn
  ablation reference --history=reference
  ablation sampled --history=sampled
  ablation turns_8 --max_turns=8
  # How many: of the chats alone, so that nothing but the number differs.
  local some
  for some in 50 160 320; do
    head -n "$some" "$out/chats/samples.jsonl" >"$out/chats_$some.jsonl"
    ablation "chats_$some" --samples="[$out/chats_$some.jsonl]"
  done
}

stages=(chats questions main validation table30 ordinary heldout combined none switch perplexity ablations)
if [[ ${1:-} == list ]]; then
  printf '%s\n' "${stages[@]}"
  exit 0
fi
for stage in "${@:-${stages[@]}}"; do
  if [[ $(type -t "stage_$stage") != function ]]; then
    echo "no stage '$stage': expected some of ${stages[*]}" >&2
    exit 2
  fi
done
for stage in "${@:-${stages[@]}}"; do
  echo "== $stage =="
  "stage_$stage"
done
