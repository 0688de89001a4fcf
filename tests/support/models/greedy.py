"""Greedy replies of the engine against those of plain `generate`, one unpadded prompt at a time."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any
from unittest.mock import patch

import torch

from gatt.data.dialogue import Message
from gatt.generation.base import GenerationRequest, SamplingParams
from gatt.generation.local.batching import RunningRequest
from gatt.generation.local.engine import TransformersEngine
from gatt.models.chat_template import encode
from tests.support.models.engine_prompts import generated

WORDS = [
    "the", "sea", "is", "long", "and", "quiet", "here,", "where", "shall", "we", "go", "today?",
]  # fmt: skip


@dataclass(frozen=True)
class Agreement:
    """How far replies agree."""

    num_tokens: int
    num_equal: int
    """Tokens before the first that differs, of all replies."""
    largest_gap: float
    """Where two part: by how much the model prefers one token to the other; 0 if none part."""
    num_lengths: int
    """Different lengths of replies: with one, nothing was seen to stop."""
    num_replies: int
    """Different replies: with few, nothing was seen to depend on the prompt."""

    @property
    def share(self) -> float:
        return self.num_equal / self.num_tokens


def random_requests(num_prompts: int) -> list[GenerationRequest]:
    """Return the prompts of all turns of random dialogues of up to 12 turns, asides among them."""
    rng = random.Random(0)
    requests: list[GenerationRequest] = []
    while len(requests) < num_prompts:
        name = f"d{len(requests)}"
        messages = [Message("system", " ".join(rng.choices(WORDS, k=rng.randint(1, 30))))]
        for turn in range(1, rng.randint(1, 12) + 1):
            messages.append(Message("user", " ".join(rng.choices(WORDS, k=rng.randint(1, 12)))))
            requests.append(GenerationRequest(f"{name}/{turn}", tuple(messages), name))
            if rng.random() < 0.3:
                aside = (*messages[:-1], Message("user", "What is your hobby?"))
                requests.append(
                    GenerationRequest(f"{name}/{turn}/aside", aside, name, is_aside=True)
                )
            messages.append(Message("assistant", " ".join(rng.choices(WORDS, k=rng.randint(1, 9)))))
    return requests[:num_prompts]


def agreement(
    engine: TransformersEngine,
    model: Any,
    requests: Sequence[GenerationRequest],
    new_tokens: int,
    adapter: str | None = None,
) -> Agreement:
    """Return how far the engine's replies agree with those of `model.generate`.

    The tokens that the engine drew are read from it; `model` is what it holds, with that adapter active.
    """
    drawn: dict[str, list[int]] = {}
    answered = engine._answered

    def record(*args: Any) -> Iterator[RunningRequest]:
        for row in answered(*args):
            drawn[row.request.key] = list(row.output)
            yield row

    params = SamplingParams(max_new_tokens=new_tokens, temperature=0.0)
    with patch.object(engine, "_answered", record):
        engine.generate(requests, params, adapter)
    num_tokens = num_equal = 0
    gap = 0.0
    for request in requests:
        prompt = list(encode(engine.tokenizer, request.messages, add_generation_prompt=True))
        found, expected = drawn[request.key], generated(engine, model, prompt, new_tokens)
        pairs = zip(expected, found, strict=False)
        same = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
        num_tokens += len(expected)
        num_equal += same
        if same < len(expected):
            read = torch.tensor([prompt + expected[:same]], device=model.device)
            with torch.inference_mode():
                logits = model(read).logits[0, -1]
            other = found[same] if same < len(found) else expected[same]
            gap = max(gap, float(logits[expected[same]] - logits[other]))
    return Agreement(
        num_tokens,
        num_equal,
        gap,
        len({len(ids) for ids in drawn.values()}),
        len({tuple(ids) for ids in drawn.values()}),
    )
