"""Attention weights of the tokens of a generated reply, reduced layer by layer.

Transformers' eager attention returns the weights of each layer. A hook reduces them at once: the
weights of one layer are in memory, and only those of the reply's queries, since the prompt is read
into a cache before.

Shapes: H query heads, Q queries of a reply, C keys, N bins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from transformers import DynamicCache

from eval.studies.attention.layout import Layout, Target
from gatt.comb.model_support import why_not_packable
from gatt.errors import ModelError

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TurnAttention:
    """Where the tokens of one reply looked when they were generated."""

    turn: int
    mass: float
    """Share of attention on the instruction's tokens, mean over layers, heads and the reply's tokens."""
    bin_peak_N: Floats
    """Largest weight in each bin before the reply, over layers, heads and tokens (Figure 10)."""
    even: float
    """`mass` if all visible tokens got the same weight. A sliding window hides some."""


def refuse_unreadable(model: Any, name: str) -> None:
    """Refuse a model whose layers return no attention weights.

    Args:
        model: a causal LM of transformers, or PEFT around it.
        name: what the user calls it.

    Raises:
        ModelError: says why, and which models can be read.
    """
    if problem := why_not_packable(model.config):
        raise ModelError(
            f"{name}: it returns no attention weights: {problem}: choose a model of transformers' own with "
            "layers of full or sliding attention, such as Llama, Qwen, Gemma, Mistral or Phi"
        )


def measure(model: Any, layout: Layout) -> list[TurnAttention]:
    """Return where the tokens of each generated reply looked, by turn.

    The replies are given, not generated again. The query of a generated token is the token before it.

    Args:
        model: that `refuse_unreadable` accepts.
        layout: of the dialogue.
    """
    return [_of_reply(model, layout, target) for target in layout.targets]


def _of_reply(model: Any, layout: Layout, target: Target) -> TurnAttention:
    told, fork = slice(*layout.instruction), target.fork
    starts = [b.start for b in layout.bins if b.start < fork]
    layers: list[tuple[float, float, Floats]] = []

    def reduce(weights_HQC: torch.Tensor) -> None:
        # A hidden token has weight 0 in every head.
        sees_QC = weights_HQC.amax(0) > 0
        peak_C = weights_HQC[..., :fork].amax((0, 1)).double().cpu().numpy()
        layers.append(
            (
                float(weights_HQC[..., told].sum(-1, dtype=torch.float64).mean()),
                float((sees_QC[:, told].sum(-1) / sees_QC.sum(-1)).mean()),
                np.maximum.reduceat(peak_C, starts),
            )
        )

    read = {"past_key_values": DynamicCache(), "use_cache": True, "logits_to_keep": 1}
    head, rest = layout.trunk[: fork - 1], (layout.trunk[fork - 1], *target.input_ids[:-1])
    with torch.inference_mode():
        model(input_ids=torch.tensor([head], device=model.device), **read)
        with _eager(model, reduce):
            model(input_ids=torch.tensor([rest], device=model.device), **read)
    masses, evens, peaks = zip(*layers, strict=True)
    peak_N = np.max(peaks, axis=0)
    return TurnAttention(target.turn, float(np.mean(masses)), peak_N, float(np.mean(evens)))


@contextmanager
def _eager(model: Any, reduce: Callable[[torch.Tensor], None]) -> Iterator[None]:
    """Switch the model to eager attention, and hand the weights of every layer to a function."""

    def hook(_: Any, __: Any, output: Any) -> None:
        weights = output[1] if isinstance(output, tuple) and len(output) > 1 else None
        if isinstance(weights, torch.Tensor) and weights.ndim == 4:
            reduce(weights[0])

    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    before = base.config._attn_implementation
    hooks = [m.register_forward_hook(hook) for m in base.modules() if hasattr(m, "layer_idx")]
    base.set_attn_implementation("eager")
    try:
        yield
    finally:
        base.set_attn_implementation(before)
        for one in hooks:
            one.remove()
