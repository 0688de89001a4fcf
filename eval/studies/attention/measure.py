"""Where the tokens of a reply looked, and what it is with tokens hidden; which ones are the instruction's.

Weights are those of the reply's queries alone, since the prompt is read into a cache before.
Shapes: H query heads, Q queries of a reply, C keys.

Causal check: the last turn is answered anew while its user message and its reply cannot attend to the
instruction. Earlier turns have read it as before. As a control, as many random other tokens are hidden.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from transformers import DynamicCache, GenerationConfig

from eval.records.samples import Sample
from gatt.data.dialogue import Dialogue
from gatt.data.views import Placement, prompt_of_turn, training_view
from gatt.errors import DataError, TemplateError
from gatt.generation.base import Generation
from gatt.generation.local.engine import TransformersEngine
from gatt.models.chat_template import Tokenizer, render, shared_length
from gatt.models.encoded_view import encode_reply, encode_view, num_closing_tokens

INTACT: Final = "nothing"
INSTRUCTION: Final = "instruction"
OTHERS: Final = "as many other tokens"


@dataclass(frozen=True, slots=True)
class Target:
    """The tokens of a generated reply, behind the first `fork` tokens of the dialogue."""

    sample: Sample
    fork: int
    input_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """A dialogue as a model reads it (the trunk), and the replies that were generated within it."""

    trunk: tuple[int, ...]
    instruction: tuple[int, int]
    """`[start, end)` of the instruction's tokens."""
    last_prompt: int
    """First token of the last target's user message, with what the template puts before it."""
    targets: tuple[Target, ...]


def lay_out(
    tokenizer: Tokenizer,
    dialogue: Dialogue,
    instruction: str,
    replies: Sequence[Sample],
    *,
    placement: Placement = "system",
    max_tokens: int | None = None,
) -> Layout:
    """Return the layout of a dialogue with the instruction in turn 1.

    `replies` stand at rising turns; blank ones, and those behind `max_tokens`, are left out.

    Raises:
        DataError: no reply is left; or text that does not keep prefixes, see `encode_view`.
        TemplateError: a template that changes the instruction's text.
    """
    view = training_view(dialogue, instruction, placement)
    last = max((sample.turn for sample in replies), default=1)
    encoded = encode_view(tokenizer, Dialogue(view.id, prompt_of_turn(view, last)))
    targets = []
    for sample in (s for s in replies if s.reply.strip()):
        fork = encoded.prompt_lengths[sample.turn - 1]
        ids = encode_reply(tokenizer, view, sample.turn, encoded.input_ids[:fork], sample.reply)
        if sample.finish != "stop":
            # The end-of-turn tokens are the model's own only where it ended the reply itself.
            ids = ids[: len(ids) - num_closing_tokens(tokenizer, ids)]
        if max_tokens is None or fork + len(ids) <= max_tokens:
            targets.append(Target(sample, fork, ids))
    if not targets:
        raise DataError(f"{dialogue.id}: no reply with text within the model's context")
    final = targets[-1]
    turn = final.sample.turn
    return Layout(
        trunk=encoded.input_ids[: final.fork],
        instruction=instruction_span(tokenizer, dialogue, instruction, placement),
        last_prompt=encoded.reply_spans[turn - 2][1] if turn > 1 else 0,
        targets=tuple(targets),
    )


def instruction_span(
    tokenizer: Tokenizer, dialogue: Dialogue, instruction: str, placement: Placement
) -> tuple[int, int]:
    """Return `[start, end)` of the tokens of turn 1's prompt that hold the instruction's text.

    The place comes from the template: rendered with another instruction, the prompt
    differs there and nowhere else.
    """
    bare = instruction.strip()
    other = ("Q" if bare[0] != "Q" else "Z") + ("Q" if bare[-1] != "Q" else "Z")
    text, changed = (
        render(tokenizer, prompt_of_turn(training_view(dialogue, told, placement), 1), True)
        for told in (instruction, other)
    )
    start = shared_length(text, changed)
    end = len(text) - shared_length(text[start:][::-1], changed[start:][::-1])
    if text[start:end].strip() != bare:
        raise TemplateError(
            "the chat template changes the text of the instruction or repeats it, so that its tokens "
            "cannot be told: expected it once, as it stands, or use placement: first_user"
        )
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    places = enumerate(encoded["offset_mapping"])
    held = [index for index, (first, last) in places if first < end and last > start]
    return held[0], held[-1] + 1


@dataclass(frozen=True)
class TurnAttention:
    """Where the tokens of one reply looked when they were generated."""

    sample: Sample
    mass: float
    """Share of attention on the instruction's tokens, mean over layers, heads and the reply's tokens."""


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
        masses = [
            float(layer_1HQC[0, ..., told].sum(-1, dtype=torch.float64).mean())
            for layer_1HQC in output.attentions
        ]
        found.append(TurnAttention(target.sample, float(np.mean(masses))))
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
