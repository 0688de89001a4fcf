"""Shell scripts with stand-ins for the commands that they call: what is run, with which configurations."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from data_synth.config import SynthConfig
from eval.config import EvalConfig
from eval.metrics.table import METRICS
from eval.perplexity import PerplexityConfig
from gatt.config.load import load_config
from gatt.stages.run_file import load_run
from tests.support.texts.doc_pages import DOCS, ROOT, blocks

EVIDENCE = ROOT / "scripts" / "evidence.sh"
# It records the command, and leaves the files that the script reads.
STAND_IN = """#!/usr/bin/env bash
[[ $1 != - ]] || { touch "$3"; exit 0; }
printf '%s\\x1f' "${@:3}" >>"$RECORD"; echo >>"$RECORD"
for word in "$@"; do
  [[ $word == --output_dir=* ]] || continue
  mkdir -p "${word#*=}"/adapter
  touch "${word#*=}"/{results.json,samples.jsonl,adapter/README.md,adapter/adapter_model.safetensors}
done
"""
RECORDER = """#!/usr/bin/env bash
[[ $1 != - ]] || exit 0
echo "$*" >>"$RECORD"
echo "┏ a table"
"""
PAGES = ROOT / "results" / "pages.yaml"
GUIDE = DOCS / "guides" / "dental_clinic.md"
NAMED = """#!/usr/bin/env bash
for word in NAME "$@"; do printf '%s\\0' "$word"; done >>"$RECORD"
printf '\\n' >>"$RECORD"
[[ NAME != transformers ]] || exec sleep 60
[[ NAME != curl ]] || grep -q transformers "$RECORD"
"""


def write_stand_in(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def test_every_stage_asks_for_what_can_be_made_and_publishes_it(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    script = shutil.copy(EVIDENCE, tmp_path / "scripts")
    (tmp_path / "configs").mkdir()
    stand_in = write_stand_in(tmp_path / "python", STAND_IN)
    env = {
        **os.environ,
        "PYTHON": str(stand_in),
        "RECORD": str(tmp_path / "record"),
        "S_IFEVAL": "prompts",
        "IFEVAL": "prompts",
    }
    listed = subprocess.run([script, "list"], capture_output=True, text=True, check=True)
    stages = listed.stdout.split()
    named = re.findall(r"scripts/evidence.sh ((?:\w+ ?)+)", PAGES.read_text(encoding="utf-8"))
    assert named
    assert {stage for stage_names in named for stage in stage_names.split()} <= {*stages}
    # Samples first, then the adapter that learns them.
    order = sorted(stages, key=lambda stage: stage not in ("qwen_chats", "qwen_questions"))
    subprocess.run([script, *order], env=env, check=True, capture_output=True, timeout=120)
    commands = (tmp_path / "record").read_text(encoding="utf-8").splitlines()
    # What is kept is not made again.
    subprocess.run([script, *order[:2], "qwen_student"], env=env, check=True, timeout=60)
    assert (tmp_path / "record").read_text(encoding="utf-8").splitlines() == commands

    published = {path.parent.name for path in (tmp_path / "results").glob("*/samples.jsonl.xz")}
    kept = {f"results/qwen/{path.name}" for path in (tmp_path / "results/qwen").glob("*.gz")}
    adapters = {"results/qwen/adapter"}
    evaluated: list[EvalConfig] = []
    for line in commands:
        command, *words = line.split("\x1f")[:-1]
        if command == "report":
            assert words[words.index("--metric") + 1] in METRICS
        elif command == "perplexity":
            config = load_config(PerplexityConfig, ROOT / words[1], words[2:])
            assert {str(path) for path in config.adapters.values()} <= adapters
        elif command == "improve":
            assert f"{words[0]}/train/adapter" in adapters
            adapters.add(f"{words[0]}/round-1/train/adapter")
        elif command == "run":
            run = load_run(ROOT / words[0], words[1:])
            if training := run.config_of("train"):
                adapters.add(str(training.output_dir / "adapter"))
                needed = {str(path) for path in training.samples if "qwen" in str(path)}
                assert needed in (set(), kept)
            if evaluation := run.config_of("eval"):
                evaluated.append(evaluation)
    seeds = {path.parent.name for path in (tmp_path / "results").glob("demo/seeds/*/results.json")}
    assert len(seeds) == 10
    assert {config.output_dir.name for config in evaluated} == published | {
        f"seed_{seed}" for seed in seeds
    }
    assert {str(p) for config in evaluated for p in config.adapters.values()} <= adapters


def test_every_step_of_the_gpu_check_is_taken_and_told(tmp_path: Path) -> None:
    stand_in, record = write_stand_in(tmp_path / "python", RECORDER), tmp_path / "record"
    done = subprocess.run(
        [str(ROOT / "scripts" / "gpu_check.sh"), str(tmp_path / "out")],
        env={**os.environ, "PYTHON": str(stand_in), "RECORD": str(record)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    commands = record.read_text(encoding="utf-8")
    files = ("tests/numerics/test_cuda.py", "tests/numerics/test_cuda_training.py",
             "tests/numerics/test_sharded_training.py",
             "scripts/research/bench_sampling.py", "scripts/research/bench_training.py")  # fmt: skip
    for word in (*files, "random-llama:1b", "random-llama:8b"):
        assert word in commands
    assert all((ROOT / path).is_file() for path in files)
    summary = (tmp_path / "out" / "summary.txt").read_text(encoding="utf-8")
    names = [line.split()[0] for line in summary.splitlines()]
    assert names == ["attention", "training", "sharded", "sampling", "bench_1b", "bench_8b"]
    assert done.stdout.count("┏ a table") == 6
    assert done.stdout.endswith(summary)


SERVERS = """
source scripts/research/engines/parts.sh
gatt() { printf '%s\\x1f' "$@" >>"$RECORD"; echo >>"$RECORD"; }
run=run url=http://127.0.0.1:1/v1 can_prefill=1
part_replies && part_synth
"""


def test_the_checks_of_servers_set_keys_that_there_are(tmp_path: Path) -> None:
    record = tmp_path / "record"
    env = {"RECORD": str(record), "PATH": "/usr/bin:/bin"}
    subprocess.run(["bash", "-ec", SERVERS], cwd=ROOT, env=env, check=True, capture_output=True)
    commands = [line.split("\x1f")[:-1] for line in record.read_text().splitlines()]
    assert [words[0] for words in commands] == ["eval", "eval", "synth"]
    for command, *words in commands:
        config = load_config(EvalConfig if command == "eval" else SynthConfig, None, words)
        assert str(config.output_dir).startswith("run/")


def test_the_dental_guide_is_run_in_order_with_its_files(tmp_path: Path) -> None:
    stand_ins, folder, record = tmp_path / "bin", tmp_path / "clean", tmp_path / "record"
    stand_ins.mkdir()
    for name in ("gatt", "transformers", "curl"):
        write_stand_in(stand_ins / name, NAMED.replace("NAME", name))
    env = {"PATH": f"{stand_ins}{os.pathsep}{os.environ['PATH']}", "RECORD": str(record)}
    done = subprocess.run(
        [str(ROOT / "scripts/research/checks/guide.sh"), str(GUIDE), str(folder)],
        env=os.environ | env,
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shell = [b for b in blocks(GUIDE) if b.language == "bash" and b.title != "installation"]
    expected = [
        words
        for block in shell
        for line in block.text.replace("{\n", "{ ").splitlines()
        if (words := line.split()[:2])[0] in ("gatt", "transformers")
    ]
    lines = record.read_text(encoding="utf-8").split("\0\n")
    ran = [line.split("\0") for line in lines if line]
    found = [words[:2] for words in ran if words[0] != "curl"]
    assert found == expected
    for block in blocks(GUIDE):
        if block.language == "yaml":
            assert (folder / block.title).read_text(encoding="utf-8") == block.text
