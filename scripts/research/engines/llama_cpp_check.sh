#!/usr/bin/env bash
# llama.cpp's server, on a CPU: installs it (the package xllamacpp has it built), writes SmolLM2-135M and the model with its
# adapter merged as GGUF files, serves both by name, and compares with the local engine as vllm_check.sh does.
#   scripts/research/engines/llama_cpp_check.sh [PART…]     PARTs: replies together synth chat cache speed dialogues (default: all)
# Results: results/engines/llama_cpp.json and README.md. Stop it at any time: it goes on where it was, and passes over what
# is done (delete runs/engines/llama_cpp to do it all again). Needs 2 GB of disk and a quarter of an hour.
#   LLAMA_ENV  folder of its own environment, made here if it is missing (default .cache/llama_cpp)
#   THREADS    of the server and of this process (default: all cores)
#   PORT       of the server (default: a free one)
#   URL        of a server that runs already and serves both by name: no other is started
set -euo pipefail
cd "$(dirname "$0")/../../.."
env=${LLAMA_ENV:-.cache/llama_cpp} version=2026.10.11549 source_version=0.3.36
export OMP_NUM_THREADS=${THREADS:-$(nproc)}
source scripts/research/engines/parts.sh

install() {
  local log=$env/install.log pip=$env/venv/bin/pip
  mkdir -p "$env"
  if [[ ! -f $env/.installed ]]; then
    say "installing xllamacpp $version into $env (its log: $log)"
    "$python" -m venv "$env/venv" >"$log" 2>&1 || stop "no virtual environment could be made: see $log"
    "$pip" install "xllamacpp==$version" >>"$log" 2>&1 ||
      stop "xllamacpp $version cannot be installed ($(grep -m1 ^ERROR "$log" || echo "see $log"))"
    touch "$env/.installed"
  fi
  if [[ ! -f $env/gatt.gguf ]]; then
    say "writing the models as GGUF files"
    # The converter comes with a source alone, and reads tokenizers with sentencepiece.
    "$pip" download -q --no-deps -d "$env" "llama-cpp-python==$source_version" >>"$log" 2>&1 ||
      stop "the source of llama-cpp-python $source_version cannot be fetched: see $log"
    tar xzf "$env/llama_cpp_python-$source_version.tar.gz" -C "$env"
    "$pip" install -q --target "$env/sentencepiece" sentencepiece >>"$log" 2>&1 || stop "no sentencepiece: see $log"
    rm -rf "$env/merged"
    gatt export --adapter="$adapter" --output_dir="$env/merged" >>"$log"
    as_gguf "$(model_folder)" base
    as_gguf "$env/merged" gatt
  fi
}
as_gguf() { # as_gguf FOLDER NAME
  PYTHONPATH="$env/sentencepiece" "$python" scripts/to_gguf.py "$1" "$env/part.gguf" --outtype f32 \
    --llama_cpp "$env/llama_cpp_python-$source_version/vendor/llama.cpp" >>"$env/install.log" 2>&1 || stop "no GGUF file: see $env/install.log"
  mv "$env/part.gguf" "$env/$2.gguf"
}

serve() {
  exec "$env/venv/bin/python" scripts/research/engines/llama_cpp_serve.py "$port" "$model=$env/base.gguf" "gatt=$env/gatt.gguf"
}

versions() { echo "xllamacpp $version (llama.cpp b${version##*.}), float32 GGUF files"; }

check llama_cpp "$@"
