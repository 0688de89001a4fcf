"""Faster linear layers for inference on a CPU: weights are put into oneDNN's layout once.

`torch.nn.functional.linear` converts the layout of the weight at every call: in float32 half of the
time for the few rows of a sampling step, an eighth for thousands of rows. oneDNN also accepts a
weight in its own layout. A LoRA adapter is added to the copy in that layout, not to the weight, which
saves its small products, a quarter of the time. The order of the sums is another one: logits differ in
their last digits; in bfloat16 the sum of weight and adapter is rounded once more.

The operators are those that torch's compiler uses for frozen models. Where they are missing, and for
layers that are not plain float32 layers on a CPU, or bfloat16 ones on a CPU that multiplies it, nothing
is changed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from peft.tuners.lora import Linear as LoraLinear
from torch import nn

MOST_BYTES = 4 * 2**30
"""Most bytes of copied weights; larger models are not changed."""
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
    def parts(self) -> list[torch.Tensor]:
        """The weights that the copy is made of: `[out, in]`, then A `[r, in]` and B `[out, r]`."""
        if self.adapter is None:
            return [self.base.weight]
        added = (self.module.lora_A[self.adapter], self.module.lora_B[self.adapter])
        return [self.base.weight, *(layer.weight for layer in added)]

    @property
    def state(self) -> list[float]:
        """Numbers that change whenever an optimiser or a loader changes a part."""
        numbers: list[float] = [n for part in self.parts for n in (part._version, part.data_ptr())]
        return numbers if self.adapter is None else [*numbers, self._scaling]

    @property
    def _scaling(self) -> float:
        return float(self.module.scaling[self.adapter])

    def laid_out(self) -> torch.Tensor:
        with torch.autocast("cpu", enabled=False):
            weight = self.base.weight.detach()
            if self.adapter is not None:
                _, a, b = (part.detach().float() for part in self.parts)
                weight = torch.addmm(weight.float(), b, a, alpha=self._scaling).to(weight.dtype)
            packed: torch.Tensor = torch.ops.mkldnn._reorder_linear_weight(weight, _LAID_OUT_FOR)
        return packed


@dataclass(frozen=True)
class _Packed:
    parts: list[torch.Tensor]
    """Kept alive, so that no other weight can get the same address."""
    state: list[float]
    weight: torch.Tensor


class PackedLinears:
    """Copies of a model's linear weights in oneDNN's layout, renewed when a weight changes.

    The layers of the model are searched each time, since adapters may be added or removed.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._packed: dict[tuple[int, str | None], _Packed] = {}

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Let the layers use the copies while the block runs; for inference with one adapter only."""
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
        """Drop copies that are of other layers or out of date, and make the missing ones."""
        state = {layer.key: layer.state for layer in layers}
        self._packed = {k: held for k, held in self._packed.items() if state.get(k) == held.state}
        for layer in layers:
            if layer.key not in self._packed:
                self._packed[layer.key] = _Packed(layer.parts, state[layer.key], layer.laid_out())


def _layers(model: nn.Module) -> list[_Layer]:
    """Return the layers to change; none where operators are missing or the copies would be too large."""
    operators = ("_reorder_linear_weight", "_linear_pointwise")
    if not torch.backends.mkldnn.is_available() or not all(  # type: ignore[no-untyped-call]
        hasattr(torch.ops.mkldnn, name) for name in operators
    ):
        return []
    adapted = [layer for m in model.modules() if (layer := _adapted(m)) is not None]
    left_out = {id(part) for layer in adapted for part in layer.module.modules()}
    plain = [
        _Layer(m, m)
        for m in model.modules()
        if id(m) not in left_out and type(m) is nn.Linear and _is_plain(m)
    ]
    layers = [*adapted, *plain]
    return layers if sum(layer.base.weight.nbytes for layer in layers) <= MOST_BYTES else []


def _adapted(module: Any) -> _Layer | None:
    """Return a layer with one active plain LoRA adapter, a product of two matrices; else None."""
    if type(module) is not LoraLinear or module.training or "forward" in vars(module):
        return None  # In training it may have dropout.
    if module.disable_adapters or module.merged:
        return None
    active = [name for name in module.active_adapters if name in module.lora_A]
    if len(active) != 1 or active[0] in module.lora_variant or module.lora_bias[active[0]]:
        return None
    base, name = module.base_layer, active[0]
    parts = (base, module.lora_A[name], module.lora_B[name])
    if module.fan_in_fan_out or not all(type(m) is nn.Linear and _is_plain(m) for m in parts):
        return None
    return _Layer(module, base, name)


def _is_plain(layer: nn.Linear) -> bool:
    weight = layer.weight
    return (
        type(weight) is nn.Parameter
        and weight.device.type == "cpu"
        and (
            weight.dtype == torch.float32
            or (weight.dtype == torch.bfloat16 and multiplies_bfloat16())
        )
        and weight.is_contiguous()
        and not weight.is_inference()
        # A forward that other code has replaced is kept.
        and "forward" not in vars(layer)
    )


def _forward(layer: _Layer, packed: torch.Tensor) -> Any:
    plain = layer.module.forward

    def forward(x: torch.Tensor) -> torch.Tensor:
        if x.dtype != packed.dtype or torch.is_autocast_enabled("cpu"):
            output: torch.Tensor = plain(x)
        else:
            output = torch.ops.mkldnn._linear_pointwise(x, packed, layer.base.bias, "none", [], "")
        return output

    return forward


MOST_OUTLYING = 60.0
"""Largest ratio of the largest input of a quantised layer to the typical one (root mean square)."""
_TRIAL = "Who are you, and what did you do this morning? Qui es-tu ? 1 + 1 = 2."


class _Bfloat16Linear(nn.Module):
    """A linear layer that computes in bfloat16 within a float32 model."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.weight = layer.weight.detach().bfloat16()
        self.bias = None if layer.bias is None else layer.bias.detach().bfloat16()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(x.bfloat16(), self.weight, self.bias).to(x.dtype)


def multiplies_bfloat16() -> bool:
    """Whether this CPU has instructions for products in bfloat16."""
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def quantize(model: Any, tokenizer: Any) -> list[str]:
    """Replace linear layers of a float32 model by int8 ones, in place; return the names of the others.

    The head and the layers that are returned are in bfloat16 then, where the CPU multiplies in it.

    Source: https://pytorch.org/docs/stable/quantization.html, dynamic quantisation.
    """
    from torch.ao.quantization import per_channel_dynamic_qconfig, quantize_dynamic

    head = model.get_output_embeddings()
    linear = {n: m for n, m in model.named_modules() if type(m) is nn.Linear and m is not head}
    outliers = _outliers(model, linear, tokenizer)
    spec = {n: per_channel_dynamic_qconfig for n in linear if outliers.get(n, 0) <= MOST_OUTLYING}
    with warnings.catch_warnings():
        # torch asks users to move to another package.
        warnings.simplefilter("ignore")
        quantize_dynamic(model, spec, inplace=True)  # type: ignore[no-untyped-call]
    left = [name for name in linear if name not in spec]
    if multiplies_bfloat16():
        for name in left:
            model.set_submodule(name, _Bfloat16Linear(linear[name]))
        if type(head) is nn.Linear:
            model.set_output_embeddings(_Bfloat16Linear(head))
    return left


def _outliers(model: Any, layers: Mapping[str, nn.Module], tokenizer: Any) -> dict[str, float]:
    """Return the ratio of the largest input of each layer to its typical one, for a line of text."""
    ratios: dict[str, float] = {}

    def watch(name: str) -> Any:
        def look(_module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
            x = inputs[0].detach().flatten(end_dim=-2)
            typical = x.square().mean(-1).sqrt().median()
            ratios[name] = float(x.abs().max() / typical.clamp_min(1e-12))

        return look

    hooks = [layer.register_forward_pre_hook(watch(name)) for name, layer in layers.items()]
    try:
        with torch.inference_mode():
            model(input_ids=torch.tensor([tokenizer(_TRIAL)["input_ids"]]), use_cache=False)
    finally:
        for hook in hooks:
            hook.remove()
    return ratios
