"""Perplexity of people's replies in plain dialogues, with and without an adapter.

The model reads a dialogue without any instruction. Each token of all replies but the last counts,
end-of-turn tokens included. Arms read the same tokens, so that the ratio of two is paired; its
interval is a bootstrap over dialogues.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eval.cases.build import refuse_overlap
from eval.records.arms import BASE
from gatt.config.load import config_dict
from gatt.data.hash_split import SplitName
from gatt.errors import ConfigError, DataError
from gatt.generation.config import EngineConfig, local_engine
from gatt.runs.atomic_file import atomic_write_json, refuse_unwritable
from gatt.runs.progress import progress_bar
from gatt.runs.provenance import provenance
from gatt.sources.config import SourceConfig
from gatt.sources.load import load_dialogues

if TYPE_CHECKING:
    from gatt.generation.local.engine import TransformersEngine

NUM_RESAMPLES: Final = 2000
MIN_DIALOGUES: Final = 10
"""A bootstrap over fewer says nothing: no interval then."""


@dataclass(frozen=True, kw_only=True)
class PerplexityConfig:
    """The models whose perplexity is measured, and the dialogues.

    Raises:
        ConfigError: a value out of its range, an adapter called `base`, or a server.
    """

    output: Path
    """The JSON file that is written."""
    adapters: Mapping[str, Path] = field(default_factory=dict)
    """Arm name to folder of its LoRA adapter. The base model is always measured."""
    engine: EngineConfig = field(default_factory=EngineConfig)
    """The base model; it must be a local one."""
    source: SourceConfig = field(default_factory=lambda: SourceConfig(min_turns=8, max_turns=20))
    """Where the dialogues come from. People must have written their replies."""
    part: SplitName | None = "eval"
    """Part of the source's dialogues; training takes another. Null takes all."""
    num_dialogues: int = 64
    """Most dialogues; taken in the order of the source, after the skipped ones."""
    skip_dialogues: int = 0
    """How many dialogues to skip at the beginning of the source, such as those by which settings were
    chosen."""

    def __post_init__(self) -> None:
        if self.num_dialogues < 1:
            raise ConfigError(f"num_dialogues is {self.num_dialogues}: expected at least 1")
        if self.skip_dialogues < 0:
            raise ConfigError(f"skip_dialogues is {self.skip_dialogues}: expected at least 0")
        if BASE in self.adapters:
            raise ConfigError(f"adapters has {BASE!r}, which stands for the base model: rename it")
        if self.source.name == "questions":
            raise ConfigError(
                "source.name is 'questions', whose replies are a model's own: expected chitchat, jsonl or hub"
            )
        if self.engine.server is not None:
            raise ConfigError(
                "engine.server is given: expected a local model, servers return no loss"
            )


Charged = tuple[float, int]
"""What one dialogue costs one arm: nats over its reply tokens, and their number."""


@dataclass(frozen=True, slots=True)
class ArmPerplexity:
    """Perplexity of an arm, and its ratio to the base model's with a 95 % interval."""

    arm: str
    perplexity: float
    ratio: float
    low: float | None
    high: float | None
    """None with fewer than `MIN_DIALOGUES` dialogues."""
    num_dialogues: int
    num_tokens: int


def measure_perplexity(
    config: PerplexityConfig, engine: TransformersEngine | None = None
) -> list[ArmPerplexity]:
    """Return the perplexity of the base model and of each adapter, and write the file.

    Args:
        config: of the study.
        engine: with the adapters loaded; default: the configured one.

    Raises:
        ConfigError: a source that cannot be had, or that has not so many dialogues to skip.
        DataError: no dialogue that can be read, or one that an adapter was trained on.
        ModelError: a model or adapter cannot be loaded.
        StoreError: the file cannot be written.
    """
    refuse_unwritable(config.output)
    dialogues, report = load_dialogues(config.source, config.part)
    if 0 < len(dialogues) <= config.skip_dialogues:
        raise ConfigError(
            f"skip_dialogues is {config.skip_dialogues}: expected fewer than the {len(dialogues)} "
            "dialogues of the source"
        )
    dialogues = dialogues[config.skip_dialogues :][: config.num_dialogues]
    unknown = refuse_overlap(config.adapters, dialogues)
    charging = engine or local_engine(config.engine, config.adapters)
    charged_by_arm: dict[str, list[Charged]] = {arm: [] for arm in (BASE, *config.adapters)}
    dropped: Counter[str] = Counter()
    with progress_bar("perplexity", len(dialogues), unit="dialogues") as bar:
        for dialogue in dialogues:
            bar.advance(1)
            try:
                losses = [
                    charging.reply_loss(dialogue, a if a != BASE else None) for a in charged_by_arm
                ]
            except DataError as error:
                # A text that breaks the template's turns is counted, as in training; the rest goes on.
                dropped[str(error).partition(": ")[2]] += 1
                continue
            if not losses[0][1]:
                dropped["no reply to an earlier turn within the model's context"] += 1
                continue
            for charged, loss in zip(charged_by_arm.values(), losses, strict=True):
                charged.append(loss)
    if not charged_by_arm[BASE]:
        reasons = "; ".join(f"{num}: {why}" for why, num in dropped.items())
        raise DataError(
            f"none of {len(dialogues)} dialogues can be read ({reasons}): expected others"
        )
    arms = [
        perplexity(arm, charged, charged_by_arm[BASE]) for arm, charged in charged_by_arm.items()
    ]
    atomic_write_json(
        config.output,
        {
            "run": provenance() | {"config": config_dict(config), "source": report.as_dict()},
            "not_checked_for_overlap": list(unknown),
            "dropped": dict(dropped),
            "perplexity": [asdict(arm) for arm in arms],
        },
    )
    return arms


def perplexity(arm: str, charged: Sequence[Charged], base: Sequence[Charged]) -> ArmPerplexity:
    """Return the perplexity over all tokens, and its ratio to the base model's on the same dialogues."""
    # Imported here: `gatt --help` imports this module's configuration and must stay fast.
    import numpy as np

    nll, num = np.array(charged).T
    of_base = np.array(base)[:, 0]
    low = high = None
    if len(num) >= MIN_DIALOGUES:
        rng = np.random.default_rng(0)
        drawn = rng.integers(len(num), size=(NUM_RESAMPLES, len(num)))
        ratios = np.exp((nll - of_base)[drawn].sum(1) / num[drawn].sum(1))
        low, high = map(float, np.quantile(ratios, [0.025, 0.975]))
    total = int(num.sum())
    return ArmPerplexity(
        arm=arm,
        perplexity=math.exp(nll.sum() / total),
        ratio=math.exp((nll - of_base).sum() / total),
        low=low,
        high=high,
        num_dialogues=len(num),
        num_tokens=total,
    )


def as_rows(arms: Sequence[ArmPerplexity]) -> list[tuple[str, ...]]:
    """Return a row of text for each arm: arm, perplexity, ratio with interval, tokens."""
    rows: list[tuple[str, ...]] = []
    for measured in arms:
        interval = f"(no interval from {measured.num_dialogues} dialogues)"
        if measured.low is not None and measured.high is not None:
            interval = f"[{measured.low:.3f}, {measured.high:.3f}]"
        ratio = "1" if measured.arm == BASE else f"{measured.ratio:.3f} {interval}"
        tokens = f"{measured.num_tokens:,} of {measured.num_dialogues} dialogues"
        rows.append((measured.arm, f"{measured.perplexity:.2f}", ratio, tokens))
    return rows
