"""Training and sampling on a GPU: bfloat16, checkpointing, `accelerate launch`, shared prefixes.

`GATT_REHEARSE=1` tries all of it on a CPU, where it shows nothing but that the tests run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from gatt.comb.model_support import MOST_ERROR, MOST_ERROR_BF16
from gatt.config.load import save_config
from gatt.generation.local.model_support import sharing_error
from gatt.train.config import TrainConfig
from tests.numerics.test_sampling_architectures import SHARING, make_engine, tiny_model
from tests.support.models.first_step import ready
from tests.support.models.greedy import agreement, random_requests
from tests.support.models.tiny import (
    sample,
    save_tiny_model,
    tiny_run,
    tiny_tokenizer,
    write_samples,
)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    DEVICE == "cpu" and not os.environ.get("GATT_REHEARSE"), reason="needs a CUDA device"
)


@pytest.fixture
def config(tmp_path: Path) -> TrainConfig:
    # Heads of 16: the least that FlexAttention takes.
    model = save_tiny_model(tmp_path / "model", hidden_size=64)
    rows = [sample(n, 4) for n in range(8)]
    path = write_samples(tmp_path / "s.jsonl", rows)
    settings = {"max_steps": 3, "gradient_accumulation_steps": 8, "learning_rate": 1e-2}
    return tiny_run(model, path, tmp_path / "out", **settings)


def losses(config: TrainConfig, folder: Path, **changes: Any) -> list[float]:
    """Return the loss of every step."""
    trainer = ready(replace(config, output_dir=folder, **changes))
    assert trainer.model.device.type == DEVICE
    trainer.train()
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def test_layouts_precisions_and_checkpointing_train_alike(config, tmp_path) -> None:
    # A step is a pass over all 32 turns, in rows of one or in combs of four.
    expanded = {"layout": "expanded", "gradient_accumulation_steps": 32}
    expected = losses(config, tmp_path / "exact", bf16=False, **expanded)
    assert len(expected) == 3
    assert expected[2] < expected[0]
    ways: dict[str, dict[str, Any]] = {
        "comb": {"bf16": False},
        "split": {"bf16": False, "attn_implementation": "sdpa"},
        "bfloat16": {"bf16": "auto"},
        "checkpointing": {"bf16": "auto", "gradient_checkpointing": True},
        "expanded": {"bf16": "auto", **expanded},
    }  # fmt: skip
    for name, changes in ways.items():
        found = losses(config, tmp_path / name, **changes)
        assert found == pytest.approx(expected, rel=1e-4 if changes["bf16"] is False else 2e-2), (
            name
        )


def test_dialogues_held_to_the_base_model_train_too(config, tmp_path) -> None:
    plain = [replace(sample(n, 4), instruction=None) for n in range(4)]
    rows = write_samples(tmp_path / "plain.jsonl", [*plain, *(sample(n, 4) for n in range(4, 8))])
    found = losses(config, tmp_path / "kl", samples=(rows,), plain_loss="kl")
    assert all(loss > 0 for loss in found)


@pytest.mark.processes
def test_it_trains_under_accelerate_launch(config, tmp_path) -> None:
    save_config(config, tmp_path / "c.yaml")
    for expected in ("trained: 3 steps", "already trained: 3 steps"):
        done = subprocess.run(
            [sys.executable, "-m", "accelerate.commands.launch", "--num_processes", "1",
             "--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no",
             str(ROOT / "scripts" / "train.py"), "--config", str(tmp_path / "c.yaml")],
            cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-4000:]
        assert done.stdout.startswith(expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", SHARING)
def test_shared_prefixes_give_the_logits_of_plain_prompts(name, dtype) -> None:
    model = tiny_model(name, tiny_tokenizer()).to(DEVICE, dtype)
    most = MOST_ERROR if dtype == torch.float32 else MOST_ERROR_BF16
    assert sharing_error(model) < most


@pytest.mark.parametrize("name", ["llama", "gemma3_text"])
def test_greedy_replies_equal_plain_generate(name) -> None:
    tokenizer = tiny_tokenizer()
    model = tiny_model(name, tokenizer).to(DEVICE)
    engine = make_engine(model, tokenizer, max_rows=24)
    assert engine.shares_prefixes
    found = agreement(engine, model, random_requests(40), 12)
    assert found.num_replies > 4
    assert found.share >= 0.98
    assert found.largest_gap <= 1e-3
