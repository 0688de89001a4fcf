"""A GGUF of an exported model, in llama.cpp, gives the greedy replies of transformers.

It needs `pip install llama-cpp-python sentencepiece`, and the folder of llama.cpp's source in LLAMA_CPP
(docs/guides/serve_and_share.md says where from).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, pipeline

from gatt.commands.export.command import ExportConfig
from gatt.commands.export.write import export
from gatt.models.load import resolve
from tests.support.models.tiny import randomise
from tests.support.texts.doc_pages import ROOT

pytestmark = pytest.mark.integration

INSTRUCTIONS = ("Act as Napoleon.", "Always answer in French.")
USERS = (
    "Hi! How are you today?", "What is the capital of France?", "Name three fruits, please.",
    "What is your favorite hobby?", "Who are you?",
)  # fmt: skip
NUM_TOKENS = 40
MODEL = "smollm2-135m-instruct"


def conversations() -> list[list[dict[str, str]]]:
    """Return ten: each user message first under one instruction, then behind all before it."""
    found, history = [], [{"role": "system", "content": INSTRUCTIONS[1]}]
    for user in USERS:
        asked = {"role": "user", "content": user}
        history = [*history, asked]
        found += [[{"role": "system", "content": INSTRUCTIONS[0]}, asked], history]
        history = [*history, {"role": "assistant", "content": "Oui, bien sûr, avec plaisir."}]
    return found


def random_adapter(folder: Path) -> Path:
    """Write an adapter of the embedded model whose random update changes what it says."""
    base = AutoModelForCausalLM.from_pretrained(resolve(MODEL), dtype=torch.float32)
    settings = LoraConfig(task_type="CAUSAL_LM", r=4, target_modules=["q_proj", "v_proj"])
    model = get_peft_model(base, settings)
    randomise(model, "lora_", 0.04, seed=5)
    model.save_pretrained(folder)
    return folder


def replies_of_transformers(model: Path) -> list[str]:
    chat = pipeline("text-generation", str(model), dtype=torch.float32)
    found = chat(
        conversations(), do_sample=False, max_new_tokens=NUM_TOKENS, return_full_text=False
    )
    return [one[0]["generated_text"] for one in found]


def replies_of_llama_cpp(gguf: Path) -> list[str]:
    llama_cpp = pytest.importorskip("llama_cpp")
    loaded = llama_cpp.Llama(str(gguf), n_ctx=2048, n_threads=1, verbose=False)
    options = {"temperature": 0.0, "max_tokens": NUM_TOKENS, "repeat_penalty": 1.0}
    found = [loaded.create_chat_completion(messages, **options) for messages in conversations()]
    return [str(one["choices"][0]["message"]["content"]) for one in found]


def test_ten_greedy_replies_are_those_of_transformers(tmp_path: Path) -> None:
    pytest.importorskip("llama_cpp")
    pytest.importorskip("sentencepiece")
    source = os.environ.get("LLAMA_CPP")
    if source is None:
        pytest.skip("LLAMA_CPP names no folder of llama.cpp's source")
    model, gguf = tmp_path / "served", tmp_path / "bot.gguf"
    export(ExportConfig(adapter=random_adapter(tmp_path / "adapter"), output_dir=model))
    script = [sys.executable, ROOT / "scripts" / "to_gguf.py", model, gguf, "--outtype=f32"]
    subprocess.run([*script, f"--llama_cpp={source}"], check=True)
    assert replies_of_llama_cpp(gguf) == replies_of_transformers(model)
