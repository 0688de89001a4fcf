"""Greedy replies of the engine against those of plain `generate`, one unpadded prompt at a time."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import GenerationConfig

from gatt.data.dialogue import Message
from gatt.generation.base import GenerationRequest, SamplingParams
from gatt.generation.local.engine import TransformersEngine
from gatt.models.chat_template import encode

WORDS = [
    "the",
    "sea",
    "is",
    "long",
    "and",
    "quiet",
    "here,",
    "where",
    "shall",
    "we",
    "go",
    "today?",
]


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


def random_requests(num_prompts: int, seed: int = 0) -> list[GenerationRequest]:
    """Return the prompts of all turns of random dialogues of up to 12 turns, asides among them."""
    rng = random.Random(seed)
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

    Args:
        engine: under test; the tokens it drew are read from it.
        model: what the engine holds, in the state of that adapter.
        requests: prompts.
        new_tokens: most of a reply.
        adapter: of the engine.
    """
    drawn: dict[str, list[int]] = {}
    finish = engine._finish

    def record(row: Any) -> Any:
        drawn[row.request.key] = list(row.output)
        return finish(row)

    engine._finish = record  # type: ignore[method-assign]
    engine.generate(requests, SamplingParams(max_new_tokens=new_tokens, temperature=0.0), adapter)
    engine._finish = finish  # type: ignore[method-assign]
    num_tokens = num_equal = 0
    gap = 0.0
    config = GenerationConfig(
        do_sample=False, max_new_tokens=new_tokens, eos_token_id=sorted(engine.stop_ids),
        pad_token_id=engine.tokenizer.pad_token_id,
    )  # fmt: skip
    for request in requests:
        prompt = list(encode(engine.tokenizer, request.messages, add_generation_prompt=True))
        ids = torch.tensor([prompt], device=model.device)
        with torch.inference_mode():
            out = model.generate(
                ids, attention_mask=torch.ones_like(ids), generation_config=config
            )[0].tolist()
        expected, found = out[len(prompt) :], drawn[request.key]
        num_tokens += len(expected)
        same = next(
            (i for i, (x, y) in enumerate(zip(expected, found, strict=False)) if x != y),
            min(len(expected), len(found)),
        )
        num_equal += same
        if same < len(expected):
            with torch.inference_mode():
                read = torch.tensor([out[: len(prompt) + same]], device=model.device)
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
