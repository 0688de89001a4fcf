"""A tiny base model, an adapter for it that changes what it says, and an evaluation of both."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from peft import LoraConfig, get_peft_model

from gatt.data.training_marks import TrainedOn, write_marks
from tests.support.models.tiny import randomise, save_tiny_model, tiny_llama, tiny_tokenizer
from tests.support.runs.stages import dialogue

HEAD = "---\nlibrary_name: peft\ntags: [ghost-attention, gatt, lora]\n---\n\n# Ghost Attention adapter\n\n"
SECTIONS = ("Method", "Data", "Training", "Limits")
CARD = HEAD + "\n".join(f"## {name}\n\nOf {name.lower()}.\n" for name in SECTIONS)


def save_adapter(folder: Path, base: str, target: str = "q_proj", **changes: Any) -> Path:
    """Write an adapter as `gatt train` leaves it; its random update is large enough to be seen."""
    settings = LoraConfig(task_type="CAUSAL_LM", r=2, lora_alpha=4, target_modules=[target])
    model = get_peft_model(tiny_llama(tiny_tokenizer(), **changes), settings)
    randomise(model, "lora_", 0.3, seed=5)
    model.save_pretrained(folder)
    path = folder / "adapter_config.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**values, "base_model_name_or_path": base}), encoding="utf-8")
    write_marks(folder, TrainedOn.of([dialogue(1)]))
    (folder / "README.md").write_text(CARD, encoding="utf-8")
    return folder


def save_trained(folder: Path, **changes: Any) -> tuple[Path, Path]:
    """Write a tiny base model and its adapter; return both folders."""
    base = save_tiny_model(folder / "base", **changes)
    return base, save_adapter(folder / "adapter", str(base), **changes)


def record(**changes: Any) -> dict[str, Any]:
    """Return one record of `curves`, with some keys changed."""
    plain = {
        "arm": "gatt", "metric": "keeps", "history": "reference", "split": "all",
        "family": "all", "turn": 1, "rate": 0.5, "low": 0.25, "high": 0.75, "num_dialogues": 16,
    }  # fmt: skip
    return {**plain, **changes}


def write_results(
    folder: Path, curves: list[dict[str, Any]], weights: Mapping[str, str] | None = None
) -> Path:
    """Write the `results.json` of an evaluation, and a reply of each arm with the digest of its weights."""
    folder.mkdir(parents=True, exist_ok=True)
    head = {"model": "tiny", "seed": 3, "commit": "abc"}
    results = {"schema": 3, "run": head, "curves": curves}
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
    rows = [{"key": "base/reference/d1"}]
    rows += [{"key": f"{arm}/d1", "weights": digest} for arm, digest in (weights or {}).items()]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "rollouts.jsonl").write_text(lines, encoding="utf-8")
    return folder
