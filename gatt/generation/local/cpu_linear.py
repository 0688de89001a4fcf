"""Faster linear layers for inference on a CPU: weights are put into oneDNN's layout once.

`torch.nn.functional.linear` in float32 converts the layout of the weight at every call: half of the
time for the few rows of a sampling step, an eighth for thousands of rows. oneDNN also accepts a
weight in its own layout. A LoRA adapter is added to the copy in that layout, not to the weight, which
saves its small products, a quarter of the time. The order of the sums is another one: logits differ in
their last digits.

The operators are those that torch's compiler uses for frozen models. Where they are missing, and for
layers that are not plain float32 layers on a CPU, nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from peft.tuners.lora import Linear as LoraLinear
from peft.tuners.tuners_utils import BaseTunerLayer
from torch import nn

MOST_BYTES = 4 * 2**30
"""Most bytes of copied weights. Larger models are not changed; of several adapters the last is kept."""
_LAID_OUT_FOR = 32


@dataclass(frozen=True)
class _Layer:
    """A layer whose `forward` is replaced."""

    module: Any
    """Linear, or PEFT's LoRA layer around one."""
    base: nn.Linear
    adapter: str | None = None
    """Added to the weight."""

    @property
    def key(self) -> tuple[int, str | None]:
        return id(self.module), self.adapter

    @property
    def num_bytes(self) -> int:
        return self.base.weight.numel() * self.base.weight.element_size()

    @property
    def parts(self) -> list[torch.Tensor]:
        """The weights that the copy is made of: `[out, in]`, then A `[r, in]` and B `[out, r]`."""
        if self.adapter is None:
            return [self.base.weight]
        added = (self.module.lora_A[self.adapter], self.module.lora_B[self.adapter])
        return [self.base.weight, *(layer.weight for layer in added)]

    @property
    def state(self) -> list[tuple[float, ...]]:
        """Numbers that change whenever a part changes."""
        numbers: list[tuple[float, ...]] = [
            (part._version, part.data_ptr(), part.element_size(), _content(part))
            for part in self.parts
        ]
        return numbers if self.adapter is None else [*numbers, (self._scaling,)]

    @property
    def _scaling(self) -> float:
        return float(self.module.scaling[self.adapter])

    @property
    def is_there(self) -> bool:
        """Whether the adapter is still loaded."""
        return self.adapter is None or self.adapter in self.module.lora_A

    @property
    def is_active(self) -> bool:
        """Whether the layer would now compute the same as the copy."""
        if type(self.base) is not nn.Linear:  # Parametrised since then by PEFT's target_parameters.
            return False
        return self.adapter is None or _active(self.module) == [self.adapter]

    def laid_out(self) -> torch.Tensor:
        with torch.autocast("cpu", enabled=False):
            weight = self.base.weight.detach()
            if self.adapter is not None:
                _, a, b = (part.detach() for part in self.parts)
                weight = torch.addmm(weight, b, a, alpha=self._scaling)
            packed: torch.Tensor = torch.ops.mkldnn._reorder_linear_weight(weight, _LAID_OUT_FOR)
        return packed


@dataclass(frozen=True)
class _Packed:
    layer: _Layer
    parts: list[torch.Tensor]
    """Kept alive, so that no other weight can get the same address."""
    state: list[tuple[float, ...]]
    weight: torch.Tensor

    @classmethod
    def of(cls, layer: _Layer) -> _Packed:
        return cls(layer, layer.parts, layer.state, layer.laid_out())

    @property
    def is_current(self) -> bool:
        return self.layer.is_there and self.state == self.layer.state


class PackedLinears:
    """Copies of a model's linear weights in oneDNN's layout, renewed when a weight changes.

    Args:
        model: any model; its layers are searched each time, since adapters may be added or removed.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._packed: dict[tuple[int, str | None], _Packed] = {}

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Let the layers use the copies while the block runs; for inference only.

        A layer whose adapter is switched in the block computes in the usual way.
        """
        layers = _layers(self._model)
        self._pack(layers)
        try:
            for layer in layers:
                layer.module.forward = _forward(layer, self._packed[layer.key].weight)
            yield
        finally:
            for layer in layers:
                vars(layer.module).pop("forward", None)

    def _pack(self, layers: list[_Layer]) -> None:
        """Copy the missing weights, after old copies, or too many, were dropped."""
        there = {id(module) for module in self._model.modules()}
        kept = {k: held for k, held in self._packed.items() if k[0] in there and held.is_current}
        missing = [layer for layer in layers if layer.key not in kept]
        if (
            sum(m.num_bytes for m in [*(held.layer for held in kept.values()), *missing])
            > MOST_BYTES
        ):
            wanted = {layer.key for layer in layers}
            kept = {key: held for key, held in kept.items() if key in wanted}
        self._packed = kept
        for layer in missing:
            kept[layer.key] = _Packed.of(layer)


def _content(weight: torch.Tensor) -> float:
    """Return a number that changes with a weight; its version does not change with `weight.data`."""
    values = weight.detach().flatten()
    # An odd step reaches all columns of a weight whose width is a power of two.
    step = len(values) // 1024 | 1 if len(values) > 2**16 else 1
    return float(values[::step].double().sum())


def _layers(model: nn.Module) -> list[_Layer]:
    """Return the layers to change; none where operators are missing or the copies would be too large."""
    operators = ("_reorder_linear_weight", "_linear_pointwise")
    if not torch.backends.mkldnn.is_available() or not all(  # type: ignore[no-untyped-call]
        hasattr(torch.ops.mkldnn, name) for name in operators
    ):
        return []
    adapted = [layer for m in model.modules() if (layer := _adapted(m)) is not None]
    left_out = {id(part) for layer in adapted for part in layer.module.modules()}
    for module in model.modules():
        # At its next call such a layer removes the merged adapter from its weight.
        if isinstance(module, BaseTunerLayer) and module.disable_adapters and module.merged:
            left_out |= {id(part) for part in module.modules()}
    plain = [
        _Layer(m, m)
        for m in model.modules()
        if id(m) not in left_out and type(m) is nn.Linear and _is_plain(m)
    ]
    layers = [*adapted, *plain]
    return layers if sum(layer.num_bytes for layer in layers) <= MOST_BYTES else []


def _active(module: Any) -> list[str]:
    """Return the adapters that a LoRA layer adds to its output at every call."""
    if module.disable_adapters or module.merged:
        return []
    return [name for name in module.active_adapters if name in module.lora_A]


def _adapted(module: Any) -> _Layer | None:
    """Return a layer with one active plain LoRA adapter, a product of two matrices; else None."""
    if type(module) is not LoraLinear or module.training or "forward" in vars(module):
        return None  # In training it may have dropout.
    active = _active(module)
    if len(active) != 1 or active[0] in module.lora_variant or module.lora_bias[active[0]]:
        return None
    base, name = module.base_layer, active[0]
    parts = (base, module.lora_A[name], module.lora_B[name])
    if module.fan_in_fan_out or not all(type(m) is nn.Linear and _is_plain(m) for m in parts):
        return None
    if any(m._forward_hooks or m._forward_pre_hooks for m in (*parts, module.lora_dropout[name])):
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
        # A forward that other code has replaced is kept.
        and "forward" not in vars(layer)
    )


def _forward(layer: _Layer, packed: torch.Tensor) -> Any:
    plain = layer.module.forward

    def forward(x: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        other = args or kwargs or x.dtype != torch.float32 or torch.is_autocast_enabled("cpu")
        if other or not layer.is_active:
            found: torch.Tensor = plain(x, *args, **kwargs)
        else:
            found = torch.ops.mkldnn._linear_pointwise(x, packed, layer.base.bias, "none", [], "")
        return found

    return forward
