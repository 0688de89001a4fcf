"""Prompts of several groups for the shared-prefix engine, and what `model.generate` says to each alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import GenerationConfig

from gatt.data.dialogue import Message
from gatt.generation.base import Generation, GenerationRequest, SamplingParams
from gatt.generation.local.engine import TransformersEngine
from gatt.models.chat_template import encode, render
from gatt.models.load import LoadedModel
from tests.support.models.tiny import tiny_llama

GREEDY = SamplingParams(max_new_tokens=14, temperature=0.0)
DRAWN = SamplingParams(max_new_tokens=14, temperature=0.8, top_p=0.9, seed=5)

SHORT = "the sea"
LONG = "Tell me more about the long quiet walk by the river. "


def make_loaded(tokenizer: Any, **changes: Any) -> LoadedModel:
    # Large weights: attention is sharp, so a wrong key, mask or position changes the text.
    return LoadedModel(tiny_llama(tokenizer, initializer_range=0.3, **changes), tokenizer, "tiny")


def make_engine(loaded: LoadedModel, **limits: int) -> TransformersEngine:
    engine = TransformersEngine(loaded, **limits)
    # A tenth of all tokens ends a reply, so that rows stop at different steps.
    engine.stop_ids = engine.stop_ids | frozenset(range(0, len(loaded.tokenizer), 10))
    return engine


def conversation(name: str, num_turns: int) -> tuple[Message, ...]:
    messages = [Message("system", f"{name} likes {LONG * (len(name) % 3)}{SHORT}")]
    for turn in range(1, num_turns + 1):
        messages.append(Message("user", f"{turn}: {SHORT * (turn % 3 + 1)} {name}?"))
        if turn < num_turns:
            messages.append(Message("assistant", f"{LONG * (turn % 2)}{name} {turn}"))
    return tuple(messages)


def grid(
    groups: Sequence[str] = ("Ann", "Bobb", "Clara"), turns: Sequence[int] = (1, 3, 2)
) -> list[GenerationRequest]:
    """Return prompts of several groups: every turn, and an aside that forks off early."""
    requests = []
    for name in groups:
        for turn in turns:
            messages = conversation(name, turn)
            requests.append(GenerationRequest(f"{name}/{turn}", messages, group=name))
            aside = (*messages[:-1], Message("user", f"What is your favorite hobby, {name}?"))
            requests.append(GenerationRequest(f"{name}/{turn}/aside", aside, group=name))
    return requests


def generated(engine: TransformersEngine, model: Any, ids: Sequence[int], most: int) -> list[int]:
    """Return the token ids that `model.generate` says greedily behind a prompt that stands alone."""
    prompt = torch.tensor([ids], device=model.device)
    config = GenerationConfig(
        do_sample=False, max_new_tokens=most, eos_token_id=sorted(engine.stop_ids),
        pad_token_id=engine.tokenizer.pad_token_id,
    )  # fmt: skip
    with torch.inference_mode():
        out = model.generate(
            prompt, attention_mask=torch.ones_like(prompt), generation_config=config
        )
    return out[0, len(ids) :].tolist()


def reference(
    engine: TransformersEngine, model: Any, request: GenerationRequest, params: SamplingParams
) -> Generation:
    """Return what `model.generate` says to this prompt alone."""
    text = render(engine.tokenizer, request.messages, add_generation_prompt=True)
    ids = engine.tokenizer(text + request.prefill, add_special_tokens=False)["input_ids"]
    given = ids[len(encode(engine.tokenizer, request.messages, True)) :]
    new = generated(engine, model, ids, params.max_new_tokens)
    is_stopped = new[-1] in engine.stop_ids
    said = (given + new)[: -1 if is_stopped else None]
    decoded = engine.tokenizer.decode(said, skip_special_tokens=True).strip()
    return Generation(decoded, "stop" if is_stopped else "length", len(new))
