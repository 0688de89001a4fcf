"""Configuration of the judge model."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from eval.records.samples import Kind, Sample
from gatt.errors import ConfigError
from gatt.generation.base import SamplingParams
from gatt.generation.config import EngineConfig

JudgeTask = Literal["adherence", "completion"]


@dataclass(frozen=True, kw_only=True)
class JudgeConfig:
    """Which model judges, what it is asked, and about which replies."""

    engine: EngineConfig = field(default_factory=EngineConfig)
    """The judge, local or on servers. It should be a stronger model than the judged ones."""
    tasks: tuple[JudgeTask, ...] = ("adherence",)
    """`adherence`: does the reply follow its instruction? `completion`: does it do what the user's message asks
    for?"""
    max_new_tokens: int = 256
    """Most tokens of one answer; a judge that reasons first needs more. A cut answer gives no verdict."""
    arms: tuple[str, ...] = ()
    """Arms whose replies are judged; empty for all."""
    turns: tuple[int, ...] = ()
    """Turns whose replies are judged; empty for all."""
    kinds: tuple[Kind, ...] = ("turn",)
    """Which replies are judged: to a `turn`, to a `probe` or both. `completion` is asked about turns only."""
    batch_size: int = 32
    """Replies judged together. After an interruption, one such batch is repeated."""
    temperature: float = 0.0
    """0 is greedy. Some servers refuse 0 and need another value."""
    seed: int = 0
    """Fixes the marks around the texts in the judge's prompt, and its answers if `temperature` is not 0."""
    shows_conversation: bool = False
    """Whether the judge also reads the conversation before the reply, as the arm read it. Instructions that
    depend on it need this ("ask for the name first"). It costs tokens, and may confuse a weak judge."""
    may_be_untriggered: bool = False
    """Whether the judge may answer that the condition of an instruction did not occur ("if asked for a
    discount, …"). Such a reply is undecided, and counted separately."""
    prompt: Path | None = None
    """A YAML file with rules and questions of your own. It has keys of `eval/scoring/judge/rubric.yaml`;
    missing ones are taken from there. Null: the whole of that file."""
    is_prefilled: bool = False
    """Whether the judge's answer is prefilled with the beginning of the JSON object. Some models write no
    object without it. A model that reasons first cannot reason with it."""

    def __post_init__(self) -> None:
        for name in ("tasks", "kinds", "arms", "turns"):
            values = getattr(self, name)
            if not values and name in ("tasks", "kinds"):
                raise ConfigError(f"{name} is empty: expected at least one")
            if len(set(values)) < len(values):
                raise ConfigError(f"{name} is {list(values)}: expected each once")
        if self.turns and min(self.turns) < 1:
            raise ConfigError(f"turns is {list(self.turns)}: expected turns from 1 on")
        for name in ("max_new_tokens", "batch_size"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}: expected at least 1")
        self.params()
        server = self.engine.server
        if self.is_prefilled and server is not None and not server.can_prefill:
            raise ConfigError(
                "is_prefilled is true, but engine.server.can_prefill is false: expected both, if the "
                "server continues the beginning of a reply (vLLM, SGLang)"
            )

    def is_asked(self, sample: Sample) -> bool:
        """Whether the judge is asked about a sample.

        It has text that no server ended with a word of its own, and its arm, turn and kind are chosen.
        """
        return (
            bool(sample.reply.strip())
            and sample.finish != "other"
            and (not self.arms or sample.arm in self.arms)
            and self.asks(sample.kind, sample.turn)
        )

    def asks(self, kind: Kind, turn: int) -> bool:
        """Whether replies of a kind at a turn are chosen."""
        return kind in self.kinds and (not self.turns or turn in self.turns)

    def params(self) -> SamplingParams:
        """Return the sampling parameters."""
        return SamplingParams(
            max_new_tokens=self.max_new_tokens,
            temperature=self.temperature,
            top_p=1.0,
            seed=self.seed,
        )

    def decisive(self) -> dict[str, Any]:
        """Return the settings that a verdict depends on: not the choice of replies, nor the batches."""
        # Earlier versions had none of these: their verdicts stay.
        chosen = {
            name: getattr(self, name)
            for name in ("temperature", "shows_conversation", "may_be_untriggered")
            if getattr(self, name)
        }
        return {
            **chosen,
            "engine": self.engine.decisive(),
            "max_new_tokens": self.max_new_tokens,
            "seed": self.seed,
            "is_prefilled": self.is_prefilled,
        }
