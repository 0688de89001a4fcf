"""The causal check: the last turn is answered anew with the instruction hidden.

The tokens of the last user message and of the reply cannot attend to the instruction. Earlier turns
have read it as before. As a control, as many random other tokens of the dialogue are hidden. All
replies are greedy, so that only the mask differs.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final

import torch
from transformers import DynamicCache

from eval.studies.attention.layout import Layout
from gatt.generation.base import Generation
from gatt.generation.local.engine import TransformersEngine

INTACT: Final = "nothing"
INSTRUCTION: Final = "instruction"
OTHERS: Final = "as many other tokens"


def hidden_replies(
    engine: TransformersEngine, layout: Layout, arm: str | None, max_new_tokens: int, seed: str
) -> dict[str, Generation]:
    """Return the greedy replies to the last turn by what is hidden: `INTACT`, `INSTRUCTION`, `OTHERS`.

    Args:
        engine: with the model and its adapters.
        layout: of the dialogue; its last target is the turn. Turn 1 gives no reply, since its
            last user message holds the instruction.
        arm: the adapter's name; None is the base model.
        max_new_tokens: most tokens of a reply.
        seed: of the draw of other tokens.
    """
    if not layout.last_prompt:
        return {}
    prompt, told = layout.trunk, range(*layout.instruction)
    spans = [(b.start, b.end) for b in layout.bins if b.part in ("user", "reply")]
    rest = [i for start, end in spans for i in range(start, min(end, layout.last_prompt))]
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

    Args:
        model: a causal LM of transformers.
        prompt: token ids.
        blind_from: the first token that the hidden ones are hidden from, above 0.
        hidden: indices below `blind_from`.
        max_new_tokens: most tokens.
        stop_ids: any of them ends a continuation, and stands at its end.
    """
    device, num = model.device, len(hidden)
    cache = DynamicCache(config=model.config)
    ids = torch.tensor([prompt], device=device)
    model(input_ids=ids[:, :blind_from], past_key_values=cache, use_cache=True, logits_to_keep=1)
    cache.batch_repeat_interleave(num)
    mask = torch.ones(num, len(prompt), dtype=torch.long, device=device)
    for row, tokens in enumerate(hidden):
        mask[row, list(tokens)] = 0
    new = ids[:, blind_from:].expand(num, -1)
    positions = torch.arange(blind_from, len(prompt), device=device).expand(num, -1)
    outputs: list[list[int]] = [[] for _ in hidden]
    for _ in range(max_new_tokens):
        logits = model(
            input_ids=new,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits[:, -1]
        new = logits.argmax(-1, keepdim=True)
        for output, token in zip(outputs, new[:, 0].tolist(), strict=True):
            if not output or output[-1] not in stop_ids:
                output.append(token)
        if all(output[-1] in stop_ids for output in outputs):
            break
        mask = torch.cat((mask, mask.new_ones(num, 1)), dim=1)
        positions = positions[:, -1:] + 1
    return outputs
