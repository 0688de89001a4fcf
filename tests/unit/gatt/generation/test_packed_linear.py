"""Linear layers with weights laid out once: the same values, and nothing left behind."""

from __future__ import annotations

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import nn

from gatt.generation import packed_linear
from gatt.generation.packed_linear import PackedLinears


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


def test_calls_go_through_the_laid_out_weight(net) -> None:
    packed = PackedLinears(net)
    with packed.installed():
        pass
    assert {held.packed.layout for held in packed._packed.values()} == {torch._mkldnn}


def test_a_changed_weight_is_laid_out_anew_and_an_old_one_is_not(net) -> None:
    packed = PackedLinears(net)
    x = torch.randn(3, 48)
    with packed.installed():
        before = {key: held.packed for key, held in packed._packed.items()}
    with torch.no_grad():
        net.down.weight.mul_(2.0)
    net.head.weight = nn.Parameter(torch.randn(200, 48))
    # As PEFT merges an adapter: the version of the parameter stays.
    net.up.weight.data += 0.5
    with torch.inference_mode(), packed.installed():
        found = net(x)
    expected = net(x)
    # Of the size of the values, which the added weight makes large: single ones may cancel to little.
    assert (found - expected).norm() < 1e-6 * expected.norm()
    after = {key: held.packed for key, held in packed._packed.items()}
    assert after[id(net.up), None] is not before[id(net.up), None]
    assert after[id(net.down), None] is not before[id(net.down), None]


def test_unchanged_weights_are_laid_out_once(net) -> None:
    packed = PackedLinears(net)
    with packed.installed():
        before = dict(packed._packed)
    with packed.installed():
        assert all(packed._packed[key] is held for key, held in before.items())


def test_an_error_leaves_the_layers_as_they_were(net) -> None:
    with pytest.raises(KeyboardInterrupt), PackedLinears(net).installed():
        raise KeyboardInterrupt
    assert not is_changed(net)


def test_other_types_and_large_models_stay_as_they_are(net, monkeypatch) -> None:
    double = Net().double()
    with PackedLinears(double).installed():
        assert not is_changed(double)
    monkeypatch.setattr(packed_linear, "MOST_BYTES", 1000)
    with PackedLinears(net).installed():
        assert not is_changed(net)


def test_without_onednn_nothing_changes(net, monkeypatch) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    with PackedLinears(net).installed():
        assert not is_changed(net)


@pytest.fixture
def adapted(net):
    """`net` with two adapters, of which `one` is active."""
    model = get_peft_model(net, _lora(["up", "down"]), adapter_name="one")
    model.add_adapter("two", _lora(["up", "down"]))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=0.1)
    return model.eval()


def _lora(targets: list[str], **kwargs: object) -> LoraConfig:
    return LoraConfig(r=4, lora_alpha=8, target_modules=targets, **kwargs)


def used(packed: PackedLinears, x: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode(), packed.installed():
        return packed._model(x)


def test_each_adapter_is_added_to_a_weight_of_its_own_and_none_to_the_model(adapted) -> None:
    packed = PackedLinears(adapted)
    x = torch.randn(5, 48)
    weights = {name: value.clone() for name, value in adapted.state_dict().items()}
    outputs = {}
    for name in ("one", "two", "one"):
        adapted.set_adapter(name)
        outputs[name] = used(packed, x)
        torch.testing.assert_close(outputs[name], adapted(x), rtol=1e-5, atol=1e-5)
    with adapted.disable_adapter():
        outputs["none"] = used(packed, x)
        torch.testing.assert_close(outputs["none"], adapted(x), rtol=1e-5, atol=1e-5)
    assert len({round(float(value.sum()), 3) for value in outputs.values()}) == 3
    assert all(torch.equal(value, weights[name]) for name, value in adapted.state_dict().items())
    assert not is_changed(adapted)


def test_small_products_are_not_made(adapted) -> None:
    calls = []
    for name, module in adapted.named_modules():
        if name.endswith("lora_A.one"):
            module.register_forward_pre_hook(lambda *_: calls.append(1))
    used(PackedLinears(adapted), torch.randn(5, 48))
    assert not calls
    adapted(torch.randn(5, 48))
    assert len(calls) == 2


def test_an_adapter_that_learned_or_is_scaled_anew_is_laid_out_anew(adapted) -> None:
    packed = PackedLinears(adapted)
    x = torch.randn(5, 48)
    used(packed, x)
    layer = adapted.base_model.model.up
    with torch.no_grad():
        layer.lora_B["one"].weight.mul_(3.0)
    torch.testing.assert_close(used(packed, x), adapted(x), rtol=1e-5, atol=1e-5)
    layer.scaling["one"] *= 0.5
    torch.testing.assert_close(used(packed, x), adapted(x), rtol=1e-5, atol=1e-5)
    before = dict(packed._packed)
    used(packed, x)
    assert all(packed._packed[key] is held for key, held in before.items())


def test_several_adapters_stay_laid_out_as_far_as_the_memory_goes(adapted, monkeypatch) -> None:
    packed = PackedLinears(adapted)
    x = torch.randn(5, 48)
    for name in ("one", "two"):
        adapted.set_adapter(name)
        used(packed, x)
    assert {key[1] for key in packed._packed} == {"one", "two", None}
    monkeypatch.setattr(packed_linear, "MOST_BYTES", 80_000)
    adapted.set_adapter("one")
    used(packed, x)
    assert {key[1] for key in packed._packed} == {"one", None}


@pytest.mark.parametrize("kwargs", [{"use_dora": True}, {"lora_bias": True}])
def test_an_adapter_that_is_more_than_two_matrices_stays_as_it_is(net, kwargs) -> None:
    model = get_peft_model(net, _lora(["up"], **kwargs)).eval()
    x = torch.randn(5, 48)
    torch.testing.assert_close(used(PackedLinears(model), x), model(x), rtol=1e-5, atol=1e-5)
    with PackedLinears(model).installed():
        assert "forward" not in vars(model.base_model.model.up)


def test_a_merged_adapter_and_one_in_training_stay_as_they_are(adapted) -> None:
    for change in (adapted.train, adapted.merge_adapter):
        change()
        with PackedLinears(adapted).installed():
            assert "forward" not in vars(adapted.base_model.model.up)
        adapted.eval()
