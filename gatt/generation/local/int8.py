"""Linear layers in int8 on a CPU: sampling takes half the time and the layers a quarter of the memory.

Weights are rounded once, with a scale for each output, and inputs at every call (torch's dynamic
quantisation). Inputs of some layers have outliers, a thousand times larger than the others, which would be
rounded to zero: such layers stay in float32, and so does the head. Logits depend in their last digits on
the other rows of a batch, so int8 is meant for sampling data and not for measuring a model.
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


def quantize(model: Any, tokenizer: Any) -> list[str]:
    """Replace linear layers of a float32 model by int8 ones, in place; return the names of the others.

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
    return [name for name in linear if name not in spec]


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
