"""Linear layers on a CPU: with copied weights the same values and model; in int8 near the float model."""

from __future__ import annotations

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import nn

from gatt.data.dialogue import Message
from gatt.errors import ConfigError
from gatt.generation.base import GenerationRequest, SamplingParams
from gatt.generation.config import EngineConfig, local_engine
from gatt.generation.local import cpu_linear
from gatt.generation.local.cpu_linear import PackedLinears, quantize
from tests.support.models.tiny import randomise, save_tiny_model, tiny_llama, tiny_tokenizer


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(48, 96)
        self.down = nn.Linear(96, 48, bias=False)
        self.head = nn.Linear(48, 200, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.down(self.up(x).relu()))


@pytest.fixture
def net() -> Net:
    torch.manual_seed(0)
    return Net()


def is_changed(net: Net) -> bool:
    return any("forward" in vars(m) for m in net.modules())


@pytest.mark.parametrize("shape", [(1, 1), (20, 1), (1, 7), (64, 1), (2, 300)])
def test_the_values_are_those_of_the_plain_layers(net, shape) -> None:
    x = torch.randn(*shape, 48)
    with torch.inference_mode():
        expected = net(x)
        with PackedLinears(net).installed():
            assert is_changed(net)
            found = net(x)
    assert not is_changed(net)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_a_changed_weight_is_laid_out_anew_and_an_old_one_is_not(net) -> None:
    packed = PackedLinears(net)
    x = torch.randn(3, 48)
    with packed.installed():
        before = {key: held.weight for key, held in packed._packed.items()}
    with torch.no_grad():
        net.down.weight.mul_(2.0)
    net.head.weight = nn.Parameter(torch.randn(200, 48))
    check(packed, x)
    changed = {key for key, held in packed._packed.items() if held.weight is not before[key]}
    assert changed == {(id(net.down), None), (id(net.head), None)}


@pytest.fixture
def adapted(net):
    """`net` with two adapters, of which `one` is active."""
    model = get_peft_model(net, lora(["up", "down"]), adapter_name="one")
    model.add_adapter("two", lora(["up", "down"]))
    return with_effect(model)


def lora(targets: list[str], **kwargs: object) -> LoraConfig:
    return LoraConfig(r=4, lora_alpha=8, target_modules=targets, **kwargs)


def with_effect(model):
    """Randomise the adapter: a new one adds nothing."""
    randomise(model, scale=0.1)
    return model.eval()


def check(packed: PackedLinears, x: torch.Tensor) -> torch.Tensor:
    """Return the output with `packed`, and check that it is that of the model."""
    with torch.inference_mode(), packed.installed():
        found = packed._model(x)
    with torch.inference_mode():
        torch.testing.assert_close(found, packed._model(x), rtol=1e-5, atol=1e-5)
    assert not is_changed(packed._model)
    return found


def up(model):
    return model.base_model.model.up


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(5, 48, generator=torch.Generator().manual_seed(1))


def test_each_adapter_is_added_to_a_weight_of_its_own_and_none_to_the_model(adapted, x) -> None:
    packed = PackedLinears(adapted)
    weights = {name: value.clone() for name, value in adapted.state_dict().items()}
    outputs = {}
    for name in ("one", "two", "one"):
        adapted.set_adapter(name)
        outputs[name] = check(packed, x)
    with adapted.disable_adapter():
        outputs["none"] = check(packed, x)
    assert len({round(float(value.sum()), 3) for value in outputs.values()}) == 3
    assert all(torch.equal(value, weights[name]) for name, value in adapted.state_dict().items())


def test_an_adapter_that_learned_or_is_scaled_anew_is_laid_out_anew(adapted, x) -> None:
    packed = PackedLinears(adapted)
    found = [check(packed, x)]
    with torch.no_grad():
        up(adapted).lora_B["one"].weight.mul_(3.0)
    found.append(check(packed, x))
    up(adapted).scaling["one"] *= 0.5
    found.append(check(packed, x))
    assert len({round(float(value.sum()), 3) for value in found}) == len(found)


@pytest.mark.skipif(
    not cpu_linear.multiplies_bfloat16(), reason="a CPU without products in bfloat16"
)
def test_in_bfloat16_the_adapter_is_added_before_the_rounding(adapted, x) -> None:
    with torch.inference_mode():
        exact = adapted(x)
    net = adapted.base_model.model
    for layer in (net.up.base_layer, net.down.base_layer, net.head):
        layer.to(torch.bfloat16)
    packed = PackedLinears(adapted)
    with torch.inference_mode(), packed.installed():
        rounded = packed._model(x.bfloat16())
    assert {held.weight.dtype for held in packed._packed.values()} == {torch.bfloat16}
    assert rounded.dtype == torch.bfloat16
    assert (rounded.float() - exact).norm() < 0.02 * exact.norm()


@pytest.mark.parametrize("kwargs", [{"use_dora": True}, {"lora_bias": True}])
def test_an_adapter_that_is_more_than_two_matrices_stays_as_it_is(net, x, kwargs) -> None:
    model = with_effect(get_peft_model(net, lora(["up"], **kwargs)))
    with torch.no_grad():
        for name, value in model.named_parameters():
            if name.endswith("lora_B.default.bias"):
                value.normal_()
    check(PackedLinears(model), x)
    with PackedLinears(model).installed():
        assert "forward" not in vars(up(model))


@pytest.mark.parametrize(
    "why", ["double", "large", "no oneDNN", "training", "merged", "two at once"]
)
def test_what_stays_as_it_is(adapted, x, monkeypatch, why: str) -> None:
    if why == "large":
        monkeypatch.setattr(cpu_linear, "MOST_BYTES", 1000)
    elif why == "no oneDNN":
        monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    elif why == "two at once":
        adapted.base_model.set_adapter(["one", "two"])
    else:
        {"double": adapted.double, "training": adapted.train, "merged": adapted.merge_adapter}[
            why
        ]()
    with PackedLinears(adapted).installed():
        assert "forward" not in vars(up(adapted))
    check(PackedLinears(adapted), x.to(adapted.base_model.model.head.weight.dtype))


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
