"""Attention weights of generated tokens, reduced as each layer computes them and thrown away.

A model under `reducing` takes `weight_reducer=` in its forward. Its output is that of
`gatt_comb` (`gatt.comb.attention`); beside it, for the queries that generated the tokens of
a reply and for no others, the weights are computed in blocks, summed and maximised.
What is kept does not grow with queries times keys.

Shapes: L layers, H query heads, K key/value heads, D head size, Q queries of a block,
C keys, N bins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

from eval.studies.attention.layout import Layout, Target
from gatt.comb.attention.backend import CombAttention, comb_attention_forward, window_of
from gatt.comb.attention.visibility import RowGeometry

IMPLEMENTATION: Final = "gatt_attend"
MOST_WEIGHTS: Final = 2**22
"""Weights of one block: 16 MB in float32."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TurnAttention:
    """Where the tokens of one reply looked when they were generated."""

    turn: int
    num_tokens: int
    mass_LH: Floats
    """Share of attention on the instruction's tokens, mean over the reply's tokens."""
    peak_LH: Floats
    """Largest weight of one instruction token for one token of the reply."""
    bin_mass_N: Floats
    """Share of attention on each bin that stands before the reply, mean over layers, heads and tokens."""
    bin_peak_N: Floats
    """Largest weight in each bin, over layers, heads and tokens (Figure 10)."""
    own: float
    """Share of attention on the reply itself, mean likewise."""
    even: float
    """Share on the instruction if all tokens in sight got the same, mean over layers: a window hides some."""

    @property
    def mass(self) -> float:
        """Mean share on the instruction, over layers and heads."""
        return float(self.mass_LH.mean())

    @property
    def peak(self) -> float:
        """Largest weight on the instruction, over layers and heads."""
        return float(self.peak_LH.max())


@dataclass
class _Sums:
    """What is kept of one reply while the layers go by."""

    target: Target
    queries_Q: torch.Tensor
    keys_C: torch.Tensor
    num_bins: int
    mass: dict[int, torch.Tensor] = field(default_factory=dict)
    peak: dict[int, torch.Tensor] = field(default_factory=dict)
    bin_mass: dict[int, torch.Tensor] = field(default_factory=dict)
    bin_peak: dict[int, torch.Tensor] = field(default_factory=dict)
    own: dict[int, torch.Tensor] = field(default_factory=dict)
    even: dict[int, torch.Tensor] = field(default_factory=dict)


class WeightReducer:
    """Takes queries and keys of every layer of one forward, and keeps sums and maxima.

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
        self._sums = []
        for number, target in enumerate(layout.targets, start=1):
            own = (batch["branch_ids"][0] == number).nonzero()[:, 0]
            # The last token was generated too, but no token of the reply looks at it.
            keys = torch.cat((torch.arange(target.fork, device=device), own[:-1]))
            num_bins = int(self._bin_of[target.fork - 1]) + 1
            self._sums.append(_Sums(target, batch["source"][0][own], keys, num_bins))

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
            softcap: scores are bent to stay below it.
        """
        heads, groups = query.shape[1], key.shape[1]
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
                self._reduce(sums, layer, scores.softmax(-1, dtype=precise), sees)

    def _reduce(
        self, sums: _Sums, layer: int, weights_HQC: torch.Tensor, sees_QC: torch.Tensor
    ) -> None:
        fork = sums.target.fork
        told = weights_HQC[..., self._instruction]
        context = weights_HQC[..., :fork]
        bins = self._bin_of[:fork]
        empty = weights_HQC.new_zeros(sums.num_bins)
        mass = empty.index_add(0, bins, context.sum((0, 1)))
        peak = empty.scatter_reduce(0, bins, context.amax((0, 1)), "amax")
        even = sees_QC[:, self._instruction].sum(-1) / sees_QC.sum(-1)
        for kept, new in (
            (sums.mass, told.sum((1, 2))),
            (sums.bin_mass, mass),
            (sums.own, weights_HQC[..., fork:].sum()),
            (sums.even, even.sum()),
        ):
            kept[layer] = kept[layer] + new if layer in kept else new
        for kept, new in ((sums.peak, told.amax((1, 2))), (sums.bin_peak, peak)):
            kept[layer] = torch.maximum(kept[layer], new) if layer in kept else new

    def layers(self) -> set[int]:
        """Return the layers that were added."""
        return set(self._sums[0].mass)

    def results(self) -> list[TurnAttention]:
        """Return what each reply's tokens looked at, by turn; call it once all layers were added."""
        return [self._result(sums) for sums in self._sums]

    def _result(self, sums: _Sums) -> TurnAttention:
        num = len(sums.queries_Q)
        mass_LH, peak_LH = (_stacked(kept) for kept in (sums.mass, sums.peak))
        return TurnAttention(
            turn=sums.target.turn,
            num_tokens=num,
            mass_LH=mass_LH / num,
            peak_LH=peak_LH,
            bin_mass_N=_stacked(sums.bin_mass).sum(0) / (num * mass_LH.size),
            bin_peak_N=_stacked(sums.bin_peak).max(0),
            own=float(_stacked(sums.own).sum() / (num * mass_LH.size)),
            even=float(_stacked(sums.even).mean() / num),
        )


def _stacked(by_layer: Mapping[int, torch.Tensor]) -> Floats:
    found: Floats = torch.stack([by_layer[n] for n in sorted(by_layer)]).cpu().double().numpy()
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
    """Switch a causal LM (or PEFT around it) to this attention for a while; put the old one back."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    before = base.config._attn_implementation
    base.set_attn_implementation(IMPLEMENTATION)
    try:
        yield
    finally:
        base.set_attn_implementation(before)
