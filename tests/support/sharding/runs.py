"""Small runs that one process and two processes must train alike, however the weights are spread.

Usage: [accelerate launch ... cpu_shards.py] tests.support.sharding.runs FOLDER BACKEND

All runs are trained one after the other, in FOLDER/BACKEND; what they gave stands in FOLDER/BACKEND.json.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from peft import LoraConfig, get_peft_model
from transformers.integrations.deepspeed import unset_hf_deepspeed_config

import gatt.comb.objectives.base
from gatt.data.sample import GattSample
from gatt.models.load import load_model
from gatt.train.config import LoraSettings, PreferenceSettings, TrainConfig
from gatt.train.run import train
from gatt.train.runtime import current_runtime, leave, wait_for_everyone
from tests.support.models.tiny import sample, save_tiny_model, tiny_run, write_samples

NUM_STEPS = 3
EVEN = [sample(number, 2) for number in range(12)]
FIVE = EVEN[:5]
UNEVEN = [sample(number, 1 + 5 * (number % 2)) for number in range(12)]
"""Dialogues of one turn and of six."""
PLAIN = [sample(number, 2, is_plain=number % 4 == 0) for number in range(12)]
PIECE = 2048
"""Logits of a piece where there are to be many: of six tokens."""

PAIRS = [
    replace(s, targets=tuple(replace(t, rejected=f"No. {t.turn * t.reply}") for t in s.targets))
    for s in (sample(n, 1 + 2 * (n % 2), is_plain=n % 4 == 0) for n in range(12))
]
"""Dialogues of one pair, of three and, plain ones, of none."""
TIED, UNTIED, HEAD = "tied-model", "model", "adapter-with-head"
"""Below the folder of the runs: a model whose LM head is the embedding, one whose head is not, and an
adapter that trains the head as well."""

RUNS: dict[str, tuple[list[GattSample], dict[str, Any]]] = {
    "equal": (EVEN, {"model": TIED}),
    "filled": (FIVE, {"layout": "expanded"}),
    "pieces": (UNEVEN, {"model": TIED, "gradient_checkpointing": True}),
    "kl": (PLAIN, {"plain_loss": "kl", "per_device_train_batch_size": 1}),
    "head": (PLAIN, {"plain_loss": "kl", "init_adapter": HEAD}),
    "bf16": (PLAIN, {"plain_loss": "kl", "model": TIED, "bf16": True}),
    "preference": (
        PAIRS,
        {
            "objective": "preference",
            "preference": PreferenceSettings(loss_type=("sigmoid", "sft")),
            "per_device_train_batch_size": 1,
        },
    ),
    "distil": (PAIRS, {"objective": "distil", "plain_loss": "kl", "per_device_train_batch_size": 1}),
}  # fmt: skip
"""Samples, and settings beside the common ones."""
IN_PIECES = ("pieces", "kl", "head", "preference", "distil")
"""Runs whose processes have many pieces each, and different numbers of them."""
RESUMED = ("equal", "bf16", "preference")
"""Runs whose last step is trained again, from the checkpoint before it."""


def prepare_folder(folder: Path) -> None:
    """Write what the runs read."""
    save_tiny_model(folder / TIED)
    save_tiny_model(folder / UNTIED, tie_word_embeddings=False)
    lora = LoraConfig(
        task_type="CAUSAL_LM", r=4, target_modules=["q_proj"], modules_to_save=["lm_head"]
    )
    model = load_model(str(folder / UNTIED)).model
    get_peft_model(model, lora).save_pretrained(folder / HEAD)
    for name, (samples, _) in RUNS.items():
        write_samples(folder / f"{name}.jsonl", samples)


def config_of(folder: Path, backend: str, name: str, num_processes: int) -> TrainConfig:
    """Return the configuration of a run: four dialogues a step, on one process or two."""
    settings = {
        "lora": LoraSettings(r=4), "max_steps": NUM_STEPS, "per_device_train_batch_size": 2,
        "learning_rate": 1e-2, "lr_scheduler_type": "constant", "warmup_steps": 0.0, "save_steps": 2,
        "bf16": False, **RUNS[name][1],
    }  # fmt: skip
    model = folder / settings.pop("model", UNTIED)
    if "init_adapter" in settings:
        settings["init_adapter"] = folder / settings["init_adapter"]
    num_rows = settings["per_device_train_batch_size"] * num_processes
    settings["gradient_accumulation_steps"] = 4 // num_rows
    return tiny_run(model, folder / f"{name}.jsonl", folder / backend / name, **settings)


def trained(config: TrainConfig) -> dict[str, Any]:
    """Train and return what was logged, a line a step."""
    # A process that trains twice would load the second model under the first one's ZeRO.
    unset_hf_deepspeed_config()
    result = train(config)
    state = config.output_dir / f"checkpoint-{NUM_STEPS}" / "trainer_state.json"
    lines = json.loads(state.read_text(encoding="utf-8"))["log_history"]
    lines = [line for line in lines if "loss" in line]
    keys = (
        "loss", "grad_norm", "mean_token_accuracy", "plain_kl", "rewards/margins", "distil_kl",
        "num_supervised_tokens",
    )  # fmt: skip
    return {
        "adapter": str(result.adapter),
        **{key: [line[key] for line in lines if key in line] for key in keys},
    }


def resumed(config: TrainConfig) -> dict[str, Any]:
    """Train the last step of a run again, from its checkpoint."""
    folder = config.output_dir.with_name(f"{config.output_dir.name}-resumed")
    if current_runtime().is_main_process:
        shutil.copytree(config.output_dir, folder)
        shutil.rmtree(folder / "adapter")
        shutil.rmtree(folder / f"checkpoint-{NUM_STEPS}")
    wait_for_everyone()
    return trained(replace(config, output_dir=folder))


def main(folder: str, backend: str, *names: str) -> None:
    num_processes = 1 if backend == "one" else 2
    outcome: dict[str, Any] = {}
    for name in names or RUNS:
        config = config_of(Path(folder), backend, name, num_processes)
        piece = PIECE if name in IN_PIECES else gatt.comb.objectives.base.PIECE
        with (
            patch("gatt.comb.objectives.base.PIECE", piece),
            # Slow without instructions for it, and no less exact.
            patch("gatt.train.arguments.multiplies_bfloat16", lambda: True),
        ):
            outcome[name] = trained(config)
            if name in RESUMED:
                outcome[f"{name}-resumed"] = resumed(config)
    runtime = current_runtime()
    outcome["runtime"] = [runtime.num_processes, str(runtime.distributed_type.value)]
    if runtime.is_main_process:
        Path(folder, f"{backend}.json").write_text(json.dumps(outcome), encoding="utf-8")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(*sys.argv[1:])
    leave(0)
