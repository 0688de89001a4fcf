"""Attention weights of generated tokens, summed and maximised layer by layer.

A model under `reducing` takes `weight_reducer=` in its forward pass. Its output is that of
`gatt_comb` (`gatt.comb.attention`). The weights are computed in blocks, and only for the
queries that generated the tokens of a reply: memory does not grow with queries times keys.

Shapes: L layers, H query heads, K key/value heads, D head size, Q queries of a block,
C keys, N bins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

from eval.studies.attention.layout import Layout, Target
from gatt.comb.attention.backend import CombAttention, comb_attention_forward, window_of
from gatt.comb.collator import GattCollator, RowGeometry, combs_to_features
from gatt.comb.model_support import packing_problem
from gatt.errors import ModelError

IMPLEMENTATION: Final = "gatt_attend"
MOST_WEIGHTS: Final = 2**22
"""Weights of one block: 16 MB in float32."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TurnAttention:
    """Where the tokens of one reply looked when they were generated."""

    turn: int
    mass: float
    """Share of attention on the instruction's tokens, mean over layers, heads and the reply's tokens."""
    peak: float
    """Largest weight of one instruction token for one token of the reply, over layers and heads."""
    bin_peak_N: Floats
    """Largest weight in each bin before the reply, over layers, heads and tokens (Figure 10)."""
    even: float
    """Share on the instruction if all visible tokens got the same, mean over layers: a window hides some."""


@dataclass
class _Sums:
    """The sums and maxima of one reply over the layers so far."""

    target: Target
    queries_Q: torch.Tensor
    keys_C: torch.Tensor
    bin_peak_N: torch.Tensor
    mass: torch.Tensor
    peak: torch.Tensor
    even: torch.Tensor


class WeightReducer:
    """Takes queries and keys of every layer of one forward pass, and stores sums and maxima.

    Args:
        layout: of the dialogue; its comb is the row.
        batch: of `gatt.comb.collator.GattCollator`, the same row, on the model's device.
    """

    def __init__(self, layout: Layout, batch: Mapping[str, torch.Tensor]) -> None:
        self._geometry = RowGeometry.from_batch(batch)
        self._instruction = slice(*layout.instruction)
        device = batch["input_ids"].device
        sizes = torch.tensor([b.end - b.start for b in layout.bins], device=device)
        self._bin_of = torch.arange(len(sizes), device=device).repeat_interleave(sizes)
        self.layers: set[int] = set()
        """The layers that were added."""
        self._num_heads = 0
        self._sums = []
        for number, target in enumerate(layout.targets, start=1):
            own = (batch["branch_ids"][0] == number).nonzero()[:, 0]
            # The last token was generated too, but no token of the reply looks at it.
            keys = torch.cat((torch.arange(target.fork, device=device), own[:-1]))
            bins = torch.zeros(int(self._bin_of[target.fork - 1]) + 1, device=device)
            zeros = torch.zeros(3, device=device)
            self._sums.append(_Sums(target, batch["source"][0][own], keys, bins, *zeros))

    def add(
        self,
        layer: int,
        query: torch.Tensor,
        key: torch.Tensor,
        *,
        scale: float,
        window: int | None,
        softcap: float | None,
    ) -> None:
        """Reduce the weights of one layer.

        Args:
            layer: its index.
            query: `[1, H, T, D]`, rotated to its positions.
            key: `[1, K, T, D]`.
            scale: factor of the scores.
            window: tokens that the layer sees, itself included; None sees all.
            softcap: scores are soft-capped at it; None leaves them.
        """
        heads, groups = query.shape[1], key.shape[1]
        self.layers.add(layer)
        self._num_heads = heads
        precise = torch.promote_types(query.dtype, torch.float32)
        for sums in self._sums:
            keys_KDC = key[0][:, sums.keys_C].transpose(1, 2)
            size = max(1, MOST_WEIGHTS // (heads * len(sums.keys_C)))
            for start in range(0, len(sums.queries_Q), size):
                rows = sums.queries_Q[start : start + size]
                query_KQD = query[0][:, rows].reshape(groups, -1, query.shape[-1])
                scores = (query_KQD @ keys_KDC).view(heads, len(rows), -1) * scale
                if softcap is not None:
                    scores = softcap * torch.tanh(scores / softcap)
                sees = self._geometry.sees(rows[:, None], sums.keys_C[None], window)
                scores = scores.masked_fill(~sees, -torch.inf)
                self._reduce(sums, scores.softmax(-1, dtype=precise), sees)

    def _reduce(self, sums: _Sums, weights_HQC: torch.Tensor, sees_QC: torch.Tensor) -> None:
        fork = sums.target.fork
        told = weights_HQC[..., self._instruction]
        peaks = weights_HQC[..., :fork].amax((0, 1)).to(sums.bin_peak_N)
        sums.bin_peak_N.scatter_reduce_(0, self._bin_of[:fork], peaks, "amax")
        sums.mass = sums.mass + told.sum().to(sums.mass)
        sums.peak = torch.maximum(sums.peak, told.amax().to(sums.peak))
        even = sees_QC[:, self._instruction].sum(-1) / sees_QC.sum(-1)
        sums.even = sums.even + even.sum().to(sums.even)

    def results(self) -> list[TurnAttention]:
        """Return where each reply's tokens looked, by turn; call it once all layers were added."""
        found = []
        for sums in self._sums:
            num = len(sums.queries_Q) * len(self.layers)
            found.append(
                TurnAttention(
                    turn=sums.target.turn,
                    mass=float(sums.mass) / (num * self._num_heads),
                    peak=float(sums.peak),
                    bin_peak_N=sums.bin_peak_N.cpu().double().numpy(),
                    even=float(sums.even) / num,
                )
            )
        return found


def reducing_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    weight_reducer: WeightReducer,
    comb_attention: CombAttention,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    **more: Any,
) -> tuple[torch.Tensor, None]:
    """Return the attention output `[1, T, H, D]` of one layer, and hand its weights to the reducer.

    The signature is that of transformers' attention functions.
    """
    output = comb_attention_forward(
        module, query, key, value, attention_mask, comb_attention=comb_attention,
        scaling=scaling, sliding_window=sliding_window, softcap=softcap, **more,
    )  # fmt: skip
    weight_reducer.add(
        module.layer_idx, query, key,
        scale=query.shape[-1] ** -0.5 if scaling is None else scaling,
        window=window_of(module, sliding_window), softcap=softcap,
    )  # fmt: skip
    return output


AttentionInterface.register(IMPLEMENTATION, reducing_attention)
AttentionMaskInterface.register(IMPLEMENTATION, sdpa_mask)


@contextmanager
def reducing(model: Any) -> Iterator[None]:
    """Switch a causal LM (or PEFT around it) to this attention; the old one is restored at the end."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    before = base.config._attn_implementation
    base.set_attn_implementation(IMPLEMENTATION)
    try:
        yield
    finally:
        base.set_attn_implementation(before)


def refuse_unreadable(model: Any, name: str, max_tokens: int) -> None:
    """Refuse a model that returns no attention weights.

    Args:
        model: a causal LM of transformers, without an adapter.
        name: what the user calls it.
        max_tokens: of the longest dialogue that will be read.

    Raises:
        ModelError: says why, and what can be read.
    """
    problem = packing_problem(model, max_length=max_tokens)
    if problem:
        raise ModelError(
            f"{name}: it returns no attention weights: {problem}: choose a model of transformers' "
            "own that runs with attention implementation 'sdpa' or 'eager' in layers of full or sliding "
            "attention, such as Llama, Qwen, Gemma, Mistral or Phi"
        )


def measure(model: Any, layout: Layout) -> list[TurnAttention]:
    """Return where the tokens of each generated reply looked, by turn.

    All replies are given; the model reads the dialogue once, with every reply as a
    branch of its own.

    Args:
        model: that `refuse_unreadable` lets pass, or PEFT around it.
        layout: of the dialogue.

    Raises:
        ModelError: a layer whose attention is not transformers' own.
    """
    rows = GattCollator(pad_token_id=0)([combs_to_features([layout.comb])])
    batch = {name: vector.to(model.device) for name, vector in rows.items()}
    reducer = WeightReducer(layout, batch)
    with reducing(model), torch.inference_mode():
        model(
            input_ids=batch["input_ids"],
            position_ids=batch["position_ids"],
            # Any 4-D mask keeps transformers from making one of its own; nothing reads it.
            attention_mask=torch.ones(1, 1, 1, 1, dtype=torch.bool, device=model.device),
            comb_attention=CombAttention(RowGeometry.from_batch(batch), "split"),
            weight_reducer=reducer,
            logits_to_keep=1,
            use_cache=False,
        )
    num_layers = model.config.get_text_config().num_hidden_layers
    missing = sorted(set(range(num_layers)) - reducer.layers)
    if missing:
        raise ModelError(
            f"layer {missing[0]} of {num_layers} gives no attention weights: expected attention of "
            "transformers' own ('sdpa' or 'eager') in every layer"
        )
    return reducer.results()
