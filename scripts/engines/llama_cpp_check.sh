#!/usr/bin/env bash
# llama.cpp's server (that of llama-cpp-python), on a CPU: builds it, writes SmolLM2-135M and the model with its adapter
# merged as GGUF files, serves both by name, and compares with the local engine as vllm_check.sh does.
#   scripts/engines/llama_cpp_check.sh [PART…]     PARTs: replies together synth chat cache speed (default: all)
# Results: results/engines/llama_cpp.json and README.md. Stop it at any time: it goes on where it was, and passes over what
# is done (delete runs/engines/llama_cpp to do it all again). Needs CMake, a C++ compiler, 2 GB of disk, and half an hour on
# two cores, most of it the compiler's. The server continues no given beginning of a reply, and answers one request at a time.
#   LLAMA_ENV  folder of its own environment, made here if it is missing (default .cache/llama_cpp)
#   THREADS    of the server and of this process (default: all cores)
#   PORT       of the server (default: a free one)
#   URL        of a server that runs already and serves both by name: no other is started
set -euo pipefail
cd "$(dirname "$0")/../.."
env=${LLAMA_ENV:-.cache/llama_cpp} version=0.3.36 can_prefill=0
export OMP_NUM_THREADS=${THREADS:-$(nproc)}
source scripts/engines/parts.sh

install() {
  local log=$env/install.log
  mkdir -p "$env"
  if [[ ! -f $env/.installed ]]; then
    say "building llama-cpp-python $version in $env (up to half an hour; its log: $log)"
    "$python" -m venv "$env/venv" >"$log" 2>&1 || stop "no virtual environment could be made: see $log"
    "$env/venv/bin/pip" install "llama-cpp-python[server]==$version" >>"$log" 2>&1 ||
      stop "llama-cpp-python $version cannot be built ($(grep -m1 ^ERROR "$log" || echo "see $log"))"
    touch "$env/.installed"
  fi
  if [[ ! -f $env/gatt.gguf ]]; then
    say "writing the models as GGUF files"
    # The converter comes with the source alone, and reads tokenizers with sentencepiece.
    "$env/venv/bin/pip" download -q --no-deps --no-build-isolation --no-binary :all: -d "$env" "llama-cpp-python==$version" >>"$log" 2>&1 ||
      stop "the source of llama-cpp-python $version cannot be fetched: see $log"
    tar xzf "$env/llama_cpp_python-$version.tar.gz" -C "$env"
    "$env/venv/bin/pip" install -q --target "$env/sentencepiece" sentencepiece >>"$log" 2>&1 || stop "no sentencepiece: see $log"
    rm -rf "$env/merged"
    gatt export --adapter="$adapter" --output_dir="$env/merged" >>"$log"
    as_gguf "$(model_folder)" base
    as_gguf "$env/merged" gatt
  fi
}
as_gguf() { # as_gguf FOLDER NAME
  PYTHONPATH="$env/sentencepiece" "$python" scripts/to_gguf.py "$1" "$env/part.gguf" --outtype f32 \
    --llama_cpp "$env/llama_cpp_python-$version/vendor/llama.cpp" >>"$env/install.log" 2>&1 || stop "no GGUF file: see $env/install.log"
  mv "$env/part.gguf" "$env/$2.gguf"
}

serve() {
  cat >"$run/server.json" <<END
{"host": "127.0.0.1", "port": $port, "models": [
 {"model": "$env/base.gguf", "model_alias": "$model", "n_ctx": 8192, "n_threads": $OMP_NUM_THREADS, "n_threads_batch": $OMP_NUM_THREADS},
 {"model": "$env/gatt.gguf", "model_alias": "gatt", "n_ctx": 8192, "n_threads": $OMP_NUM_THREADS, "n_threads_batch": $OMP_NUM_THREADS}]}
END
  exec "$env/venv/bin/python" -m llama_cpp.server --config_file "$run/server.json"
}

versions() { echo "llama-cpp-python $version, float32 GGUF files"; }

check llama_cpp "$@"
