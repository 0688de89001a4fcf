# What the checks of real servers share: sourced by vllm_check.sh and llama_cpp_check.sh, which define install, serve and
# versions. The parts:
#   replies   gatt eval of three arms and a judge, here and served: the same words?
#   together  requests to the base model and to the adapter at once: the replies of each asked alone?
#   synth     gatt synth with given beginnings of replies, served
#   chat      a conversation of three turns with the adapter, served
#   cache     20 turns: the share of each prompt that the server had in its prefix cache
#   speed     tokens a second, served and here; only on a machine without other work
#   dialogues the same of 32 dialogues of 20 turns (a quarter of an hour)
python=$(realpath -s "${PYTHON:-$([[ -x .venv/bin/python ]] && echo .venv/bin/python || command -v python3)}")
model=smollm2-135m-instruct adapter=results/adapter
gatt() { "$python" -m gatt "$@"; }
say() { printf '\n== %s\n' "$*"; }
stop() {
  echo "error: $*" >&2
  exit 1
}
free_port() { "$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
model_folder() { "$python" -c "from gatt.models.load import resolve; print(resolve('$model'))"; }

start_server() {
  say "starting the server (about a minute; its log: $run/server.log)"
  serve >"$run/server.log" 2>&1 &
  server=$!
  trap 'kill "$server" 2>/dev/null || true' EXIT
  until curl -sf --noproxy '*' "$url/models" >/dev/null; do
    kill -0 "$server" 2>/dev/null || stop "the server ended: $(tail -n 1 "$run/server.log")"
    sleep 1
  done
}

part_replies() {
  local keys=(
    --suite=null --arms='[base, base+system+reminder, gatt]' --sampling.max_new_tokens=20 --sampling.temperature=0
    --source.name=chitchat --source.min_turns=8 --source.max_turns=8 --splits='[train]' --num_dialogues=6
    --instructions.families='[language, figure, hobby]' --turns='[1, 2, 4, 8]' --probe_turns='[]'
    --histories='[reference, own]' --engine.model="$model"
    --judge.engine.model="$model" --judge.turns='[8]' --judge.arms='[gatt]' --judge.max_new_tokens=48
  )
  local served=(--engine.server.urls="[$url]" --judge.engine.server.urls="[$url]" --adapters.gatt=gatt)
  ((can_prefill)) && keys+=(--judge.is_prefilled=true) && served+=(--judge.engine.server.can_prefill=true)
  say "gatt eval and a judge, by the local engine"
  gatt eval "${keys[@]}" --output_dir="$run/local" --adapters.gatt="$adapter"
  say "the same, served"
  gatt eval "${keys[@]}" --output_dir="$run/served" "${served[@]}"
}

part_synth() {
  say "gatt synth, served"
  gatt synth --output_dir="$run/synth" --num_samples=4 --plain_fraction=0 --batch_samples=4 --source.name=chitchat \
    --source.min_turns=4 --source.max_turns=4 --instructions.families='[figure]' --instructions.num_entries='[1.0]' --teacher.engine.model="$model" \
    --teacher.attempts=1 --teacher.hint_attempts=0 --teacher.prefill_attempts=$((can_prefill * 2)) \
    --teacher.compose=false --teacher.engine.server.urls="[$url]" \
    --teacher.engine.server.can_prefill="$( ((can_prefill)) && echo true || echo false)"
}

part_chat() {
  say "gatt chat, served"
  printf '%s\n' 'Hello! How are you?' 'What is the capital of Italy?' 'Thank you. Goodbye!' |
    gatt chat --server "$url" --model "$model" --adapter gatt --entry language.fr --temperature 0 --max-new-tokens 40 |
    tee "$run/chat.txt"
}

check() { # check NAME [PART…]: run the parts against the server, and write results/engines
  local name=$1 part wanted parts=()
  shift
  wanted=("${@:-replies together synth chat cache speed dialogues}")
  run=runs/engines/$name port=${PORT:-$(free_port)}
  url=${URL:-http://127.0.0.1:$port/v1}
  can_prefill=${can_prefill:-1}
  [[ -f $adapter/adapter_model.safetensors ]] || stop "$adapter: no adapter: \`git checkout 7722c749 -- $adapter\` brings it back"
  mkdir -p "$run" results/engines
  gatt models get "$model"
  install
  for part in ${wanted[*]}; do
    [[ " replies together synth chat cache speed dialogues " == *" $part "* ]] ||
      stop "no part '$part': expected replies, together, synth, chat, cache, speed or dialogues"
    if [[ -f $run/$part.json ]]; then say "$part: done before ($run/$part.json)"; else parts+=("$part"); fi
  done
  if ((${#parts[@]})); then
    [[ -n ${URL:-} ]] || start_server
    for part in "${parts[@]}"; do
      declare -F "part_$part" >/dev/null && "part_$part"
      say "$part"
      "$python" scripts/research/engines/measure.py "$part" --run "$run" --url "$url" --model "$model" --adapter "$adapter"
    done
  fi
  "$python" scripts/research/engines/publish.py "$name" --run "$run" --server "$(versions)"
}
