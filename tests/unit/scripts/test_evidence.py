"""Shell scripts with stand-ins for the commands that they call: what is run, with which configurations."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from data_synth.config import SynthConfig
from eval.config import EvalConfig
from eval.metrics.table import METRICS
from eval.studies.attention.task import AttendConfig
from eval.studies.perplexity import PerplexityConfig
from gatt.config.load import load_config
from gatt.train.config import TrainConfig
from tests.support.models.tiny import sample, write_samples
from tests.support.texts.doc_pages import DOCS, ROOT, blocks

STAGES = (
    "ability", "validation", "table30", "ordinary", "attend", "heldout", "combined", "switch", "cost",
    "long", "ablations", "samples", "gpu", "qwen_validation", "qwen_table30", "qwen_table30_base",
    "qwen_table30_40", "qwen_ordinary", "qwen_ordinary_own", "qwen_ordinary_40", "qwen_heldout",
    "qwen_cost", "qwen_perplexity", "qwen_split_validation", "qwen_split", "qwen_small", "qwen_large",
    "joint", "recipes",
)  # fmt: skip
SETS = ("figure", "hobby", "language", "behaviour", "persona", "plain", "combined", "questions")
SCHEMAS: dict[str, type[Any]] = {
    "synth": SynthConfig, "train": TrainConfig, "eval": EvalConfig, "attend": AttendConfig,
    "perplexity": PerplexityConfig,
}  # fmt: skip
# It records the command, and leaves the files that the script reads.
STAND_IN = """#!/usr/bin/env bash
[[ $1 != - ]] || exit 0
[[ $1 != scripts/split_softmax.py ]] || set -- -m gatt eval --config "${@:3}"
[[ $1 != *.py ]] || exec "$REAL_PYTHON" "$@"
printf '%s\\x1f' "${@:3}" >>"$RECORD"; echo >>"$RECORD"
for word in "$@"; do
  [[ $word != --output=* ]] || { mkdir -p "$(dirname "${word#*=}")" && touch "${word#*=}"; }
  [[ $word == --output_dir=* ]] || continue
  mkdir -p "${word#*=}"
  [[ $3 != eval ]] || touch "${word#*=}"/{results.json,report.html,samples.jsonl,rollouts.jsonl}
  [[ $3 != attend ]] || touch "${word#*=}"/attention.{json,html}
  [[ $3 != train ]] || { mkdir -p "${word#*=}"/adapter && touch "${word#*=}"/adapter/README.md; }
done
[[ $3 != attend ]] || touch runs/evidence/ordinary_135m/attention{.json,.html,.png,-turns.png}
"""
RECORDER = """#!/usr/bin/env bash
[[ $1 != - ]] || exit 0
echo "$*" >>"$RECORD"
echo "┏ a table"
"""
GUIDE = DOCS / "guides" / "dental_clinic.md"
NAMED = """#!/usr/bin/env bash
for word in NAME "$@"; do printf '%s\\0' "$word"; done >>"$RECORD"
printf '\\n' >>"$RECORD"
[[ NAME != gatt || $1 != eval ]] || cp -r "$RESULTS"/eval .
[[ NAME != transformers ]] || exec sleep 60
[[ NAME != curl ]] || grep -q transformers "$RECORD"
"""


def write_stand_in(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def test_every_stage_asks_for_what_can_be_made_and_publishes_it(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    for name in ("evidence.sh", "evidence_parts.py"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    stand_in = write_stand_in(tmp_path / "python", STAND_IN)
    for folder in ("data", "more"):
        for name in SETS:
            rows = [replace(sample(n, 2), id=f"s{n:06d}") for n in range(60)]
            rows = [replace(r, dialogue=replace(r.dialogue, id=f"{folder} {name}")) for r in rows]
            if name == "plain":
                rows = [replace(row, instruction=None) for row in rows]
            made = tmp_path / "runs" / "evidence" / folder / name
            made.mkdir(parents=True)
            write_samples(made / "samples.jsonl", rows)
    packed = gzip.compress((tmp_path / "runs/evidence/data/plain/samples.jsonl").read_bytes())
    for name in ("data/plain", "qwen/chitchat_plain", "qwen/questions_figure"):
        samples = tmp_path / "results" / f"{name}.jsonl.gz"
        samples.parent.mkdir(parents=True, exist_ok=True)
        samples.write_bytes(packed)
    # Its training samples can no longer be made.
    kept = tmp_path / "results" / "switch_adapter" / "adapter_model.safetensors"
    kept.parent.mkdir(parents=True)
    kept.touch()
    env = {
        "PYTHON": str(stand_in),
        "REAL_PYTHON": sys.executable,
        "RECORD": str(tmp_path / "record"),
    }
    script = [str(tmp_path / "scripts" / "evidence.sh"), *STAGES]
    subprocess.run(script, env={**os.environ, **env}, check=True, timeout=300)

    configs: list[Any] = []
    for line in (tmp_path / "record").read_text(encoding="utf-8").splitlines():
        command, *words = line.split("\x1f")[:-1]
        if command == "report":
            assert words[words.index("--metric") + 1] in METRICS
            continue
        schema = SCHEMAS[command]
        file = None
        if words[0] == "--config":
            file, words = ROOT / words[1], words[2:]
        configs.append(load_config(schema, file, words))
    assert {type(config) for config in configs} == {*SCHEMAS.values()}
    evaluated = {c.output_dir.name for c in configs if isinstance(c, EvalConfig)}
    published = {path.parent.name for path in (tmp_path / "results").glob("*/samples.jsonl.xz")}
    assert evaluated <= published
    trained = {str(c.output_dir) for c in configs if isinstance(c, TrainConfig)}
    kept_adapters = {f"results/{path.name}" for path in (tmp_path / "results").glob("*adapter")}
    used = {str(p) for c in configs if isinstance(c, EvalConfig) for p in c.adapters.values()}
    # `main` and `qwen_student`, stages of their own, make the first two.
    made = {f"{path}/adapter" for path in trained}
    assert used <= {"results/adapter", "results/qwen/adapter", *kept_adapters, *made}


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
             "scripts/bench_sampling.py", "scripts/bench_training.py")  # fmt: skip
    for word in (*files, "random-llama:1b", "random-llama:8b"):
        assert word in commands
    assert all((ROOT / path).is_file() for path in files)
    summary = (tmp_path / "out" / "summary.txt").read_text(encoding="utf-8")
    names = [line.split()[0] for line in summary.splitlines()]
    assert names == ["attention", "training", "sampling", "bench_1b", "bench_8b"]
    assert done.stdout.count("┏ a table") == 5
    assert done.stdout.endswith(summary)


def test_the_dental_guide_is_run_in_order_with_its_files(tmp_path: Path) -> None:
    stand_ins, results, folder = tmp_path / "bin", tmp_path / "results", tmp_path / "clean"
    record = tmp_path / "record"
    stand_ins.mkdir()
    for name in ("gatt", "transformers", "curl"):
        write_stand_in(stand_ins / name, NAMED.replace("NAME", name))
    for name, num in {"clinic": 30, "served_clinic": 28, "served_other": 27}.items():
        curve = {
            "arm": "gatt", "metric": "keeps", "history": "own", "split": "all", "family": "all",
            "turn": 20, "num_passed": num, "num_decided": 30, "num_undecided": 0,
        }  # fmt: skip
        others = [curve | {"turn": 1}, curve | {"family": "clinic"}, curve | {"split": "train"}]
        path = results / "eval" / name / "results.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"curves": [*others, curve]}), encoding="utf-8")
    env = {"PATH": f"{stand_ins}{os.pathsep}{os.environ['PATH']}", "RECORD": str(record)}
    done = subprocess.run(
        [str(ROOT / "scripts" / "checks" / "guide_dental.sh"), str(folder)],
        env=os.environ | env | {"RESULTS": str(results)},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "the clinic's bot asked in 28 of 30; the bank's left it alone in 27 of 30" in done.stdout
    assert "eval/clinic at turn 20: 30 passed, 0 failed, 0 undecided" in done.stdout
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
