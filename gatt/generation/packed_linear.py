"""Linear layers on a CPU without training: weights laid out once, not at every call.

`torch.nn.functional.linear` in float32 lays the weight out anew each time, which for the
few rows of a step of sampling is half of the work, and for thousands an eighth; oneDNN
takes a weight that is laid out already. A LoRA adapter is added to the copy that is laid
out, not to the weight, so that its small products fall away, a quarter of the work. The
sums are taken in another order: logits differ in their last digits.

This leans on operators that torch's own compiler uses for frozen models. Where they are
missing, and for all but plain float32 layers on a CPU, nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from peft.tuners.lora import Linear as LoraLinear
from torch import nn

MOST_BYTES = 4 * 2**30
"""Of weights held a second time. A larger model stays as it is; of several adapters the last is held."""
_LAID_OUT_FOR = 32


@dataclass(frozen=True)
class _Layer:
    """A layer whose calls are changed."""

    module: Any
    """Linear, or PEFT's LoRA layer around one."""
    base: nn.Linear
    adapter: str | None = None
    """Added to the weight."""

    @property
    def key(self) -> tuple[int, str | None]:
        return id(self.base), self.adapter

    @property
    def parts(self) -> list[torch.Tensor]:
        """The weights that the laid out one is made of."""
        if self.adapter is None:
            return [self.base.weight]
        added = (self.module.lora_A[self.adapter], self.module.lora_B[self.adapter])
        return [self.base.weight, *(layer.weight for layer in added)]

    @property
    def state(self) -> list[tuple[int, float]]:
        """Numbers that change with the parts."""
        scaling = [] if self.adapter is None else [(0, self.module.scaling[self.adapter])]
        return [(part._version, _content(part)) for part in self.parts] + scaling

    def laid_out(self) -> torch.Tensor:
        weight = self.base.weight.detach()
        if self.adapter is not None:
            weight = weight + self.module.get_delta_weight(self.adapter).detach()
        packed: torch.Tensor = torch.ops.mkldnn._reorder_linear_weight(weight, _LAID_OUT_FOR)
        return packed


@dataclass(frozen=True)
class _Packed:
    parts: list[torch.Tensor]
    """Held, so that no other weight can stand at its address."""
    state: list[tuple[int, float]]
    packed: torch.Tensor

    def is_of(self, layer: _Layer) -> bool:
        parts = layer.parts
        return (
            len(parts) == len(self.parts)
            and all(mine is its for mine, its in zip(self.parts, parts, strict=True))
            and self.state == layer.state
        )


class PackedLinears:
    """The weights of a model's linear layers in oneDNN's layout, made anew when one changes.

    Args:
        model: any; its layers are looked for each time, since adapters come and go.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._packed: dict[tuple[int, str | None], _Packed] = {}

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Have the layers use them for a while, with the adapter that is active then; inference only."""
        layers = _layers(self._model)
        now = {layer.key: self._weight(layer) for layer in layers}
        there = {id(module) for module in self._model.modules()}
        both = {key: held for key, held in self._packed.items() if key[0] in there} | now
        self._packed = both if _num_bytes(both) <= MOST_BYTES else now
        for layer in layers:
            layer.module.forward = _forward(layer, now[layer.key].packed)
        try:
            yield
        finally:
            for layer in layers:
                del layer.module.forward

    def _weight(self, layer: _Layer) -> _Packed:
        known = self._packed.get(layer.key)
        if known is not None and known.is_of(layer):
            return known
        return _Packed(layer.parts, layer.state, layer.laid_out())


def _num_bytes(packed: dict[tuple[int, str | None], _Packed]) -> int:
    return sum(_size(held.parts[0]) for held in packed.values())


def _size(weight: torch.Tensor) -> int:
    return weight.numel() * weight.element_size()


def _content(weight: torch.Tensor) -> float:
    """Return a number that changes with a weight: adding to `weight.data` leaves its version."""
    values = weight.detach().flatten()
    return float(values[:: max(1, len(values) // 1024)].double().sum())


def _layers(model: nn.Module) -> list[_Layer]:
    """Return the layers to change: none where that cannot be done or would take too much memory."""
    operators = ("_reorder_linear_weight", "_linear_pointwise")
    if not torch.backends.mkldnn.is_available() or not all(  # type: ignore[no-untyped-call]
        hasattr(torch.ops.mkldnn, name) for name in operators
    ):
        return []
    adapted = [layer for m in model.modules() if (layer := _adapted(m)) is not None]
    inside = {id(part) for layer in adapted for part in layer.module.modules()}
    plain = [
        _Layer(m, m)
        for m in model.modules()
        if type(m) is nn.Linear and id(m) not in inside and _is_plain(m)
    ]
    layers = [*adapted, *plain]
    return layers if sum(_size(layer.base.weight) for layer in layers) <= MOST_BYTES else []


def _adapted(module: Any) -> _Layer | None:
    """Return a layer with an active LoRA adapter that is no more than a product of two matrices."""
    if type(module) is not LoraLinear or module.disable_adapters or module.merged:
        return None
    if module.training:  # It may have dropout.
        return None
    active = [name for name in module.active_adapters if name in module.lora_A]
    if len(active) != 1 or active[0] in module.lora_variant or module.lora_bias[active[0]]:
        return None
    base, name = module.base_layer, active[0]
    layers = (base, module.lora_A[name], module.lora_B[name])
    if "forward" in vars(module) or not all(type(m) is nn.Linear and _is_plain(m) for m in layers):
        return None
    return _Layer(module, base, name)


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


def _forward(layer: _Layer, packed: torch.Tensor) -> Any:
    plain = layer.module.forward

    def forward(x: torch.Tensor) -> torch.Tensor:
        if x.dtype != torch.float32:
            found: torch.Tensor = plain(x)
        else:
            found = torch.ops.mkldnn._linear_pointwise(x, packed, layer.base.bias, "none", [], "")
        return found

    return forward
