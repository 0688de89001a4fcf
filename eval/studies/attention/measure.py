"""One forward pass over a dialogue, and where each of its generated replies looked."""

from __future__ import annotations

from typing import Any

import torch

from eval.studies.attention.layout import Layout
from eval.studies.attention.weights import TurnAttention, WeightReducer, reducing
from gatt.comb.attention.backend import CombAttention
from gatt.comb.attention.visibility import RowGeometry
from gatt.comb.collator import GattCollator, combs_to_features
from gatt.comb.model_support import packing_problem
from gatt.errors import ModelError


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
