"""Linear layers of few rows on a CPU: weights laid out once, not at every call.

A step of sampling puts a token a row through each layer. `torch.nn.functional.linear`
in float32 lays the weight out anew each time, which at so few rows is half of the
work; oneDNN takes a weight that is laid out already. The sums are taken in another
order, so that logits differ in their last digits.

This leans on operators that torch's own compiler uses for frozen models. Where they are
missing, and for all but plain float32 layers on a CPU, nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional

MOST_ROWS = 64
"""Above this the plain layer is as fast."""
MOST_BYTES = 4 * 2**30
"""Weights of a model that are held a second time; a larger model stays as it is."""
_LAID_OUT_FOR = 32


@dataclass(frozen=True)
class _Packed:
    weight: torch.Tensor
    """Held, so that no other weight can stand at its address."""
    state: tuple[int, float]
    packed: torch.Tensor


class PackedLinears:
    """The weights of a model's linear layers in oneDNN's layout, made anew when one changes.

    Args:
        model: any; its layers are looked for each time, since adapters come and go.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._packed: dict[int, _Packed] = {}

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Have the layers of the model use them for a while; inference only."""
        layers = _layers(self._model)
        self._packed = {id(layer): self._weight(layer) for layer in layers}
        for layer in layers:
            layer.forward = _forward(layer, self._packed[id(layer)].packed)  # type: ignore[method-assign]
        try:
            yield
        finally:
            for layer in layers:
                del layer.forward

    def _weight(self, layer: nn.Linear) -> _Packed:
        weight = layer.weight
        state = (weight._version, _content(weight))
        known = self._packed.get(id(layer))
        if known is not None and known.weight is weight and known.state == state:
            return known
        packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), _LAID_OUT_FOR)
        return _Packed(weight, state, packed)


def _content(weight: torch.Tensor) -> float:
    """Return a number that changes with a weight: adding to `weight.data` leaves its version."""
    values = weight.detach().flatten()
    return float(values[:: max(1, len(values) // 1024)].double().sum())


def _layers(model: nn.Module) -> list[nn.Linear]:
    """Return the layers to change: none where that cannot be done or would take too much memory."""
    operators = ("_reorder_linear_weight", "_linear_pointwise")
    if not torch.backends.mkldnn.is_available() or not all(  # type: ignore[no-untyped-call]
        hasattr(torch.ops.mkldnn, name) for name in operators
    ):
        return []
    layers = [m for m in model.modules() if type(m) is nn.Linear and _is_plain(m)]
    size = sum(layer.weight.numel() * layer.weight.element_size() for layer in layers)
    return layers if size <= MOST_BYTES else []


def _is_plain(layer: nn.Linear) -> bool:
    weight = layer.weight
    return (
        type(weight) is nn.Parameter
        and weight.device.type == "cpu"
        and weight.dtype == torch.float32
        and weight.is_contiguous()
        and not weight.is_inference()
        # Somebody else's forward stays.
        and "forward" not in vars(layer)
    )


def _forward(layer: nn.Linear, packed: torch.Tensor) -> Any:
    def forward(x: torch.Tensor) -> torch.Tensor:
        if x.numel() > MOST_ROWS * x.shape[-1] or x.dtype != torch.float32:
            return functional.linear(x, layer.weight, layer.bias)
        found: torch.Tensor = torch.ops.mkldnn._linear_pointwise(
            x, packed, layer.bias, "none", [], ""
        )
        return found

    return forward
