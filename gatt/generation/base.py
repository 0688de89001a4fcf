"""The one protocol of teachers, roll-outs and judges."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from gatt.data.dialogue import Message
from gatt.errors import ConfigError

FinishReason = Literal["stop", "length", "context_limit", "content_filter", "unanswered"]


_MOST_NEW_TOKENS: Final = 1_000_000
"""The random numbers of a reply are drawn before its first token."""


@dataclass(frozen=True, kw_only=True)
class SamplingConfig:
    """How replies are drawn, as a configuration says it: the seed is the stage's own.

    Raises:
        ConfigError: a value out of its range.
    """

    max_new_tokens: int = 32
    """Most tokens of one reply, end-of-turn token included."""
    temperature: float = 0.8
    """0 is greedy."""
    top_p: float = 0.95
    """Share of probability mass that is drawn from, in (0, 1]."""

    def __post_init__(self) -> None:
        if not 1 <= self.max_new_tokens <= _MOST_NEW_TOKENS:
            raise ConfigError(
                f"max_new_tokens is {self.max_new_tokens}: expected 1 to {_MOST_NEW_TOKENS}"
            )
        if not 0 <= self.temperature < math.inf:
            raise ConfigError(f"temperature is {self.temperature}: expected 0 (greedy) or more")
        if not 0 < self.top_p <= 1:
            raise ConfigError(f"top_p is {self.top_p}: expected a share in (0, 1]")

    def params(self, seed: int) -> SamplingParams:
        """Return what an engine is told."""
        return SamplingParams(
            max_new_tokens=self.max_new_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            seed=seed,
        )


@dataclass(frozen=True, kw_only=True)
class SamplingParams(SamplingConfig):
    """How replies are drawn, with the seed.

    Raises:
        ConfigError: a value out of its range.
    """

    seed: int = 0
    """Seed of every random stream; with a request's key it fixes the draw."""


@dataclass(frozen=True)
class GenerationRequest:
    """One prompt to answer.

    Requests with the same `group` come from one dialogue: an engine may encode
    what their prompts share once.
    """

    key: str
    """Names the random stream, e.g. `dialogue/turn/attempt`; unique in a call."""
    messages: tuple[Message, ...]
    """The conversation so far; ends with a user message."""
    group: str = ""
    prefill: str = ""
    """Beginning of the reply, given to the model; the reply's text starts with it, but for reasoning."""
    is_aside: bool = False
    """Off the record: no later prompt goes on from it, as from a probe."""


@dataclass(frozen=True)
class Generation:
    """One reply. Only one whose `finish` is `stop` is whole, and can be a target.

    `length`: cut by `max_new_tokens`; `context_limit`: by the end of the
    context, where the text may be empty; `content_filter`: withheld by a server;
    `unanswered`: given up after many tries, where the server's settings allow it.
    The text is without the reasoning of a model that thinks first; `num_tokens` counts it.
    """

    text: str
    finish: FinishReason
    num_tokens: int


class Engine(Protocol):
    """Whatever answers prompts."""

    def generate(
        self,
        requests: Sequence[GenerationRequest],
        params: SamplingParams,
        adapter: str | None = None,
    ) -> list[Generation]:
        """Return one reply per request, in order.

        Args:
            requests: prompts; keys are unique.
            params: how to draw.
            adapter: name of a loaded adapter; None is the base model.

        Raises:
            GenerationError: no reply could be had.
            ModelError: no such adapter.
        """
        ...


def can_prefill(engine: Engine) -> bool:
    """Whether an engine goes on with the beginning of a reply; one that does not say so does."""
    return bool(getattr(engine, "can_prefill", True))


def context_tokens(engine: Engine) -> int | None:
    """Return the most tokens of prompt and reply together, where the engine knows."""
    found = getattr(engine, "context_tokens", None)
    return found if isinstance(found, int) and found < 2**31 else None


def forget(engine: Engine) -> None:
    """Let an engine drop what it keeps of earlier calls, if it keeps anything.

    What is computed after it does not hang on what came before: a batch that is
    redone after an interruption repeats to the last bit.
    """
    drop = getattr(engine, "forget", None)
    if drop is not None:
        drop()


def stream_seed(seed: int, key: str) -> int:
    """Return the 128-bit seed of a request's random stream: a hash, equal everywhere."""
    digest = hashlib.sha256(f"{seed}\x1f{key}".encode()).digest()
    return int.from_bytes(digest[:16], "big")
