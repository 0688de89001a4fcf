"""Linear layers in int8 on a CPU: sampling takes half the time and the layers a quarter of the memory.

Weights are rounded once, with a scale for each output, and inputs at every call (torch's dynamic
quantisation). Inputs of some layers have outliers, a thousand times larger than the others, which would be
rounded to zero: such layers and the head are not quantised. They compute in bfloat16 on a CPU that
multiplies in it (AVX512-BF16), a third faster over all, and stay in float32 elsewhere. Logits depend in
their last digits on the other rows of a batch, so int8 is meant for sampling data and not for measuring a
model.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

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
    found = _outliers(model, linear, tokenizer)
    spec = {n: per_channel_dynamic_qconfig for n in linear if found.get(n, 0) <= MOST_OUTLYING}
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
    found: dict[str, float] = {}

    def watch(name: str) -> Any:
        def look(_module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
            x = inputs[0].detach().flatten(end_dim=-2)
            typical = x.square().mean(-1).sqrt().median()
            found[name] = float(x.abs().max() / typical.clamp_min(1e-12))

        return look

    hooks = [layer.register_forward_pre_hook(watch(name)) for name, layer in layers.items()]
    try:
        with torch.inference_mode():
            model(input_ids=torch.tensor([tokenizer(_TRIAL)["input_ids"]]), use_cache=False)
    finally:
        for hook in hooks:
            hook.remove()
    return found
