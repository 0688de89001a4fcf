"""The arithmetic of LoRA training and of sampling, and the GPU hours that follow from it.

Counted are the matrix products of forward and backward pass, a multiply-add as
two operations: linear layers (their weights are frozen, so the backward pass
computes the gradient of the input only), the adapter, attention over the pairs
of tokens that the mask allows, and the LM head where it scores. docs/scaling.md
says what is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

PEAK_TFLOPS: Final = 989.0
"""Of the GPU that hours are given for: an H100 SXM in bfloat16, dense, by its maker."""
DENSE_SHARE: Final = 0.35
"""Share of it reached in training and in reading prompts; assumed, not measured."""
DECODE_SHARE: Final = 0.05
"""Share of it reached in sampling, in large batches; assumed, not measured."""
DRAWS: Final = 2.0
"""Draws for each turn, rejected ones included; assumed."""


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


def gpu_hours(tflop: float, share: float) -> float:
    """Return the hours of one GPU for so many operations, where it reaches that share of its peak."""
    return tflop / (PEAK_TFLOPS * share) / 3600
