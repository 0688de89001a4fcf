"""Int8 layers: near the float model, smaller, and never beside an adapter."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from gatt.data.dialogue import Message
from gatt.errors import ConfigError
from gatt.generation.base import GenerationRequest, SamplingParams
from gatt.generation.config import EngineConfig, local_engine
from gatt.generation.local import cpu_linear
from gatt.generation.local.cpu_linear import quantize
from tests.support.models.tiny import save_tiny_model, tiny_llama, tiny_tokenizer


@pytest.mark.parametrize("in_bfloat16", [False, True])
def test_the_model_stays_near_the_float_one(monkeypatch, in_bfloat16) -> None:
    monkeypatch.setattr(cpu_linear, "multiplies_bfloat16", lambda: in_bfloat16)
    tokenizer = tiny_tokenizer()
    model = tiny_llama(tokenizer).eval()
    ids = torch.tensor([tokenizer("Tea or chess, and why?")["input_ids"]])
    with torch.inference_mode():
        expected = model(ids).logits
        assert quantize(model, tokenizer) == []
        found = model(ids).logits
    plain = [name for name, module in model.named_modules() if type(module) is nn.Linear]
    assert plain == ([] if in_bfloat16 else ["lm_head"])
    assert found.dtype == torch.float32
    difference = (found - expected).norm() / expected.norm()
    assert 0 < difference < 0.05


def test_a_layer_whose_input_has_an_outlier_stays_as_it_is() -> None:
    tokenizer = tiny_tokenizer()
    model = tiny_llama(tokenizer).eval()
    layer = model.model.layers[1].mlp
    with torch.no_grad():
        # One of the inputs of `down_proj` is a thousand times the others.
        layer.up_proj.weight[5] *= 1000
    x = torch.randn(3, layer.down_proj.in_features)
    expected = layer.down_proj(x)
    assert quantize(model, tokenizer) == ["model.layers.1.mlp.down_proj"]
    assert (layer.down_proj(x) - expected).norm() < 0.01 * expected.norm()


def test_an_engine_samples_with_it(tmp_path) -> None:
    config = EngineConfig(model=str(save_tiny_model(tmp_path / "model")), dtype="int8")
    request = GenerationRequest("one", (Message("user", "Tea?"),))
    engine = local_engine(config)
    assert engine.shares_prefixes
    (reply,) = engine.generate([request], SamplingParams(max_new_tokens=4))
    assert reply.num_tokens > 0


def test_where_it_does_not_go(tmp_path) -> None:
    config = EngineConfig(model=str(tmp_path), dtype="int8")
    with pytest.raises(ConfigError, match="int8 with an adapter"):
        local_engine(config, {"gatt": tmp_path})
