"""Ways to answer every turn of a dialogue, and to roll dialogues out: same model, same prompts.

Every reply has the same number of tokens for all contenders: none may stop earlier.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from benchmark.contenders import WORDS
from transformers import GenerationConfig

from gatt.data.dialogue import Message
from gatt.generation.base import GenerationRequest, SamplingParams
from gatt.generation.local.engine import TransformersEngine
from gatt.models.chat_template import encode
from gatt.models.load import LoadedModel


@dataclass(frozen=True, kw_only=True)
class SamplingSetting:
    """What all contenders share."""

    turns: int
    new_tokens: int
    """Tokens of every reply."""
    user_tokens: int = 9
    """About so many tokens of a user message; the model's own template adds a few."""
    reply_tokens: int = 27
    """Likewise of the replies that stand in the history."""


def conversation(name: str, setting: SamplingSetting) -> tuple[Message, ...]:
    """Return a dialogue of random short words that ends with a user message."""
    rng = random.Random(f"0/{name}")

    def text(num_tokens: int) -> str:
        return " ".join(rng.choice(WORDS) for _ in range(num_tokens))

    messages = [Message("system", f"You enjoy tennis. {name}")]
    for turn in range(1, setting.turns + 1):
        messages.append(Message("user", text(setting.user_tokens)))
        if turn < setting.turns:
            messages.append(Message("assistant", text(setting.reply_tokens)))
    return tuple(messages)


def prompts_of(messages: Sequence[Message]) -> list[tuple[Message, ...]]:
    """Return the prompt of every turn."""
    return [tuple(messages[: i + 1]) for i, m in enumerate(messages) if m.role == "user"]


def all_turns(tokenizer: Any, setting: SamplingSetting) -> list[list[int]]:
    """Return the token ids of the prompts of one dialogue."""
    return [
        list(encode(tokenizer, p, add_generation_prompt=True))
        for p in prompts_of(conversation("d", setting))
    ]


def num_distinct(prompts: Sequence[Sequence[int]]) -> int:
    """Return how many nodes the tree of the prompts has: tokens that must be encoded at least once."""
    return len({tuple(p[: i + 1]) for p in prompts for i in range(len(p))})


def endless_engine(loaded: LoadedModel, max_tokens: int = 24_000) -> TransformersEngine:
    """Return an engine whose replies never end early.

    It is made once, as the model is loaded once: making it tries the model on some tokens.
    """
    engine = TransformersEngine(loaded, max_cache_tokens=max_tokens, max_kept_tokens=max_tokens)
    engine.stop_ids = frozenset()
    return engine


def by_engine(engine: TransformersEngine, setting: SamplingSetting) -> None:
    """Answer all turns with this project's engine, which is to remember nothing of them."""
    engine.forget()
    requests = [
        GenerationRequest(f"d/{turn}", prompt, "d")
        for turn, prompt in enumerate(prompts_of(conversation("d", setting)), start=1)
    ]
    engine.generate(requests, _greedy(setting))


def by_generate(
    loaded: LoadedModel, prompts: Sequence[Sequence[int]], batch: int, new_tokens: int
) -> list[list[int]]:
    """Answer prompts with padded `generate`, those of like length together; return the new ids."""
    model = loaded.model
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    replies: list[list[int]] = [[] for _ in prompts]
    for start in range(0, len(order), batch):
        part = order[start : start + batch]
        width = max(len(prompts[i]) for i in part)
        ids = torch.zeros(len(part), width, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, i in enumerate(part):
            ids[row, width - len(prompts[i]) :] = torch.tensor(prompts[i])
            mask[row, width - len(prompts[i]) :] = 1
        out = model.generate(
            ids.to(model.device), attention_mask=mask.to(model.device), do_sample=False,
            max_new_tokens=new_tokens, min_new_tokens=new_tokens,
            pad_token_id=loaded.tokenizer.pad_token_id,
        )  # fmt: skip
        for row, i in enumerate(part):
            replies[i] = out[row, width:].tolist()
    return replies


def by_generate_batch(
    loaded: LoadedModel, prompts: Sequence[Sequence[int]], new_tokens: int
) -> None:
    """Answer prompts with the continuous batching of transformers, prefixes shared."""
    config = GenerationConfig(
        max_new_tokens=new_tokens, do_sample=False, eos_token_id=-1,
        pad_token_id=loaded.tokenizer.pad_token_id,
    )  # fmt: skip
    replies = loaded.model.generate_batch([list(p) for p in prompts], generation_config=config)
    lengths = {len(r.generated_tokens) for r in replies.values()}
    if lengths != {new_tokens}:
        raise RuntimeError(f"generate_batch gave replies of {lengths} tokens, not {new_tokens}")


def bound(loaded: LoadedModel, prompts: Sequence[Sequence[int]], new_tokens: int) -> float:
    """Return the seconds of the least that must be done: plain passes, without any history.

    One row of all distinct tokens, then as many steps as a reply has tokens, of
    one token a prompt.
    """
    model = loaded.model
    trunk = torch.ones(1, num_distinct(prompts), dtype=torch.long, device=model.device)
    step = torch.ones(len(prompts), 1, dtype=torch.long, device=model.device)
    with torch.inference_mode():
        return seconds_of(lambda: model(trunk, use_cache=False, logits_to_keep=1)) + seconds_of(
            lambda: [model(step, use_cache=False) for _ in range(new_tokens)]
        )


def roll_out_by_engine(
    engine: TransformersEngine, setting: SamplingSetting, num_dialogues: int
) -> None:
    """Roll dialogues out in lock-step with this project's engine."""
    engine.forget()
    dialogues = [conversation(f"d{i}", setting) for i in range(num_dialogues)]
    said: list[list[Message]] = [[d[0]] for d in dialogues]
    for turn in range(setting.turns):
        for messages, dialogue in zip(said, dialogues, strict=True):
            messages.append(dialogue[1 + 2 * turn])
        requests = [
            GenerationRequest(f"d{i}/{turn}", tuple(messages), f"d{i}")
            for i, messages in enumerate(said)
        ]
        for messages, reply in zip(said, engine.generate(requests, _greedy(setting)), strict=True):
            messages.append(Message("assistant", reply.text or "…"))


def roll_out_by_generate(
    loaded: LoadedModel, setting: SamplingSetting, num_dialogues: int, batch: int
) -> None:
    """Roll dialogues out with padded `generate`, which reads each whole history at every turn."""
    dialogues = [conversation(f"d{i}", setting) for i in range(num_dialogues)]
    said: list[list[Message]] = [[d[0]] for d in dialogues]
    for turn in range(setting.turns):
        for messages, dialogue in zip(said, dialogues, strict=True):
            messages.append(dialogue[1 + 2 * turn])
        prompts = [encode(loaded.tokenizer, m, add_generation_prompt=True) for m in said]
        replies = by_generate(loaded, prompts, batch, setting.new_tokens)
        for messages, ids in zip(said, replies, strict=True):
            text = loaded.tokenizer.decode(ids, skip_special_tokens=True).strip()
            messages.append(Message("assistant", text or "…"))


def seconds_of(work: Callable[[], Any]) -> float:
    """Return the seconds that something takes."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def _greedy(setting: SamplingSetting) -> SamplingParams:
    return SamplingParams(max_new_tokens=setting.new_tokens, temperature=0.0)
