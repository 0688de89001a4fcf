"""The protocol of all engines: teachers, roll-outs and judges use it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal, Protocol

from gatt.data.dialogue import Message
from gatt.errors import ConfigError

FinishReason = Literal["stop", "length", "context_limit", "content_filter", "other"]

_MOST_NEW_TOKENS: Final = 1_000_000
"""All random numbers of a reply are drawn before its first token."""


@dataclass(frozen=True, kw_only=True)
class SamplingConfig:
    """How replies are sampled, without the seed, which each stage sets.

    Raises:
        ConfigError: a value out of its range.
    """

    max_new_tokens: int = 32
    """Most tokens of one reply, end-of-turn token included."""
    temperature: float = 0.8
    """0 is greedy."""
    top_p: float = 0.95
    """Share of the probability mass to sample from, in (0, 1]."""

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
        """Return the parameters for an engine."""
        return SamplingParams(**asdict(self), seed=seed)


@dataclass(frozen=True, kw_only=True)
class SamplingParams(SamplingConfig):
    """How replies are sampled, with the seed.

    Raises:
        ConfigError: a value out of its range.
    """

    seed: int = 0
    """Seed of every random stream; seed and key of a request decide its random numbers."""


@dataclass(frozen=True)
class GenerationRequest:
    """One prompt to answer.

    Requests with the same `group` come from one dialogue: an engine may encode their common
    prefix once.
    """

    key: str
    """Name of the random stream, such as `dialogue/turn/attempt`; unique in a call."""
    messages: tuple[Message, ...]
    """The conversation so far; ends with a user message."""
    group: str = ""
    prefill: str = ""
    """Given beginning of the reply; the reply's text starts with it, after reasoning is removed."""
    is_aside: bool = False
    """Off the record, such as a probe: no later prompt contains it."""


@dataclass(frozen=True)
class Generation:
    """One reply. It is whole, and can be a target, only if `finish` is `stop`.

    `length`: cut by `max_new_tokens`. `context_limit`: cut by the end of the context; the text may be
    empty. `content_filter`: withheld by a server. `other`: the server ended it with a word of its own. The
    text has no reasoning, and `num_tokens` counts the reasoning too.
    """

    text: str
    finish: FinishReason
    num_tokens: int
    server_end: str = ""
    """The server's word, such as `guardrail_intervened`, where `finish` is `other`; else empty."""


class Engine(Protocol):
    """Answers prompts."""

    def generate(
        self,
        requests: Sequence[GenerationRequest],
        params: SamplingParams,
        adapter: str | None = None,
    ) -> list[Generation]:
        """Return one reply per request, in order.

        Keys of requests are unique. `adapter` is the name of a loaded one; None is the base model.

        Raises:
            GenerationError: no reply could be had.
            ModelError: no such adapter.
        """
        ...


def can_prefill(engine: Engine) -> bool:
    """Whether an engine accepts a prefill; true unless its `can_prefill` is false."""
    return bool(getattr(engine, "can_prefill", True))


def forget(engine: Engine) -> None:
    """Let an engine drop the prefixes of earlier calls, if it keeps any.

    Later results then do not depend on earlier calls: a batch that is repeated after an interruption
    gives the same bits.
    """
    drop = getattr(engine, "forget", None)
    if drop is not None:
        drop()


def stream_seed(seed: int, key: str) -> int:
    """Return the 128-bit seed of a request's random stream: a hash, the same on every machine."""
    digest = hashlib.sha256(f"{seed}\x1f{key}".encode()).digest()
    return int.from_bytes(digest[:16], "big")
