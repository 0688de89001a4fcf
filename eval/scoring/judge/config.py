"""Configuration of the judge model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from eval.records.samples import Kind
from gatt.errors import ConfigError
from gatt.generation.base import SamplingParams
from gatt.generation.config import EngineConfig

Task = Literal["adherence", "completion"]


@dataclass(frozen=True, kw_only=True)
class JudgeConfig:
    """Which model judges, what it is asked, and about which replies.

    Raises:
        ConfigError: a value out of its range.
    """

    engine: EngineConfig = field(default_factory=EngineConfig)
    """The judge, local or on servers; it should be a stronger model than those it judges."""
    tasks: tuple[Task, ...] = ("adherence",)
    """`adherence`: does the reply follow its instruction; `completion`: does it still do what the
    user's message asks for."""
    max_new_tokens: int = 256
    """Most tokens of one answer; a judge that reasons first needs more. One that is cut is no verdict."""
    arms: tuple[str, ...] = ()
    """Arms whose replies are judged; empty for all."""
    turns: tuple[int, ...] = ()
    """Turns whose replies are judged; empty for all."""
    kinds: tuple[Kind, ...] = ("turn",)
    """`turn`, `probe` or both; completion is asked about turns only."""
    batch_size: int = 32
    """Replies judged together: the unit that is redone after an interruption."""
    seed: int = 0
    """Part of what the codes of the fences are made from; answers are drawn greedily."""
    is_prefilled: bool = False
    """Whether the beginning of the JSON object is given to the judge: some models write none without it;
    those that reason first cannot do so with it."""

    def __post_init__(self) -> None:
        for name in ("tasks", "kinds"):
            if not getattr(self, name):
                raise ConfigError(f"{name} is empty: expected at least one")
        for name in ("tasks", "kinds", "arms", "turns"):
            values = getattr(self, name)
            if len(set(values)) < len(values):
                raise ConfigError(f"{name} is {list(values)}: expected each once")
        if self.turns and min(self.turns) < 1:
            raise ConfigError(f"turns is {list(self.turns)}: expected turns from 1 on")
        for name in ("max_new_tokens", "batch_size"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}: expected at least 1")
        server = self.engine.server
        if self.is_prefilled and server is not None and not server.can_prefill:
            raise ConfigError(
                "is_prefilled is true, and the judge's server is not said to go on with the beginning "
                "of a reply: set engine.server.can_prefill if it does (vLLM, SGLang)"
            )

    def params(self) -> SamplingParams:
        """Return how answers are drawn: greedily."""
        return SamplingParams(
            max_new_tokens=self.max_new_tokens, temperature=0.0, top_p=1.0, seed=self.seed
        )

    def decisive(self) -> dict[str, Any]:
        """Return what decides a verdict: not which replies are judged, nor how many at once."""
        return {
            "engine": self.engine.decisive(),
            "max_new_tokens": self.max_new_tokens,
            "seed": self.seed,
            "is_prefilled": self.is_prefilled,
        }
