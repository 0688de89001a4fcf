"""What became of the samples of a run, counted while its rows are made."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gatt.comb.collator import Layout
from gatt.comb.comb import Comb
from gatt.errors import TrainingError
from gatt.train.config import TrainConfig
from gatt.train.data.samples import Dropped

log = logging.getLogger(__name__)


@dataclass
class RowReport:
    """What became of the samples. Counts leave the padding rows out."""

    layout: Layout
    num_samples: int = 0
    """Samples that were read."""
    num_used: int = 0
    """Samples that gave at least one token with loss."""
    num_rows: int = 0
    """In the comb layout also those without loss, which every mode of supervision has alike."""
    num_targets: int = 0
    """Target replies of the samples used; with `context_only` those of instructed ones carry no loss."""
    num_tokens: int = 0
    num_supervised_tokens: int = 0
    num_kl_tokens: int = 0
    """Those of them that are learned by the KL divergence (`plain_loss`)."""
    num_positions: int = 0
    """Tokens of the longest prompt with its target."""
    num_exchanges_dropped: int = 0
    """Exchanges that the length policy removed."""
    num_padding_rows: int = 0
    """Rows without loss that fill the last optimiser step of an epoch."""
    kinds: Counter[str] = field(default_factory=Counter)
    """Targets in the samples used, by kind (`gatt.data.sample.TargetKind`)."""
    families: Counter[str] = field(default_factory=Counter)
    """Samples used, by family of their instruction; `plain` without one."""
    entries: Counter[str] = field(default_factory=Counter)
    """Samples used, by catalogue entry in force at one of their targets."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Samples and single targets that were left out, by reason."""

    num_moved: int = 0
    """Samples with a change of the instruction that the chat template does not take in a later system
    message."""
    num_wanted: int = 0
    """Targets of all samples, and how many of them could be encoded:"""
    num_encoded: int = 0
    num_shortened: int = 0
    """Samples that lost exchanges."""

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> RowReport:
        """Return the report of `as_dict`."""
        values: dict[str, Any] = {
            name: Counter(value) if isinstance(value, dict) else value
            for name, value in found.items()
        }
        return cls(**values)

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as JSON takes them."""
        return {k: dict(v) if isinstance(v, Counter) else v for k, v in vars(self).items()}

    def add_comb(self, comb: Comb) -> None:
        """Count the tokens of a comb."""
        self.num_tokens += comb.num_tokens
        self.num_supervised_tokens += comb.num_supervised
        self.num_kl_tokens += comb.num_supervised if comb.by_kl else 0
        self.num_positions = max(self.num_positions, comb.num_positions)


def refuse_too_few(report: RowReport, dropped: Dropped, config: TrainConfig) -> None:
    """Refuse samples that leave nothing to learn, or of which too much would be lost.

    Raises:
        TrainingError: says what dropped them.
    """
    num_lost = report.num_wanted - report.num_encoded
    if report.num_encoded and num_lost > config.max_lost_targets * report.num_wanted:
        raise TrainingError(
            f"{num_lost} of {report.num_wanted} targets would be lost{dropped.as_text()}, more than the share "
            f"{config.max_lost_targets:g} that max_lost_targets allows: mend what drops them, take those "
            "samples out, or raise max_lost_targets to train on what is left"
        )
    if not report.num_used:
        raise TrainingError(
            f"no sample left of {report.num_samples}{dropped.as_text()}: loosen what drops "
            "them, or make more with `gatt synth`"
        )


def warn_of_changes(report: RowReport, config: TrainConfig) -> None:
    """Say what the rows hold otherwise than the samples, or than was asked for."""
    if config.pack_rows and report.layout == "expanded":
        log.warning(
            "pack_rows is ignored: layout 'expanded' has one turn a row, and a micro-batch is one "
            "row; set pack_rows to false to raise per_device_train_batch_size"
        )
    if report.num_moved:
        log.warning(
            "%d samples: a change of the instruction stands in front of the user's message instead of "
            "in a later system message, which the chat template does not take",
            report.num_moved,
        )
    if report.num_shortened:
        log.warning(
            "max_length %d: %d samples lost %d exchanges, the oldest after turn 1, counted for "
            "each prompt: raise max_length to keep them",
            config.max_length, report.num_shortened, report.num_exchanges_dropped,
        )  # fmt: skip
