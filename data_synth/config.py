"""Configuration of `gatt synth`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from data_synth.quality import QualityConfig
from gatt.data.catalog.choice import InstructionConfig
from gatt.data.catalog.switch_draw import SwitchConfig
from gatt.data.hash_split import SplitName
from gatt.errors import ConfigError
from gatt.generation.base import SamplingConfig
from gatt.generation.cluster.config import RayConfig
from gatt.generation.config import EngineConfig
from gatt.sources.config import SourceConfig

Mode = Literal["rewrite", "sample"]
_MOST_SAMPLES: Final = 10_000_000
"""The whole plan is held in memory."""
_MOST_ATTEMPTS: Final = 1_000
"""Of one reply: a teacher that fails so often will not follow."""


@dataclass(frozen=True, kw_only=True)
class TeacherConfig:
    """How replies are sampled, rejected and, as the last resort, composed.

    Raises:
        ConfigError: a value out of its range.
    """

    engine: EngineConfig = field(default_factory=EngineConfig)
    """The teacher: by default the model that will be trained (context distillation)."""
    adapter: str | None = None
    """Folder of the teacher's adapter; null for none."""
    sampling: SamplingConfig = field(
        default_factory=lambda: SamplingConfig(max_new_tokens=40, temperature=0.7, top_p=0.9)
    )
    """How replies are sampled."""
    brief: str | None = "Answer in one short sentence."
    """Text that the teacher reads with every message, and the student never; null for none. A talkative
    teacher needs it: replies that the length limit cuts are no targets."""
    mode: Mode | None = None
    """`sample`: targets are sampled, as published; right if the dialogues are other people's. `rewrite`: the
    target is the dialogue's own reply with its facts, unchanged, brought into the form by program, or rewritten
    by the teacher (who reads instruction, message and reply). null: `rewrite` for your own dialogues (jsonl,
    hub, faq), else `sample`."""
    leave_share: float = 0.8
    """Share of the own replies that stay unchanged, of those that keep the instruction already. The others are
    rewritten if a rewritten reply is accepted."""
    context_turns: int | None = 3
    """Number of latest exchanges that the teacher reads; null: all of them, as published. If the user asks for
    something told earlier, it reads all of them."""
    attempts: int = 2
    """Most replies sampled for each turn from the sampling view. The first one that passes filters and
    verifiers is the target, and no further one is sampled: under rules that say pass or fail, this is the best
    of them."""
    hint_attempts: int = 2
    """Further replies for which the teacher first reads the entry's examples; for the last one also its hint.
    If the entry has no examples, all have the hint. In the mode `rewrite` all have the hint and the replies of
    the first two examples."""
    prefill_attempts: int = 1
    """Further replies with a given beginning, for entries that have `prefills`."""
    compose: bool = True
    """Whether to make a target by program if every sampled reply was rejected: an utterance of the entry is
    added, or the reply (else the dialogue's own) is brought into the entry's form."""
    quality: QualityConfig = field(default_factory=QualityConfig)
    """Which replies are no targets, whatever the verifiers say."""

    def __post_init__(self) -> None:
        for name, least in (("attempts", 1), ("hint_attempts", 0), ("prefill_attempts", 0)):
            if not least <= getattr(self, name) <= _MOST_ATTEMPTS:
                raise ConfigError(
                    f"{name} is {getattr(self, name)}: expected {least} to {_MOST_ATTEMPTS}"
                )
        if not 0 <= self.leave_share <= 1:
            raise ConfigError(f"leave_share is {self.leave_share}: expected a share from 0 to 1")
        if self.context_turns is not None and self.context_turns < 0:
            raise ConfigError(f"context_turns is {self.context_turns}: expected 0 or more, or null")


@dataclass(frozen=True, kw_only=True)
class SynthConfig:
    """A data set of GAtt samples.

    Raises:
        ConfigError: a value out of its range.
    """

    output_dir: Path
    """Folder of `samples.jsonl`, its card and its resolved configuration."""
    num_samples: int = 200
    """Samples to make: each is a dialogue with an instruction (or none)."""
    plain_fraction: float = 0.15
    """Share of samples without an instruction; they preserve ordinary answers."""
    seed: int = 0
    """Fixes the instruction of each dialogue and every reply of the teacher; `source.seed` fixes the order of
    dialogues."""
    part: SplitName | None = "train"
    """Part of the source's dialogues; evaluation takes another. null: all."""
    source: SourceConfig = field(default_factory=SourceConfig)
    """Where the dialogues come from."""
    instructions: InstructionConfig = field(default_factory=InstructionConfig)
    """Which instructions the dialogues get."""
    switch: SwitchConfig | None = None
    """Changes of the instruction within a dialogue; null for none."""
    teacher: TeacherConfig = field(default_factory=TeacherConfig)
    """The model that replies, and how."""
    formula_limit: float | None = 0.3
    """Largest share of the targets under an instruction that may begin alike, have a sentence in common, or be
    composed with one of a few added sentences. If more do, the command stops: they would teach these words in
    place of the instruction. null never stops. It may be changed when a run continues."""
    batch_samples: int | None = None
    """Samples that are made together, by one worker; null takes an eighth of `num_samples`, 12 at most.
    Replies for an unfinished batch are stored in `drafts.jsonl`, except on a cluster. The value must stay the
    same when a run continues, since the last bits of a local model depend on it."""
    ray: RayConfig | None = None
    """null: this process alone. Otherwise workers of Ray make the batches, and this process writes them.
    `--workers N` starts N on this machine. A run may continue with or without workers."""

    @property
    def batch_size(self) -> int:
        """Samples of a batch."""
        return self.batch_samples or min(12, max(1, self.num_samples // 8))

    @property
    def resolved_teacher(self) -> TeacherConfig:
        """The teacher with the mode that the source asks for, where none is set."""
        mode: Mode = "rewrite" if self.source.has_own_replies else "sample"
        return replace(self.teacher, mode=self.teacher.mode or mode)

    def __post_init__(self) -> None:
        if not 1 <= self.num_samples <= _MOST_SAMPLES:
            raise ConfigError(f"num_samples is {self.num_samples}: expected 1 to {_MOST_SAMPLES}")
        if not 0 <= self.plain_fraction <= 1:
            raise ConfigError(
                f"plain_fraction is {self.plain_fraction}: expected a share from 0 to 1"
            )
        if self.formula_limit is not None and not 0 < self.formula_limit <= 1:
            raise ConfigError(
                f"formula_limit is {self.formula_limit}: expected a share in (0, 1], or null"
            )
        if self.batch_samples is not None and self.batch_samples < 1:
            raise ConfigError(f"batch_samples is {self.batch_samples}: expected at least 1")
