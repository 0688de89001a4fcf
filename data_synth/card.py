"""The data set card: what is in the file, by family, split, attempt and reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from data_synth.config import SynthConfig
from data_synth.filters import NO_ROOM, REASONS
from data_synth.filters.repeats import RepeatCounter
from data_synth.run_folder import CARD_FILE
from gatt.config.load import to_yaml
from gatt.data.sample import GattSample, read_samples
from gatt.runs.atomic_file import atomic_write_text
from gatt.sources import SourceReport

SYSTEM_REMOVED = "system message removed"
"""How the report of a source names it."""
METADATA = (
    "---\nconfigs:\n- config_name: default\n  data_files: samples.jsonl\n"
    "tags:\n- ghost-attention\n- gatt\n- synthetic\n---"
)
"""Head of a card, as the hub reads it."""
RIGHTS = "The replies are a model's own and may be wrong; the dialogues keep the licence of their source."


@dataclass
class RowCounts:
    """Sums over samples."""

    num_samples: int = 0
    num_turns: int = 0
    num_targets: int = 0
    num_long: int = 0
    """Samples with a turn for which the teacher's context has no room."""
    num_long_turns: int = 0

    def add(self, sample: GattSample) -> None:
        """Count one sample."""
        num_long = sum(target.reason == NO_ROOM for target in sample.targets)
        self.num_samples += 1
        self.num_turns += len(sample.targets)
        self.num_targets += sample.num_targets
        self.num_long += bool(num_long)
        self.num_long_turns += num_long

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


@dataclass
class _Counts:
    """What the card counts besides `RowCounts`."""

    by_family: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    no_target: Counter[str] = field(default_factory=Counter)
    """Turns without a target, by reason."""
    refused: Counter[str] = field(default_factory=Counter)
    """Draws, by reason."""
    switches: Counter[tuple[str, str]] = field(default_factory=Counter)
    repeats: RepeatCounter = field(default_factory=RepeatCounter)
    kinds: Counter[str] = field(default_factory=Counter)
    attempts: Counter[int] = field(default_factory=Counter)

    def add(self, sample: GattSample) -> None:
        """Count one sample."""
        group = sample.family, sample.instruction.split if sample.instruction else "none"
        self.by_family[*group, "samples"] += 1
        count_switches(self.switches, sample)
        self.repeats.add(sample)
        for target in sample.targets:
            self.by_family[*group, "turns"] += 1
            self.refused.update(target.refused)
            if target.reply is None:
                self.no_target[target.reason or "unknown"] += 1
            else:
                self.by_family[*group, "targets"] += 1
                self.kinds[target.kind or "sampled"] += 1
                self.attempts[target.attempts] += 1

    def families(self) -> Iterator[tuple[object, ...]]:
        """Yield family, split, samples, turns, targets and the share of turns with a target."""
        for group in sorted({(family, split) for family, split, _ in self.by_family}):
            found = [self.by_family[*group, what] for what in ("samples", "turns", "targets")]
            yield *group, *found, f"{found[2] / found[1]:.0%}" if found[1] else "-"

    def reasons(self) -> Iterator[tuple[object, ...]]:
        """Yield a line for every reason, also for those with a count of zero."""
        found = self.refused.keys() | self.no_target.keys()
        for reason in [*REASONS, *sorted(found - REASONS.keys())]:
            yield reason, REASONS.get(reason, ""), self.refused[reason], self.no_target[reason]


def write_card(config: SynthConfig, samples: Path, report: SourceReport) -> RowCounts:
    """Write `README.md` beside the samples, Markdown with the hub's metadata head; return their counts.

    Raises:
        DataError: a row that is no sample, with file and line.
    """
    found, counts = RowCounts(), _Counts()
    example: GattSample | None = None
    for sample in read_samples(samples):
        found.add(sample)
        counts.add(sample)
        if example is None and sample.instruction and sample.num_targets:
            example = sample
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
        found=found,
        counts=counts,
        report=report,
        metadata=METADATA,
        rights=RIGHTS,
        switches=switch_table(counts.switches),
        system_removed=SYSTEM_REMOVED,
        example=example,
        example_turns=list(_said(example))[:3] if example else (),
        to_yaml=to_yaml(config),
    )
    atomic_write_text(samples.with_name(CARD_FILE), text)
    return found


def _said(sample: GattSample) -> Iterator[tuple[str, str]]:
    for user, target in zip(sample.dialogue.user_turns, sample.targets, strict=True):
        yield user, f"(no target: {target.reason})" if target.reply is None else target.reply


def count_switches(counts: Counter[tuple[str, str]], sample: GattSample) -> None:
    """Count the changes of a sample, and the targets before and after each."""
    for switch in sample.switches or ():
        row = f"{switch.kind}, told by the {switch.place}"
        counts[row, "samples"] += 1
        for target in sample.targets:
            side = "before" if target.turn < switch.turn else "from it on"
            counts[row, side] += target.reply is not None


def switch_table(counts: Counter[tuple[str, str]]) -> str:
    """Return the table of changes from the counts of `count_switches`."""
    sides = ("samples", "before", "from it on")
    rows = [
        (name, *(counts[name, side] for side in sides)) for name in sorted({r for r, _ in counts})
    ]
    return _table(
        ("change", "samples", "targets before", "targets from it on"), rows or [("none", 0, 0, 0)]
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)
