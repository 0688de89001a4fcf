"""What the forward pass of a reply says: where its tokens looked, and what it is with tokens hidden.

Weights are those of the reply's queries alone, since the prompt is read into a cache before.
Shapes: H query heads, Q queries of a reply, C keys, N bins.

Causal check: the last turn is answered anew while its user message and its reply cannot attend to the
instruction. Earlier turns have read it as before. As a control, as many random other tokens are hidden.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from transformers import DynamicCache, GenerationConfig

from eval.records.samples import Sample
from eval.studies.attention.layout import Layout
from gatt.generation.base import Generation
from gatt.generation.local.engine import TransformersEngine

INTACT: Final = "nothing"
INSTRUCTION: Final = "instruction"
OTHERS: Final = "as many other tokens"


@dataclass(frozen=True)
class TurnAttention:
    """Where the tokens of one reply looked when they were generated."""

    sample: Sample
    mass: float
    """Share of attention on the instruction's tokens, mean over layers, heads and the reply's tokens."""
    bin_peak_N: npt.NDArray[np.float64]
    """Largest weight in each bin before the reply, over layers, heads and tokens (Figure 10)."""


def measure(model: Any, layout: Layout) -> tuple[TurnAttention, ...]:
    """Return where the tokens of each generated reply looked, by turn.

    The replies are given, not generated again. The query of a generated token is the token before it.
    """
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    before = base.config._attn_implementation
    told = slice(*layout.instruction)
    found = []
    for target in layout.targets:
        fork = target.fork
        prompt, rest = layout.trunk[: fork - 1], (layout.trunk[fork - 1], *target.input_ids[:-1])
        cache = DynamicCache()
        try:
            with torch.inference_mode():
                _forward(model, prompt, cache)
                base.set_attn_implementation("eager")
                output = _forward(model, rest, cache, output_attentions=True)
        finally:
            base.set_attn_implementation(before)
        masses, peaks = [], []
        for layer_1HQC in output.attentions:
            masses.append(float(layer_1HQC[..., told].sum(-1, dtype=torch.float64).mean()))
            peaks.append(layer_1HQC[..., :fork].amax((0, 1, 2)).double().cpu().numpy())
        starts = [b.start for b in layout.bins if b.start < fork]
        bin_peak_N = np.maximum.reduceat(np.max(peaks, axis=0), starts)
        found.append(TurnAttention(target.sample, float(np.mean(masses)), bin_peak_N))
    return tuple(found)


def _forward(model: Any, ids: Sequence[int], cache: DynamicCache, **more: bool) -> Any:
    """Read tokens behind those of the cache, which takes them in."""
    inputs = torch.tensor([ids], device=model.device)
    return model(input_ids=inputs, past_key_values=cache, use_cache=True, logits_to_keep=1, **more)


def hidden_replies(
    engine: TransformersEngine, layout: Layout, arm: str | None, max_new_tokens: int, seed: str
) -> dict[str, Generation]:
    """Return the greedy replies to the last turn by what is hidden: `INTACT`, `INSTRUCTION`, `OTHERS`.

    Turn 1 gives none: its user message holds the instruction. `arm` is the adapter's name, None the
    base model; `seed` fixes the draw of other tokens.
    """
    if not layout.last_prompt:
        return {}
    prompt, told = layout.trunk, range(*layout.instruction)
    rest = range(told.stop, layout.last_prompt)
    others = random.Random(seed).sample(rest, min(len(told), len(rest)))
    hidden: dict[str, Sequence[int]] = {INTACT: (), INSTRUCTION: told, OTHERS: others}
    room = min(max_new_tokens, engine.context_tokens - len(prompt))
    sets = list(hidden.values())
    with engine.using(arm), torch.inference_mode():
        outputs = greedy(engine.model, prompt, layout.last_prompt, sets, room, engine.stop_ids)
    replies = (engine.generation_of(output, len(prompt)) for output in outputs)
    return dict(zip(hidden, replies, strict=True))


def greedy(
    model: Any,
    prompt: Sequence[int],
    blind_from: int,
    hidden: Sequence[Sequence[int]],
    max_new_tokens: int,
    stop_ids: frozenset[int],
) -> list[list[int]]:
    """Return the likeliest continuation of a prompt, once for each set of hidden tokens.

    Hidden tokens stand before the token `blind_from` and are hidden from it and all later ones. A token
    of `stop_ids` ends a continuation, and stands at its end.
    """
    ids = torch.tensor([prompt], device=model.device)
    cache = DynamicCache(config=model.config)
    _forward(model, prompt[:blind_from], cache)
    cache.batch_repeat_interleave(len(hidden))
    mask = torch.ones(len(hidden), len(prompt), dtype=torch.long, device=model.device)
    for row, tokens in zip(mask, hidden, strict=True):
        row[list(tokens)] = 0
    found = model.generate(
        ids.expand(len(hidden), -1),
        attention_mask=mask,
        # Given, because `generate` would count the visible tokens alone.
        position_ids=torch.arange(len(prompt), device=model.device).expand(len(hidden), -1),
        past_key_values=cache,
        generation_config=GenerationConfig(
            max_new_tokens=max_new_tokens,
            do_sample=False,
            eos_token_id=sorted(stop_ids) or None,
            pad_token_id=0,
        ),
    )
    outputs = found[:, len(prompt) :].tolist()
    ends = [next((n for n, i in enumerate(o, 1) if i in stop_ids), len(o)) for o in outputs]
    return [output[:end] for output, end in zip(outputs, ends, strict=True)]
