"""Configuration of `gatt pairs`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from data_synth.quality import QualityConfig
from gatt.data.views import Placement
from gatt.errors import ConfigError
from gatt.generation.base import SamplingConfig
from gatt.generation.config import EngineConfig

ReadHistory = Literal["own", "reference"]
_MOST_REPLIES: Final = 100
"""To one turn: the reply that is looked for does not come."""


@dataclass(frozen=True, kw_only=True)
class PairsConfig:
    """A model's own replies to the turns of samples, as pairs.

    Raises:
        ConfigError: a value out of its range.
    """

    samples: tuple[Path, ...]
    """Files of `gatt synth`, whose dialogues and instructions are used. Samples without an instruction are
    copied unchanged: they preserve ordinary answers."""
    output_dir: Path
    """Folder of `samples.jsonl` and of its counts, `pairs.json`."""
    engine: EngineConfig = field(default_factory=EngineConfig)
    """The base model."""
    adapter: Path | None = None
    """Folder of the adapter that replies; null: the base model itself."""
    replies: int = 4
    """Replies sampled for each turn, at least 2."""
    histories: tuple[ReadHistory, ...] = ("own", "reference")
    """Which earlier replies the model reads; each history gives a sample. `own`: the model's, the first reply
    of each turn; `reference`: those of the dialogue (people's history)."""
    sampling: SamplingConfig = field(
        default_factory=lambda: SamplingConfig(max_new_tokens=40, temperature=0.9, top_p=0.95)
    )
    """How replies are sampled. With temperature 0 all replies to a turn would be the same, so it is refused."""
    placement: Placement = "system"
    """Where the instruction stands; take that of the adapter's training."""
    quality: QualityConfig = field(default_factory=QualityConfig)
    """Which replies fail, whatever the verifiers say."""
    num_samples: int | None = None
    """Number of samples that are used, drawn from `seed`; null: all."""
    max_turns: int | None = None
    """Turns of each dialogue, from the first; null: all."""
    seed: int = 0
    """Fixes which samples are used, and every reply."""
    batch_samples: int = 12
    """Dialogues that are answered together. After an interruption the whole batch is made again."""

    def __post_init__(self) -> None:
        if not self.samples:
            raise ConfigError("samples is empty: expected at least one file of `gatt synth`")
        if not 2 <= self.replies <= _MOST_REPLIES:
            raise ConfigError(f"replies is {self.replies}: expected 2 to {_MOST_REPLIES}")
        if not self.histories or len(set(self.histories)) < len(self.histories):
            raise ConfigError(
                f"histories is {list(self.histories)}: expected own, reference or both, each once"
            )
        if self.sampling.temperature == 0:
            raise ConfigError("sampling.temperature is 0: expected more, or all draws are alike")
        for name in ("num_samples", "max_turns", "batch_samples"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} is {value}: expected at least 1")
