"""The data set card: what is in the file, by family, split, attempt and reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from data_synth.config import SynthConfig
from data_synth.filters import NO_ROOM, REASONS
from data_synth.run_folder import CARD_FILE
from gatt.config.load import to_yaml
from gatt.data.sample import GattSample, read_samples
from gatt.runs.atomic_file import atomic_write_text
from gatt.sources import SourceReport

SYSTEM_REMOVED = "system message removed"
"""How the report of a source names it."""


@dataclass
class SampleCounts:
    """Sums over samples."""

    num_samples: int = 0
    num_turns: int = 0
    num_targets: int = 0
    num_long: int = 0
    """Samples with a turn for which the teacher's context has no room."""
    num_long_turns: int = 0
    by_family: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    no_target: Counter[str] = field(default_factory=Counter)
    """Turns without a target, by reason."""
    refused: Counter[str] = field(default_factory=Counter)
    """Draws, by reason."""
    by_change: Counter[tuple[str, str]] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    attempts: Counter[int] = field(default_factory=Counter)

    def add(self, sample: GattSample) -> None:
        """Count one sample."""
        num_long = sum(target.reason == NO_ROOM for target in sample.targets)
        self.num_samples += 1
        self.num_turns += len(sample.targets)
        self.num_targets += sample.num_targets
        self.num_long += bool(num_long)
        self.num_long_turns += num_long
        group = sample.family, sample.instruction.split if sample.instruction else "none"
        self.by_family[*group, "samples"] += 1
        self.by_family[*group, "turns"] += len(sample.targets)
        self.by_family[*group, "targets"] += sample.num_targets
        for target in sample.targets:
            self.refused.update(target.refused)
            if target.reply is None:
                self.no_target[target.reason or "unknown"] += 1
            else:
                self.kinds[target.kind or "sampled"] += 1
                self.attempts[target.attempts] += 1
        for switch in sample.switches or ():
            change = f"{switch.kind}, told by the {switch.place}"
            self.by_change[change, "samples"] += 1
            for target in sample.targets:
                side = "before" if target.turn < switch.turn else "after"
                self.by_change[change, side] += target.reply is not None

    def families(self) -> Iterator[tuple[object, ...]]:
        """Yield family, split, samples, turns, targets and the share of turns with a target."""
        for group in sorted({(family, split) for family, split, _ in self.by_family}):
            found = [self.by_family[*group, what] for what in ("samples", "turns", "targets")]
            yield *group, *found, f"{found[2] / found[1]:.0%}"

    def reasons(self) -> Iterator[tuple[object, ...]]:
        """Yield a line for every reason, also for those with a count of zero."""
        found = self.refused.keys() | self.no_target.keys()
        for reason in [*REASONS, *sorted(found - REASONS.keys())]:
            yield reason, REASONS.get(reason, ""), self.refused[reason], self.no_target[reason]

    def changes(self) -> list[tuple[object, ...]]:
        """Return kind and place of each change, its samples, and the targets before and after it."""
        names = sorted({name for name, _ in self.by_change})
        return [
            (name, *(self.by_change[name, side] for side in ("samples", "before", "after")))
            for name in names
        ]

    def no_room(self, limit: int | None = None) -> str:
        """Return a sentence on the dialogues that are too long for the teacher; there must be one.

        Args:
            limit: tokens of the teacher's context, if known.
        """
        size = f" of {limit} tokens" if limit else ""
        return (
            f"{self.num_long_turns} turns of {self.num_long} dialogues have no target: they are too long "
            f"for the teacher's context{size}: set a smaller teacher.context_turns or source.max_turns, or "
            "take a teacher with a longer context"
        )


def write_card(config: SynthConfig, samples: Path, report: SourceReport) -> SampleCounts:
    """Write `README.md` beside the samples, Markdown with the hub's metadata head; return their counts.

    Raises:
        DataError: a row that is no sample, with file and line.
    """
    counts = SampleCounts()
    example: GattSample | None = None
    for sample in read_samples(samples):
        counts.add(sample)
        if example is None and sample.instruction and sample.num_targets:
            example = sample
    turns = zip(example.dialogue.user_turns, example.targets, strict=True) if example else ()
    said = [(user, t.reply or f"(no target: {t.reason})") for user, t in turns]
    environment = Environment(
        loader=PackageLoader("data_synth", "."),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["one_line"] = lambda text: " ".join(text.split()).replace("|", "\\|")
    text = environment.get_template("card.md.j2").render(
        config=config,
        to_yaml=to_yaml(config),
        counts=counts,
        report=report,
        system_removed=SYSTEM_REMOVED,
        example=example,
        example_turns=said[:3],
    )
    atomic_write_text(samples.with_name(CARD_FILE), text)
    return counts
