"""Launches and waits a token in sampling, counted on a CPU: the engine against padded `generate`.

    python scripts/research/bench_launches.py --json results/gpu/launches.json

The model has the layers of `random-llama:1b`, made narrow: the counts depend on the layers alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from benchmark.apart import write_report
from benchmark.launches import of_a_token
from published.rates import table
from transformers import LlamaConfig, LlamaForCausalLM

from gatt.data.dialogue import Message
from gatt.generation.base import GenerationRequest, SamplingParams
from gatt.generation.local import dense
from gatt.generation.local.engine import TransformersEngine
from gatt.models.load import LoadedModel, load_tokenizer
from gatt.models.packaged import EMBEDDED

ROWS = 8
FEW, MANY = 8, 24
"""Tokens of a reply."""


def counted(model: Any, tokenizer: Any) -> dict[str, tuple[float, float]]:
    """Return launches and waits a token of each contender."""
    return {
        name: of_a_token(generate, FEW, MANY)
        for name, generate in contenders(model, tokenizer).items()
    }


def contenders(model: Any, tokenizer: Any) -> dict[str, Callable[[int], Any]]:
    """Return what makes replies of so many tokens to `ROWS` prompts, by name."""
    texts = [f"Tell me of {'the sea and ' * n}the river." for n in range(ROWS)]
    requests = [GenerationRequest(t, (Message("user", t),), "") for t in texts]
    padded = tokenizer(texts, return_tensors="pt", padding=True, padding_side="left")

    def by_engine(*, is_dense: bool, is_drawn: bool, is_quick: bool = True) -> Callable[[int], Any]:
        engine = TransformersEngine(LoadedModel(model, tokenizer, "random"), is_dense=is_dense)
        engine.stop_ids = frozenset()
        more = {"temperature": 0.7, "top_p": 0.5} if is_drawn else {"temperature": 0.0}

        def generate(num_tokens: int) -> Any:
            # A decoder is bound to the count that it was made under.
            engine.forget()
            params = SamplingParams(max_new_tokens=num_tokens, **more)
            if is_quick:
                return engine.generate(requests, params)
            with patch.object(dense, "few_can_suffice", lambda *_: False):
                return engine.generate(requests, params)

        return generate

    def by_generate(num_tokens: int) -> Any:
        return model.generate(
            **padded, max_new_tokens=num_tokens, min_new_tokens=num_tokens, do_sample=False,
            pad_token_id=0,
        )  # fmt: skip

    return {
        "padded `generate`, greedy": by_generate,
        "engine, shared prefixes, greedy": by_engine(is_dense=False, is_drawn=False),
        "engine on CUDA, greedy": by_engine(is_dense=True, is_drawn=False),
        "engine on CUDA, drawn, looking at every token": by_engine(
            is_dense=True, is_drawn=True, is_quick=False
        ),
        "engine on CUDA, drawn": by_engine(is_dense=True, is_drawn=True),
    }


def narrow_llama(vocabulary: int, layers: int) -> Any:
    """Return a narrow Llama of random weights, whose likeliest tokens stand out."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=vocabulary, hidden_size=32, intermediate_size=32, num_hidden_layers=layers,
        num_attention_heads=4, num_key_value_heads=2, initializer_range=0.5,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


def main() -> None:
    """Count, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    args = parser.parse_args()
    tokenizer = load_tokenizer(EMBEDDED)
    found = counted(narrow_llama(len(tokenizer), args.layers), tokenizer)
    rows = [[name, f"{launches:.1f}", f"{waits:.2f}"] for name, (launches, waits) in found.items()]
    print(table(["", "launches a token", "waits a token"], rows))
    write_report(args, {"a_token": found})


if __name__ == "__main__":
    main()
