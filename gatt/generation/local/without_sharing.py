"""Sampling through the model's own cache, for models that cannot share prefixes.

Recurrent layers have a state instead of keys and values, so it cannot be cut at a fork; in other models
the keys depend on the length of the text. The model's own `generate` handles its cache; only the draws
are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList

from gatt.generation.base import SamplingParams
from gatt.generation.local.batching import Row
from gatt.generation.local.sampling import next_tokens

if TYPE_CHECKING:
    from gatt.generation.local.engine import TransformersEngine


def generate_by_reencoding(
    engine: TransformersEngine, rows: Sequence[Row], params: SamplingParams
) -> Iterator[Row]:
    """Yield rows with their output; those of one length are sampled together.

    There is no padding: it would change a recurrent state and the length of the text.
    """
    by_length: dict[int, list[Row]] = {}
    for row in rows:
        by_length.setdefault(len(row.prompt), []).append(row)
    for length, members in sorted(by_length.items()):
        room = min(params.max_new_tokens, engine.context_tokens - length)
        num = max(1, min(engine.max_rows, engine.max_cache_tokens // (length + room)))
        for start in range(0, len(members), num):
            part = members[start : start + num]
            _answer(engine, part, params, room)
            yield from part


def _answer(
    engine: TransformersEngine, rows: Sequence[Row], params: SamplingParams, room: int
) -> None:
    model = engine.model
    prompts = torch.tensor([row.prompt for row in rows], device=model.device)
    # The model's own defaults, such as a repetition penalty, are put aside.
    defaults, model.generation_config = model.generation_config, GenerationConfig()
    try:
        out = model.generate(
            prompts, attention_mask=torch.ones_like(prompts), do_sample=False, max_new_tokens=room,
            eos_token_id=sorted(engine.stop_ids) or None,
            pad_token_id=engine.tokenizer.pad_token_id or 0,
            logits_processor=LogitsProcessorList([_Draw(rows, prompts.shape[1], params)]),
        )  # fmt: skip
    finally:
        model.generation_config = defaults
    engine.counters.num_encoded_tokens += prompts.numel()
    for row, ids in zip(rows, out[:, prompts.shape[1] :].tolist(), strict=True):
        ends = [i for i, token in enumerate(ids) if token in engine.stop_ids]
        row.output = ids[: ends[0] + 1] if ends else ids
        engine.counters.num_sampled_tokens += len(row.output)


class _Draw(LogitsProcessor):  # type: ignore[misc]
    """Leaves one candidate: the token that the row's random stream draws."""

    def __init__(self, rows: Sequence[Row], prompt_length: int, params: SamplingParams) -> None:
        self._uniforms = torch.stack([row.uniform for row in rows]) if params.temperature else None
        self._prompt_length = prompt_length
        self._params = params

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return scores `[R, V]` that are -inf except at the drawn token."""
        position = input_ids.shape[1] - self._prompt_length
        uniform = torch.empty(0) if self._uniforms is None else self._uniforms[:, position]
        tokens = next_tokens(scores, self._params, uniform.to(scores.device))
        return torch.full_like(scores, -torch.inf).scatter_(1, tokens[:, None], 0.0)
