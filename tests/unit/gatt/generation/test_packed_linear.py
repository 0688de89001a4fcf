"""Linear layers with weights laid out once: the same values, and nothing left behind."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from gatt.generation import packed_linear
from gatt.generation.packed_linear import MOST_ROWS, PackedLinears


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


@pytest.mark.parametrize("shape", [(1, 1), (20, 1), (1, 7), (MOST_ROWS, 1), (2, MOST_ROWS)])
def test_the_values_are_those_of_the_plain_layers(net, shape) -> None:
    x = torch.randn(*shape, 48)
    with torch.inference_mode():
        expected = net(x)
        with PackedLinears(net).installed():
            assert is_changed(net)
            found = net(x)
    assert not is_changed(net)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_few_rows_go_through_the_laid_out_weight(net) -> None:
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
    assert after[id(net.up)] is not before[id(net.up)]
    assert after[id(net.down)] is not before[id(net.down)]


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
