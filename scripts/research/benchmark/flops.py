"""The arithmetic of LoRA training and of sampling: what must be computed, and the bound on a layout's gain.

Counted are the matrix products of forward and backward pass, a multiply-add as
two operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gatt.comb.comb import IGNORE, Comb


@dataclass(frozen=True, kw_only=True)
class ModelShape:
    """Sizes of a model with a LoRA adapter."""

    linear: int
    """Weights of all linear layers but the LM head."""
    adapter: int
    """Weights of the adapter."""
    head: int
    """Weights of the LM head."""
    attention: int
    """Layers times query heads times head size."""

    @classmethod
    def of(cls, model: Any) -> ModelShape:
        """Return the shape of a PEFT model around a causal LM of transformers."""
        import torch

        config = model.config.get_text_config()
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        head = model.get_output_embeddings()
        found = {True: 0, False: 0}
        for name, module in model.named_modules():
            if isinstance(module, torch.nn.Linear) and module is not head:
                found["lora_" in name] += module.in_features * module.out_features
        return cls(
            linear=found[False],
            adapter=found[True],
            head=head.weight.numel(),
            attention=config.num_hidden_layers * config.num_attention_heads * size,
        )


@dataclass(frozen=True, kw_only=True)
class Work:
    """What a layout puts through the model."""

    num_tokens: int
    num_pairs: int
    """Pairs of a query and a key that it sees."""
    num_scored: int
    """Positions that the LM head scores."""

    def flops(self, shape: ModelShape) -> int:
        """Return the operations of forward and backward pass."""
        return (
            self.num_tokens * (4 * shape.linear + 6 * shape.adapter)
            + self.num_pairs * 12 * shape.attention
            + self.num_scored * 4 * shape.head
        )

    def forward_flops(self, shape: ModelShape) -> int:
        """Return the operations of the forward pass alone, as in sampling; the adapter is not merged."""
        return (
            self.num_tokens * 2 * (shape.linear + shape.adapter)
            + self.num_pairs * 4 * shape.attention
            + self.num_scored * 2 * shape.head
        )


def work_of(combs: Sequence[Comb], *, scores_everywhere: bool = False) -> Work:
    """Return the work of rows: combs, or plain sequences (combs without branches).

    Args:
        combs: one or more rows; rows that share a packed one count alike.
        scores_everywhere: the LM head scores every position, not only those
            that predict a supervised token.
    """
    num_tokens = sum(c.num_tokens for c in combs)
    num_pairs = sum(
        _triangle(len(c.trunk))
        + sum(b.fork * len(b.input_ids) + _triangle(len(b.input_ids)) for b in c.branches)
        for c in combs
    )
    return Work(
        num_tokens=num_tokens,
        num_pairs=num_pairs,
        num_scored=num_tokens if scores_everywhere else sum(_num_sources(c) for c in combs),
    )


def _triangle(length: int) -> int:
    return length * (length + 1) // 2


def _num_sources(comb: Comb) -> int:
    """Return how many hidden states predict a supervised token: a fork may predict two."""
    in_trunk = {i - 1 for i, label in enumerate(comb.trunk_labels) if label != IGNORE}
    in_branches = 0
    for branch in comb.branches:
        if branch.labels[0] != IGNORE:
            in_trunk.add(branch.fork - 1)
        in_branches += sum(label != IGNORE for label in branch.labels[1:])
    return len(in_trunk) + in_branches
