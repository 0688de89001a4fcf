"""Recipes: each family's template can be trained as the recipe says, and its LoRA names exist.

TRL ships the templates of Llama, Qwen and Gemma; those of Mistral and SmolLM are forms of their own,
written down here by what they do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from gatt.comb.model_support import why_not_packable
from gatt.config.load import load_config
from gatt.data.views import PLACEMENTS, training_view
from gatt.models.encoded_view import encode_reply, encode_view
from gatt.models.template_facts import inspect_template, usable_placement
from gatt.train.config import TrainConfig
from tests.support.models.golden_templates import INSTRUCTION, TARGETS, WORDS, dialogue
from tests.support.texts.words import CHATML, CHATML_SPECIALS, trl_template, word_tokenizer

RECIPES = Path(__file__).resolve().parents[2] / "configs" / "recipes"
FILES = sorted(RECIPES.glob("*.yaml"))

LLAMA = ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
GEMMA = ("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>")
INST = ("<s>", "</s>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]")

MISTRAL_V3 = (
    "{% set has_system = messages[0]['role'] == 'system' %}{{ '<s>' }}"
    "{% for m in (messages[1:] if has_system else messages) %}{% if m['role'] == 'user' %}"
    "{% if loop.last and has_system %}{{ '[INST] ' + messages[0]['content'] + '\n\n' }}"
    "{% else %}{{ '[INST] ' }}{% endif %}{{ m['content'] + ' [/INST]' }}"
    "{% else %}{{ ' ' + m['content'] + '</s>' }}{% endif %}{% endfor %}"
)
"""Version 0.3: the system message goes in front of the last user message."""

MISTRAL_V7 = (
    "{{ '<s>' }}{% for m in messages %}{% if m['role'] == 'system' %}"
    "{{ '[SYSTEM_PROMPT]' + m['content'] + '[/SYSTEM_PROMPT]' }}{% elif m['role'] == 'user' %}"
    "{{ '[INST]' + m['content'] + '[/INST]' }}{% else %}{{ m['content'] + '</s>' }}{% endif %}"
    "{% endfor %}"
)
"""Later ones: a system role of its own."""

SMOLLM3 = (
    "{{ '<|im_start|>system\n## Metadata\n\nReasoning Mode: /think\n\n## Custom Instructions\n\n' }}"
    "{% if messages[0]['role'] == 'system' %}{{ messages[0]['content'] }}"
    "{% else %}{{ 'You are a helpful AI assistant' }}{% endif %}{{ '\n\n<|im_end|>\n' }}"
    "{% for m in messages if m['role'] != 'system' %}"
    "{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""The system message stands behind metadata; always a system block."""

TEMPLATES: dict[str, dict[str, tuple[str, tuple[str, ...], bool]]] = {
    "llama3": {
        name: (trl_template(name), LLAMA, True) for name in ("llama3", "llama3_1", "llama3_2")
    },
    "qwen3": {
        name: (trl_template(name), CHATML_SPECIALS, True)
        for name in ("qwen3", "qwen3_instruct_2507")
    },
    "gemma3": {"gemma3": (trl_template("gemma3"), GEMMA, True)},
    "mistral": {"v3": (MISTRAL_V3, INST, False), "v7": (MISTRAL_V7, INST, True)},
    "smollm2": {"smollm2": (CHATML, CHATML_SPECIALS, True)},
    "smollm3": {"smollm3": (SMOLLM3, CHATML_SPECIALS, True)},
}
"""Recipe to its templates: text, special tokens, and whether they have a system role."""
CASES = [(recipe, name) for recipe, found in TEMPLATES.items() for name in found]

ARCHITECTURES = {
    "llama3": "llama",
    "qwen3": "qwen3",
    "gemma3": "gemma3_text",
    "mistral": "mistral",
    "smollm2": "llama",
    "smollm3": "smollm3",
}
SIZES: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "pad_token_id": 0,
    "bos_token_id": None,
    "eos_token_id": 1,
}


def recipe_of(name: str) -> TrainConfig:
    return load_config(TrainConfig, RECIPES / f"{name}.yaml")


def tokenizer_of(recipe: str, name: str) -> Any:
    text, specials, _ = TEMPLATES[recipe][name]
    bos = next((t for t in specials if t in ("<|begin_of_text|>", "<bos>", "<s>")), None)
    eos = next(t for t in specials if t in ("<|eot_id|>", "<|im_end|>", "<end_of_turn>", "</s>"))
    return word_tokenizer(text, specials, WORDS, bos_token=bos, eos_token=eos)


def test_every_recipe_has_its_templates_and_its_model() -> None:
    names = {path.stem for path in FILES}
    assert names == set(TEMPLATES) == set(ARCHITECTURES)


@pytest.mark.parametrize(("recipe", "name"), CASES)
def test_template_keeps_the_prefix_and_takes_the_placement(recipe: str, name: str) -> None:
    facts = inspect_template(tokenizer_of(recipe, name))
    assert facts.is_prefix_preserving
    assert facts.has_system == TEMPLATES[recipe][name][2]
    wanted = recipe_of(recipe).placement
    assert usable_placement(wanted, facts) == wanted


def test_an_old_mistral_template_would_undo_the_system_message() -> None:
    facts = inspect_template(tokenizer_of("mistral", "v3"))
    assert facts.note == "repeats the system message or moves it to a later turn"
    assert usable_placement("mixed", facts) == "first_user"


@pytest.mark.parametrize(("recipe", "name"), CASES)
def test_every_turn_gives_a_target_that_ends_its_turn(recipe: str, name: str) -> None:
    tokenizer = tokenizer_of(recipe, name)
    placement = recipe_of(recipe).placement
    for place in PLACEMENTS if placement == "mixed" else (placement,):
        view = training_view(dialogue(3), INSTRUCTION, place)
        encoded = encode_view(tokenizer, view)
        assert tokenizer.decode(encoded.input_ids).count(INSTRUCTION) == 1
        for turn, (length, reply) in enumerate(
            zip(encoded.prompt_lengths, TARGETS, strict=True), start=1
        ):
            ids = encode_reply(tokenizer, view, turn, encoded.input_ids[:length], reply)
            text = tokenizer.decode(ids)
            assert reply in text
            assert text.endswith(tokenizer.eos_token)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_lora_names_are_those_of_the_model(path: Path) -> None:
    config = AutoConfig.for_model(ARCHITECTURES[path.stem], **SIZES)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    linear = {
        name.rpartition(".")[2]
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear)
    }
    assert set(recipe_of(path.stem).lora.target_modules) == linear - {"lm_head"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_model_takes_packed_rows(path: Path) -> None:
    recipe = recipe_of(path.stem)
    config = AutoConfig.for_model(ARCHITECTURES[path.stem], **SIZES)
    assert recipe.pack_rows
    assert why_not_packable(config, max_length=recipe.max_tokens_per_row) is None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_header_says_how_to_launch_it(path: Path) -> None:
    header = path.read_text(encoding="utf-8").partition("\nmodel:")[0]
    assert f"gatt train --config configs/recipes/{path.name}" in header
    assert "accelerate launch --config_file configs/accelerate/ddp.yaml" in header
