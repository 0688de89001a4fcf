"""`scripts/evidence.sh` with a stand-in for `gatt`: every command of every stage has a valid configuration."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from data_synth.config import SynthConfig
from eval.config import EvalConfig
from eval.studies.attention.task import AttendConfig
from eval.studies.perplexity import PerplexityConfig
from gatt.config.load import load_config
from gatt.train.config import TrainConfig
from tests.support.models.tiny import sample, write_samples
from tests.support.texts.doc_pages import ROOT

STAGES = (
    "ability", "validation", "table30", "ordinary", "attend", "heldout", "combined", "switch", "cost",
    "long", "ablations", "samples", "gpu", "qwen_validation", "qwen_table30", "qwen_table30_base",
    "qwen_table30_40", "qwen_ordinary", "qwen_ordinary_own", "qwen_ordinary_40", "qwen_heldout",
    "qwen_cost", "qwen_small", "qwen_large",
)  # fmt: skip
SETS = ("figure", "hobby", "language", "behaviour", "persona", "plain", "combined", "questions")
SCHEMAS: dict[str, type[Any]] = {
    "synth": SynthConfig, "train": TrainConfig, "eval": EvalConfig, "attend": AttendConfig,
    "perplexity": PerplexityConfig,
}  # fmt: skip
# It records the command, and leaves the files that the script reads.
STAND_IN = """#!/usr/bin/env bash
[[ $1 != - ]] || exit 0
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


def test_every_stage_asks_for_what_can_be_made_and_publishes_it(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    for name in ("evidence.sh", "evidence_parts.py"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    stand_in = tmp_path / "python"
    stand_in.write_text(STAND_IN, encoding="utf-8")
    stand_in.chmod(0o755)
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
