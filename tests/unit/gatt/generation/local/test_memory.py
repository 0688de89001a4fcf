"""Default limits of the key/value cache."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from gatt.generation.config import EngineConfig, local_engine
from gatt.generation.local.model_support import CPU_CACHE_TOKENS, CPU_KEPT_TOKENS, cache_limits
from tests.support.models.tiny import save_tiny_model, tiny_llama, tiny_tokenizer


def test_limits_grow_with_the_memory_of_a_gpu(monkeypatch) -> None:
    model = tiny_llama(tiny_tokenizer())
    assert cache_limits(model) == (CPU_CACHE_TOKENS, CPU_KEPT_TOKENS)
    layers = model(input_ids=torch.tensor([[5, 6, 7]]), use_cache=True).past_key_values.layers
    bytes_per_token = sum(layer.keys.nbytes + layer.values.nbytes for layer in layers) // 3
    on_gpu = SimpleNamespace(config=model.config, dtype=model.dtype, device=torch.device("cuda"))
    room = 10_000_000
    free = room * bytes_per_token
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda device: (free, 2 * free))
    assert cache_limits(on_gpu) == (room // 4, 35 * room // 100)
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda device: (0, 2 * free))
    assert cache_limits(on_gpu) == (CPU_CACHE_TOKENS, CPU_KEPT_TOKENS)


def test_what_the_configuration_says_goes_first(tmp_path) -> None:
    folder = str(save_tiny_model(tmp_path))
    engine = local_engine(EngineConfig(model=folder, device="cpu", max_cache_tokens=7))
    assert (engine.max_cache_tokens, engine.kept.max_tokens) == (7, CPU_KEPT_TOKENS)
