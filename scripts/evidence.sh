#!/usr/bin/env bash
# The evidence under results/, stage by stage: data, training, choice of the recipe, evaluation, controls.
#   scripts/evidence.sh [STAGE…]       those that `scripts/evidence.sh list` names without a name; besides there are
#                                      `restore` (the samples of results/data in place of `data`), `gpu`, `demo_samples`, `demo_seeds`,
#                                      `joint` and `recipes`
# Hours on two cores. Stop it at any time: started again it goes on where it was, and passes over what is done. The stages
# `qwen_…` are those of Qwen2.5-Coder: samples of the 1.5B (results/qwen), and the 0.5B that is trained on them
# (results/qwen/adapter). On a CPU with bfloat16 (AVX512-BF16, AMX) DTYPE=bfloat16 makes their evaluations twice as fast;
# without it they are run in float32. All others are those of SmolLM2-135M, whose data left the repository
# (results/archive/README.md): the stages `data` and `main` make it anew, or it comes back with
#   git checkout 7722c749 -- results/data results/data_more results/adapter results/switch_adapter
# What results/ holds, samples and adapters, is taken: move it away to have it made anew. results/switch_adapter cannot be
# made: the command that joined its training chats was removed. `ablations` and `samples` train their own adapters.
set -euo pipefail
cd "$(dirname "$0")/.."
gatt() { "${PYTHON:-python3}" -m gatt "$@"; }
configs=configs/evidence
out=runs/evidence
sets=(figure hobby language behaviour persona plain combined questions) # of samples, in the order of train.yaml

publish() { # publish NAME FOLDER [METRIC]: the results of an evaluation, as they are committed
  mkdir -p "results/$1"
  cp "$2/results.json" "results/$1/"
  gatt report "$2" --metric "${3:-keeps}" --chart "results/$1/curve.png"
}
replies() { # replies NAME FOLDER: every reply with its verdicts, as they are committed
  xz -9 -c "$2/samples.jsonl" >"results/$1/samples.jsonl.xz"
}
evaluate() { # evaluate NAME METRIC CONFIG [KEY=VALUE…]: configs/evidence/eval_CONFIG.yaml, to results/NAME
  local name=$1 metric=$2 config=$3
  shift 3
  gatt eval --config "$configs/eval_$config.yaml" --output_dir="$out/$name" "$@"
  publish "$name" "$out/$name" "$metric"
  replies "$name" "$out/$name"
}
perplexity() { # perplexity NAME [KEY=VALUE…]: of plain dialogues, to results/NAME/perplexity.json
  local figures=$out/perplexity/$1.json to=results/$1
  shift
  [[ -f $figures ]] || gatt perplexity --config "$configs/perplexity.yaml" --output="$figures" "$@"
  mkdir -p "$to"
  cp "$figures" "$to/perplexity.json"
}
ablation() { # ablation NAME STEPS [KEY=VALUE…]: the main recipe over 8 turns in so many steps, with keys set anew
  local name=$1 steps=$2
  shift 2
  gatt train --config "$configs/train.yaml" --output_dir="$out/ablated/$name" --max_steps="$steps" --max_turns=8 "$@"
}
listed() { # listed WORD…: as --arms and other keys take a list
  local IFS=,
  echo "[$*]"
}
ablated() { # ablated NAME…: the adapters of ablations, as --adapters takes them
  local name found=()
  for name; do found+=("$name: $out/ablated/$name/adapter"); done
  local IFS=,
  echo "{${found[*]}}"
}
against() { # against ABLATION…: the keys (in `arms`) of an evaluation case by case against the first of them
  arms=(--adapters="$(ablated "$@")" --arms="$(listed "$@")" --baseline="$1")
}
compared() { # compared NAME METRIC "ABLATION…" [KEY=VALUE…]: case by case against the first of them, to results/NAME
  local name=$1 metric=$2 trained=($3) arms
  shift 3
  against "${trained[@]}"
  evaluate "$name" "$metric" ablations "${arms[@]}" "$@"
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
draw() { # draw FOLDER SET NUM [KEY=VALUE…]: so many samples of a set to runs/evidence/FOLDER/SET
  local folder=$1 name=$2 num=$3 keys=()
  shift 3
  case $name in
    figure) keys=(--instructions.families='[figure]' --teacher.hint_attempts=0 --teacher.prefill_attempts=2) ;;
    hobby) keys=(--instructions.families='[hobby]') ;;
    language) keys=(--instructions.families='[language]') ;;
    # A behaviour's sentence is added to a reply that lacks it.
    behaviour) keys=(--instructions.families='[behaviour]' --teacher.hint_attempts=0) ;;
    persona) keys=(--source.seed=3 --instructions.families='[persona]') ;;
    # From another seed on, so mostly chats that no other set has.
    plain) keys=(--plain_fraction=1 --source.seed=1) ;;
    combined)
      keys=(--source.seed=2 --instructions.families='[figure, hobby, persona, behaviour]'
        --instructions.num_entries='[0, 0.8, 0.2]' --teacher.hint_attempts=0)
      ;;
    # Clear questions, among them such that get to know the other side, which strangers rarely ask.
    questions)
      keys=(--source.name=questions --source.num="$num" --plain_fraction=0.15
        --instructions.families='[language, figure, hobby, persona, behaviour]')
      ;;
  esac
  synth "$folder/$name" "${keys[@]}" --num_samples="$num" "$@"
}
are_kept() { # are_kept KEPT FOLDER: whether results/KEPT has every set; if so, they are put to runs/evidence/FOLDER
  local name
  for name in "${sets[@]}"; do [[ -f results/$1/$name.jsonl.gz ]] || return 1; done
  echo "results/$1: the kept samples are taken; move them away to draw them anew"
  restore "$1" "$2"
}
keep_samples() { # keep_samples KEPT FOLDER: every set of runs/evidence/FOLDER, packed, to results/KEPT
  local name
  mkdir -p "results/$1"
  for name in "${sets[@]}"; do
    pack "$out/$2/$name/samples.jsonl" "results/$1/$name.jsonl.gz"
  done
}
pack() { # pack FILE KEPT.gz
  gzip -9 -n -c "$1" >"$2.part"
  mv "$2.part" "$2"
}
restore() { # restore KEPT FOLDER: the samples of results/KEPT, to runs/evidence/FOLDER
  local kept made
  for kept in "results/$1"/*.jsonl.gz; do
    made=$out/$2/$(basename "$kept" .jsonl.gz)
    [[ -f "$kept" ]] || { echo "results/$1: no samples are kept there: run the stage \`data\`" >&2; exit 1; }
    if [[ -e "$made/samples.jsonl" ]]; then
      gunzip -c "$kept" | cmp -s - "$made/samples.jsonl" && continue
      echo "$made/samples.jsonl: other samples than $kept: move them away to restore those" >&2
      exit 1
    fi
    mkdir -p "$made"
    gunzip -c "$kept" >"$made/restored" || exit 1 # Where a condition calls this, -e does not stop it.
    mv "$made/restored" "$made/samples.jsonl"
  done
}
stage_data() {
  are_kept data data && return
  draw data figure 32
  # More than of the others: with 32 samples hobbies missed from turn 1 on (results/archive/smollm2-135m.md).
  draw data hobby 72
  draw data language 32
  draw data behaviour 60
  draw data persona 24
  draw data plain 72 # 22 % of all, with those of `questions`.
  draw data combined 16
  draw data questions 32
  keep_samples data data
}
draw_qwen() { # draw_qwen SOURCE FAMILY NUM [KEY=VALUE…]: samples of the 1.5B to runs/evidence/qwen/SOURCE_FAMILY
  local source=$1 family=$2 num=$3 keys=()
  local folder=$out/qwen/${source}_$family first=$out/qwen/questions_figure
  shift 3
  [[ ! -f results/qwen/${source}_$family.jsonl.gz ]] || return 0 # Move it away to have it drawn anew.
  mkdir -p "$folder"
  if [[ $source == questions ]]; then
    keys+=(--source.name=questions --source.num=40)
    # The answers to the questions are drawn once: the other families take those of the first.
    [[ -f $folder/dialogues.jsonl || ! -f $first/dialogues.jsonl ]] || cp "$first"/dialogues.jsonl{,.meta.json} "$folder/"
  fi
  # Given beginnings bring a hobby's name and little sense, so it is drawn with examples more often.
  [[ $family != hobby ]] || keys+=(--teacher.hint_attempts=5 --teacher.prefill_attempts=0)
  [[ $family != format ]] || keys+=(--teacher.brief="Keep it short.")
  [[ $family != plain ]] || keys+=(--plain_fraction=1 --source.seed=1)
  [[ $family == plain ]] || keys+=(--instructions.families="[$family]")
  configs=configs/qwen synth "qwen/${source}_$family" --num_samples="$num" "${keys[@]}" "$@"
}
stage_qwen_chats() {
  [[ ! -d results/qwen ]] || restore qwen qwen
  draw_qwen chitchat figure 20
  draw_qwen chitchat persona 20
  draw_qwen chitchat language 20
  # From other seeds on, so other chats.
  draw_qwen chitchat behaviour 20 --source.seed=2
  draw_qwen chitchat format 20 --source.seed=3
  draw_qwen chitchat plain 40
}
stage_qwen_questions() {
  [[ ! -d results/qwen ]] || restore qwen qwen
  draw_qwen questions figure 40
  draw_qwen questions hobby 40
  draw_qwen questions persona 30
  draw_qwen questions language 20
  draw_qwen questions behaviour 30
  draw_qwen questions format 20
}
stage_qwen_keep() { # every finished set, packed, to results/qwen
  local card set
  mkdir -p results/qwen
  for card in "$out"/qwen/*/README.md; do # written last
    set=$(dirname "$card")
    pack "$set/samples.jsonl" "results/qwen/$(basename "$set").jsonl.gz"
  done
}
stage_demo_samples() { # the kept part of the demo's samples: conversations, targets of the 1.5B
  gatt synth --config configs/joint/synth_demo.yaml --output_dir="$out/demo_samples"
  pack "$out/demo_samples/samples.jsonl" configs/demo_samples.jsonl.gz
}
recipe() { # recipe HISTORY: the demo's kept samples, learned so
  [[ -f "$out/recipe_$1/adapter/adapter_model.safetensors" ]] ||
    gatt train --config configs/joint/recipes_train.yaml --output_dir="$out/recipe_$1" --history="$1"
}
stage_joint() { # how much of what is kept is also an answer: GAtt on the demo's kept samples, three passes
  local configs=configs/joint
  recipe reference
  evaluate joint joint recipes --adapters="{gatt: $out/recipe_reference/adapter}" --arms='[base, alone, canned, gatt]' \
    --baseline=base
}
stage_recipes() { # the same samples learned in their dialogues and alone (single-turn fine-tuning), in as many steps
  local configs=configs/joint
  recipe reference
  recipe none
  evaluate recipes joint recipes
}
stage_demo_seeds() { # the demo with ten seeds: how far its figures spread. GAtt alone; the base model is in results/demo
  local seed run
  for seed in {1..10}; do
    run=$out/demo/seed_$seed
    gatt run configs/demo.yaml --output_dir="$run" --synth.seed="$seed" --train.seed="$seed" --eval.seed="$seed" \
      --eval.arms='[gatt]' --eval.baseline=gatt ${DTYPE:+--synth.teacher.engine.dtype="$DTYPE" --eval.engine.dtype="$DTYPE"} \
      ${DTYPE:+--train.bf16=true}
    mkdir -p "results/demo/seeds/$seed"
    cp "$run/results.json" "results/demo/seeds/$seed/"
  done
}
stage_qwen_student() { # the 0.5B on these samples: results/qwen/adapter
  [[ ! -f results/qwen/adapter/adapter_model.safetensors ]] || return 0 # Move it away to train it anew.
  restore qwen qwen
  gatt train --config configs/qwen/train.yaml
  keep "$out/qwen/student/adapter" results/qwen/adapter
}
qwen() { # qwen NAME METRIC CONFIG [KEY=VALUE…]: configs/qwen/eval_CONFIG.yaml, to results/NAME
  local out=runs/evidence/qwen configs=configs/qwen
  evaluate "$@" ${DTYPE:+--engine.dtype="$DTYPE"}
}
stage_qwen_validation() {
  qwen qwen_validation keeps validation
  qwen qwen_validation_own keeps validation --histories='[own]'
}
stage_qwen_ordinary() { qwen ordinary keeps ordinary; }
stage_qwen_ordinary_own() { qwen ordinary_own keeps ordinary --histories='[own]' --num_dialogues=20; }
stage_qwen_ordinary_40() { qwen ordinary_40 keeps ordinary --arms='[gatt]' --num_turns=40 --turns='[20, 30, 40]'; }
stage_qwen_table30() { qwen table30 probe_recall table30; }
stage_qwen_table30_base() { qwen table30_base probe_recall table30 --arms='[base, gatt]' --num_dialogues=30; }
stage_qwen_table30_40() { qwen table30_40 probe_recall table30 --num_turns=40 --probe_turns='[30, 40]' --num_dialogues=30; }
stage_qwen_heldout() {
  qwen heldout keeps heldout
  qwen heldout_reference keeps heldout --histories='[reference]' --num_turns=40 --source.min_turns=12 \
    --source.max_turns=40 --turns='[1, 2, 4, 8, 12, 20, 30, 40]'
}
stage_qwen_cost() { qwen cost false_trigger cost --num_plain=32; }
stage_qwen_perplexity() { # of plain dialogues, to results/qwen/perplexity.json
  local out=runs/evidence/qwen configs=configs/qwen
  perplexity qwen ${DTYPE:+--engine.dtype="$DTYPE"}
}
split_softmax() { # split_softmax NAME EXPONENT CONFIG [KEY=VALUE…]: an evaluation under it, to results/NAME
  local name=$1 folder=$out/qwen/$1
  "${PYTHON:-python3}" scripts/split_softmax.py "$2" "configs/qwen/eval_$3.yaml" --output_dir="$folder" \
    ${DTYPE:+--engine.dtype="$DTYPE"} "${@:4}"
  publish "$name" "$folder"
  replies "$name" "$folder"
}
stage_qwen_split_validation() { # which exponent is best for the base model: 1 leaves it as it is
  local exponent
  for exponent in 1 0.8 0.6 0.4; do
    split_softmax "split_softmax_validation_$exponent" "$exponent" validation --arms='[base]' \
      --only_trained=false --turns='[1, 2, 4, 20]'
  done
}
stage_qwen_split() { # the exponent that the validation part chose, before 0.4 was tried
  split_softmax split_softmax 0.6 ordinary --arms='[base, gatt]'
}
stage_qwen_small() { # SmolLM2-135M on these samples, and on as many targets that it drew itself: one sample in three of both
  local files history
  restore qwen qwen
  restore data data
  some small_teacher_samples 'NR % 3 == 1' "$out"/qwen/{chitchat,questions}_*/samples.jsonl
  student small_teacher smollm2-135m-instruct --samples="$(listed "${files[@]}")"
  some small_own_samples 'NR % 3 == 1' "$out"/data/*/samples.jsonl
  student small_own smollm2-135m-instruct --samples="$(listed "${files[@]}")"
  for history in reference own; do
    other_student small "$history" smollm2-135m-instruct --arms='[base, teacher, own]' --num_dialogues=20 \
      --adapters="{teacher: $out/qwen/small_teacher/adapter, own: $out/qwen/small_own/adapter}"
  done
}
stage_qwen_large() { # teacher and student the same, as in the paper: the 1.5B on five samples of each set
  local files model=qwen2.5-coder-1.5b-instruct unseen=(--only_trained=false --splits='[heldout_value]')
  restore qwen qwen
  some large_samples 'NR <= 5' "$out"/qwen/{chitchat,questions}_*/samples.jsonl
  student large "$model" --samples="$(listed "${files[@]}")"
  other_student large reference "$model" --adapters="{gatt: $out/qwen/large/adapter}" --arms='[base, gatt]' "${unseen[@]}"
  other_student large own "$model" --adapters="{gatt: $out/qwen/large/adapter}" --arms='[base, gatt]' "${unseen[@]}" \
    --num_dialogues=10
}
some() { # some AT CONDITION FILE…: the lines that awk takes, to runs/evidence/qwen/AT/SET.jsonl, into `files`
  local file at=$out/qwen/$1 condition=$2
  mkdir -p "$at"
  files=()
  for file in "${@:3}"; do
    files+=("$at/$(basename "$(dirname "$file")").jsonl")
    awk "$condition" "$file" >"${files[-1]}"
  done
}
student() { # student NAME MODEL [KEY=VALUE…]: trained as the 0.5B is
  gatt train --config configs/qwen/train.yaml --output_dir="$out/qwen/$1" --model="$2" "${@:3}"
}
other_student() { # other_student NAME HISTORY MODEL KEY=VALUE…: 20 turns of people's or of its own history
  qwen "student_$1_$2" keeps ordinary --engine.model="$3" --histories="[$2]" "${@:4}"
}
stage_restore() { restore data data; } # the samples of results/data in place of `data`, which would make them anew
keep() { # keep ADAPTER FOLDER: the adapter in bfloat16, as it is committed and evaluated
  rm -rf "$2.part"
  mkdir -p "$2.part" "$2"
  cp "$1"/* "$2.part/"
  "${PYTHON:-python3}" - "$2.part/adapter_model.safetensors" <<'EOF'
import sys
import torch
from safetensors.torch import load_file, save_file
weights = {name: value.to(torch.bfloat16) for name, value in load_file(sys.argv[1]).items()}
save_file(weights, sys.argv[1], metadata={"format": "pt"})
EOF
  # The weights last: by them a stage tells that an adapter is kept.
  find "$2.part" -type f ! -name adapter_model.safetensors -exec mv {} "$2/" \;
  find "$2.part" -type f -exec mv {} "$2/" \;
  rmdir "$2.part"
}
stage_main() { # the adapter of all evaluations: results/adapter, to be committed before they are run
  if [[ -f results/adapter/adapter_model.safetensors ]]; then
    echo "results/adapter: the kept adapter is taken; move it away to train it anew"
    return
  fi
  gatt train --config "$configs/train.yaml"
  keep "$out/main/adapter" results/adapter
}
stage_validation() { evaluate validation keeps validation --arms='[base, gatt]'; }
stage_table30() { evaluate table30_135m probe_recall table30; }
stage_ordinary() {
  evaluate ordinary_135m keeps ordinary
  evaluate ordinary_own_135m keeps ordinary --histories='[own]' --num_dialogues=30
  # The instruction at the start of the first message, where training had it in half of the samples.
  evaluate ordinary_first_user keeps ordinary --placement=first_user --splits='[train]'
  evaluate ordinary_dental keeps dental
  # What the limits of tokens cost those that say more: the base model, and the reminder.
  evaluate ordinary_long keeps ordinary --num_dialogues=30 --turns='[1, 4, 20]' --sampling.max_new_tokens=128
  evaluate table30_long probe_recall table30 --num_dialogues=30 --probe_turns='[2, 4, 20]' --sampling.max_new_tokens=128
}
stage_attend() { # where the model looks in the ordinary dialogues, both arms over the same text: half an hour
  local from=$out/ordinary_135m
  [[ -f "$from/attention-turns.png" ]] || # written last
    gatt attend --results="$from" --num_dialogues=15 \
      --chart="$from/attention.png"
  # What hiding it costs, where much of it is kept still.
  [[ -f "$out/attend_20/attention.html" ]] ||
    gatt attend --results="$from" --num_dialogues=60 --turns='[20]' \
      --output_dir="$out/attend_20"
  mkdir -p results/attend
  cp "$from"/attention.{json,html} "$from"/attention{,-turns}.png results/attend/
  cp "$out/attend_20/attention.json" results/attend/attention-20.json
  publish ordinary_135m "$from" # Its report has the section now.
}
stage_heldout() { # 20 turns of its own, and 40 of a human history
  evaluate heldout_135m keeps heldout
  evaluate heldout_reference_135m keeps heldout --histories='[reference]' --num_turns=40 --source.min_turns=12 \
    --source.max_turns=40 --turns='[1, 2, 4, 8, 12, 20, 30, 40]'
}
stage_combined() {
  evaluate combined_2 keeps combined
  evaluate combined_3 keeps combined --instructions.num_entries='[0.0, 0.0, 1.0]'
}
stage_switch() {
  if [[ ! -f results/switch_adapter/adapter_model.safetensors ]]; then
    echo "results/switch_adapter: not there: \`git checkout 7722c749 -- results/switch_adapter\` brings it back" >&2
    exit 1
  fi
  switched validation replace keeps_since_switch --part=validation --num_dialogues=20 --arms='[switch, main]'
  # Replaced by the user, and by a later system message; taken back; added to. Behaviours are hardly kept
  # beside another instruction (`combined`), so nothing is added to them.
  switched replace replace keeps_since_switch
  # What it costs where nothing changes: the same dialogues and first instructions.
  evaluate switch_unchanged keeps switch --switch=null --turns='[1, 4, 9, 10, 11, 12, 14, 18, 20]' \
    --probe_turns='[]' --arms='[switch, main]'
  switched system replace keeps_since_switch --switch.system=1
  switched cancel cancel leakage
  switched cancel_system cancel leakage --switch.system=1
  switched add add keeps_since_switch --instructions.families='[figure, hobby, persona]'
  perplexity switch_unchanged --adapters='{main: results/adapter, switch: results/switch_adapter}'
  gatt report "$out/switch_replace" --metric leakage --chart results/switch_replace/leakage.png
}
switched() { # switched NAME KIND METRIC [KEY=VALUE…]: all instructions change at turn 10 in one way
  local name=switch_$1 kind=$2 metric=$3
  shift 3
  evaluate "$name" "$metric" switch --switch.replace=0 "--switch.$kind=1" "$@"
}
stage_cost() { # no instruction at all: false triggers, task completion, perplexity
  evaluate cost_135m false_trigger cost
  perplexity cost_135m
  # All others of that part: the recipe was chosen by the first hundred.
  perplexity cost_untouched --skip_dialogues=100 --num_dialogues=1000
}
stage_long() { # trained at 8, 16 and 20 turns, evaluated to the end of the context
  local turns
  for turns in 8 16; do
    [[ ! -f results/turns_${turns}_adapter/adapter_model.safetensors ]] || continue
    gatt train --config "$configs/train.yaml" --output_dir="$out/turns_$turns" --max_turns="$turns"
    keep "$out/turns_$turns/adapter" "results/turns_${turns}_adapter"
  done
  evaluate long keeps long
  evaluate long_own keeps long --adapters='{gatt: results/adapter}' --arms='[gatt]' --histories='[own]' \
    --num_dialogues=10 --batch_cases=10
}
with_target() { # with_target FILE…: how many samples have one
  cat "$@" | grep -c '"reply": "[^"]'
}
half_a_pass() { # half_a_pass FILE…: the steps of an ablation, half of the samples that have a target
  echo $(($(with_target "$@") / 2))
}
of_sets() { # of_sets FOLDER…: the files of all sets in runs/evidence/FOLDER…, into `files`
  local folder name
  files=()
  for folder; do for name in "${sets[@]}"; do files+=("$out/$folder/$name/samples.jsonl"); done; done
}
parts() { # parts AT FILE…: the samples that some ablations take, to runs/evidence/AT
  local at=$out/$1
  shift
  rm -rf "$at"
  "${PYTHON:-python3}" scripts/evidence_parts.py "$at" "$@"
}
stage_ablations() {
  local steps name arms files
  steps=$(half_a_pass "$out"/data/*/samples.jsonl)
  of_sets data
  parts parts "${files[@]}"
  ablation recipe "$steps" # What the others are compared with.
  ablation reference "$steps" --history=reference
  ablation sampled "$steps" --history=sampled
  ablation all_turns "$steps" --supervise=all_turns --history=reference
  ablation context_only "$steps" --supervise=context_only --history=reference
  # Its prompts are longer: within 2,048 positions it would lose exchanges, and come by other samples.
  ablation every_turn "$steps" --placement=every_turn --max_length=4096
  # No dialogue without an instruction, or 15 % (all have 22), and about as many steps with one as the others have.
  for name in told plain_15; do
    ablation "$name" "$(half_a_pass "$out/parts/$name.jsonl")" --samples="[$out/parts/$name.jsonl]"
  done
  for name in samples_50 samples_200; do ablation "$name" "$steps" --samples="[$out/parts/$name.jsonl]"; done
  ablation plain_targets "$steps" --plain_loss=targets # Taught its replies, and not held to the base model.
  ablation rate_5e-4 "$steps" --learning_rate=5e-4
  # Without targets that were drawn under a hint, behind a given beginning, or had a sentence added; and with as many
  # targets of the same samples, of every kind.
  for name in unaided as_many; do ablation "$name" "$steps" --samples="[$out/parts/$name.jsonl]"; done
  ablation seed_1 "$steps" --seed=1 # The recipe again, in another order and with other draws: the noise.
  compared ablations keeps "recipe reference sampled all_turns context_only every_turn told samples_50 samples_200 \
    plain_targets rate_5e-4 seed_1 plain_15"
  compared ablations_targets keeps "recipe unaided as_many"
  # As in a chat: what the model said itself is in the history, which not all of these have learned from.
  compared ablations_own keeps "recipe reference sampled all_turns context_only" --histories='[own]'
  # Where it was trained to read the instruction, at the start of a user message.
  compared ablations_first_user keeps "recipe every_turn" --placement=first_user
  compared ablations_plain false_trigger "recipe told plain_targets plain_15" --num_dialogues=0 --num_plain=40 --histories='[own]'
  # What plain dialogues, and how they are learned, do to the model's general text.
  perplexity ablations --part=validation --adapters="$(ablated recipe told plain_targets plain_15)"
}
stage_samples() { # how many samples (50, 200 and 800 in as many steps, one pass over the 800), how many instructions
  local files steps num name set seed=4
  # 460 beside those of `data`, in their shares, over other chats.
  if ! are_kept data_more more; then
    for set in figure:43 hobby:97 language:43 behaviour:81 persona:33 plain:98 combined:22 questions:43; do
      draw more "${set%:*}" "${set#*:}" --seed=1 --source.min_turns=8 --source.max_turns=8 --source.seed="$((seed++))"
    done
    keep_samples data_more more
  fi
  of_sets data more
  steps=$(with_target "${files[@]}")
  parts parts_800 "${files[@]}"
  ablation of_800 "$steps" --samples="$(listed "${files[@]}")"
  for num in 200 50; do ablation "of_$num" "$steps" --samples="[$out/parts_800/samples_$num.jsonl]"; done
  # A quarter of the instructions, in as many samples; as many steps as the other ablations.
  steps=$(half_a_pass "$out"/data/*/samples.jsonl)
  for name in few_entries many_entries; do ablation "$name" "$steps" --samples="[$out/parts_800/$name.jsonl]"; done
  compared ablations_samples keeps "of_800 of_200 of_50"
  compared ablations_samples_own keeps "of_800 of_200 of_50" --histories='[own]'
  compared ablations_entries keeps "many_entries few_entries"
}

# Too much for two cores: on a GPU, `scripts/evidence.sh gpu`, after the others.
stage_gpu() {
  local seed rank terse num arms
  # The main recipe, whole: three seeds, and two other ranks of the first.
  for seed in 0 1 2; do gatt train --config "$configs/train.yaml" --output_dir="$out/ablated/main_$seed" --seed="$seed"; done
  for rank in 4 64; do
    gatt train --config "$configs/train.yaml" --output_dir="$out/ablated/rank_$rank" --lora.r="$rank" \
      --lora.lora_alpha="$((2 * rank))"
  done
  against main_0 main_1 main_2 rank_4 rank_64
  evaluate gpu keeps ordinary "${arms[@]}"
  for terse in 0 0.5; do # The paper's half of shortened wordings, and none.
    synth "terse_$terse" --num_samples=320 --plain_fraction=0.15 --instructions.terse_probability="$terse"
    ablation "terse_$terse" 320 --samples="[$out/terse_$terse/samples.jsonl]"
  done
  compared gpu_terse keeps "terse_0 terse_0.5"
  for num in 320 1600 6400; do
    synth "samples_$num" --num_samples="$num" --plain_fraction=0.15
    ablation "drawn_$num" 6400 --samples="[$out/samples_$num/samples.jsonl]" # One pass over the most.
  done
  compared gpu_samples keeps "drawn_320 drawn_1600 drawn_6400"
}

stages=(ability data main validation table30 ordinary attend heldout combined switch cost long ablations samples)
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
