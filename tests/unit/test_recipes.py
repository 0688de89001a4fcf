"""Recipes: each family's template can be trained as the recipe says, and its LoRA names exist."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from gatt.comb.model_support import why_not_packable
from gatt.config.load import load_config
from gatt.models.template_facts import inspect_template, usable_placement
from gatt.train.config import TrainConfig
from tests.support.models.foreign_templates import foreign
from tests.support.models.golden_templates import SMOLLM2

RECIPES = Path(__file__).resolve().parents[2] / "configs" / "recipes"
FILES = sorted(RECIPES.glob("*.yaml"))
# What is learned under each is tested with the templates themselves.
TEMPLATES = {
    "llama3": [foreign("llama3"), foreign("llama3_2")],
    "qwen3": [foreign("qwen3"), foreign("qwen3_instruct_2507")], "gemma3": [foreign("gemma3")],
    "mistral": [foreign("mistral_v3")], "smollm2": [SMOLLM2], "smollm3": [foreign("smollm3")],
}  # fmt: skip
ARCHITECTURES = {
    "llama3": "llama", "qwen3": "qwen3", "gemma3": "gemma3_text", "mistral": "mistral", "smollm2": "llama",
    "smollm3": "smollm3",
}  # fmt: skip
SIZES: dict[str, Any] = {
    "vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "pad_token_id": 0,
    "bos_token_id": None, "eos_token_id": 1,
}  # fmt: skip


def recipe_of(name: str) -> TrainConfig:
    return load_config(TrainConfig, RECIPES / f"{name}.yaml")


def test_every_recipe_has_its_templates_and_its_model() -> None:
    assert {path.stem for path in FILES} == set(TEMPLATES) == set(ARCHITECTURES)


@pytest.mark.parametrize(
    ("recipe", "template"), [(name, one) for name, found in TEMPLATES.items() for one in found]
)
def test_template_keeps_the_prefix_and_takes_the_placement(recipe: str, template: Any) -> None:
    facts = inspect_template(template.tokenizer())
    assert facts.is_prefix_preserving
    wanted = recipe_of(recipe).placement
    assert usable_placement(wanted, facts) == wanted


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_lora_names_are_those_of_the_model_and_it_takes_packed_rows(path: Path) -> None:
    recipe = recipe_of(path.stem)
    config = AutoConfig.for_model(ARCHITECTURES[path.stem], **SIZES)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    linear = {
        name.rpartition(".")[2]
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear)
    }
    assert set(recipe.lora.target_modules) == linear - {"lm_head"}
    assert recipe.pack_rows
    assert why_not_packable(config, max_length=recipe.max_tokens_per_row) is None
