"""What became of the samples of a run: counts, and what was left out by its reason. No torch here."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gatt.comb.comb import IGNORE, Comb
from gatt.data.sample import GattSample
from gatt.errors import TrainingError
from gatt.train.config import TrainConfig

if TYPE_CHECKING:
    from gatt.comb.collator import RowLayout

log = logging.getLogger(__name__)


class Dropped:
    """Counts messages by their reason, and keeps the first of each."""

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self.counts: Counter[str] = Counter(counts)
        self._first: dict[str, str] = {}

    def add(self, message: str, reason: str) -> None:
        """Count a message under its reason; `reason_of` makes both."""
        self.counts[reason] += 1
        self._first.setdefault(reason, message)

    def say(self) -> None:
        """Warn once for each reason, the most frequent first."""
        for reason, count in self.counts.most_common():
            log.warning("dropped %d: %s (first: %s)", count, reason, self._first[reason])

    def as_text(self) -> str:
        """Return the three most frequent reasons in parentheses, empty where nothing was dropped."""
        listed = "; ".join(f"{count}: {reason}" for reason, count in self.counts.most_common(3))
        return f" (dropped {listed})" if listed else ""


def reason_of(message: str, sample: GattSample) -> tuple[str, str]:
    """Return a message that names its sample or dialogue, and the reason, by which messages are counted.

    The reason is the same for all samples with the same problem: it has no place, no advice, and N for numbers.
    """
    places = (f"sample {sample.id!r}", f"dialogue {sample.dialogue.id!r}")
    place = next((place for place in places if message.startswith(place)), "")
    # Behind the id, which may hold a colon, a turn may stand.
    what = message[len(place) :].partition(": ")[2] if place else message
    full = message if place else f"{places[0]}: {message}"
    return full, re.sub(r"\d+", "N", what.partition(": ")[0])


@dataclass
class RowReport:
    """Counts of what was learned from the samples and what was not, without padding rows."""

    layout: RowLayout
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
    num_teacher_tokens: int = 0
    """That the teacher of `distil` reads beside them."""
    num_positions: int = 0
    """Tokens of the longest prompt with its target."""
    num_exchanges_dropped: int = 0
    """Exchanges that the length policy removed."""
    rows_a_step: int = 0
    """Micro-batches of an optimiser step on each process: `gradient_accumulation_steps`, or fewer rows with
    as many dialogues where `pack_rows` is `auto`."""
    num_padding_rows: int = 0
    """Rows without loss that fill the last optimiser step of an epoch."""
    kinds: Counter[str] = field(default_factory=Counter)
    """Targets in the samples used, by kind (`gatt.data.sample.TargetKind`)."""
    families: Counter[str] = field(default_factory=Counter)
    """Samples used, by family of their instruction; `plain` without one."""
    entries: Counter[str] = field(default_factory=Counter)
    """Samples used, by catalogue entry in force at one of their targets."""
    objectives: Counter[str] = field(default_factory=Counter)
    """Supervised tokens, by what they cost (`gatt.comb.objectives.table`)."""
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
    def from_dict(cls, raw: Mapping[str, Any]) -> RowReport:
        """Return the report of `as_dict`."""
        values: Any = {k: Counter(v) if isinstance(v, dict) else v for k, v in raw.items()}
        return cls(**values)

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as JSON takes them."""
        return {k: dict(v) if isinstance(v, Counter) else v for k, v in vars(self).items()}

    def add_comb(self, comb: Comb) -> None:
        """Count the tokens of a comb."""
        self.num_tokens += comb.num_tokens
        self.num_supervised_tokens += comb.num_supervised
        self.num_teacher_tokens += sum(teacher.num_tokens for teacher in comb.teacher)
        for objective, labels in comb.labelled:
            if num := sum(label != IGNORE for label in labels):
                self.objectives[objective] += num
        self.num_positions = max(self.num_positions, comb.num_positions)

    def add_used(
        self, sample: GattSample, turns: Sequence[int], num_exchanges_dropped: int
    ) -> None:
        """Count a sample that has a token with loss; `turns` are those whose targets could be encoded."""
        self.num_used += 1
        self.num_targets += len(turns)
        self.num_exchanges_dropped += num_exchanges_dropped
        self.num_shortened += num_exchanges_dropped > 0
        self.kinds.update(t.kind for t in sample.targets if t.kind is not None)
        self.families[sample.family] += 1
        held = filter(None, map(sample.instruction_at, turns))
        self.entries.update({entry for instruction in held for entry in instruction.entries})


def refuse_too_few(report: RowReport, config: TrainConfig) -> None:
    """Refuse samples that leave nothing to learn, or of which too much would be lost.

    Raises:
        TrainingError: says what dropped them.
    """
    num_lost = report.num_wanted - report.num_encoded
    why = Dropped(report.dropped).as_text()
    if report.num_encoded and num_lost > config.max_lost_targets * report.num_wanted:
        raise TrainingError(
            f"{num_lost} of {report.num_wanted} targets would be lost{why}, more than the share "
            f"{config.max_lost_targets:g} that max_lost_targets allows: mend what drops them, take those "
            "samples out, or raise max_lost_targets to train on what is left"
        )
    if not report.num_used:
        raise TrainingError(
            f"no sample left of {report.num_samples}{why}: loosen what drops "
            "them, or make more with `gatt synth`"
        )


def warn_of_changes(report: RowReport, config: TrainConfig) -> None:
    """Warn where the rows differ from the samples or from the configuration."""
    if config.pack_rows is True and report.layout == "expanded":
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
