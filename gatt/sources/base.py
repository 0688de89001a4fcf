"""What a source reports, and how dialogues are chosen."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gatt.data.dialogue import Dialogue, Message
from gatt.data.hash_split import SplitName, partition
from gatt.errors import DataError
from gatt.sources.config import SourceConfig
from gatt.sources.reasons import (
    CHANGE_NOTES,
    DUPLICATE,
    NO_EXCHANGE,
    OPEN_TURN_CUT,
    OTHER_PART,
    SYSTEM_REMOVED,
    TOO_SHORT,
    advice,
)


@dataclass
class SourceReport:
    """What a source read, kept and dropped: `num_read == num_kept + dropped.total()`."""

    source: str
    num_read: int = 0
    num_kept: int = 0
    longest_turns: int = 0
    """Whole exchanges of the longest usable dialogue, before cutting."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Dialogues that were not returned, by reason."""
    changed: Counter[str] = field(default_factory=Counter)
    """Dialogues that were altered, whether kept in the end or not, by what was done."""
    examples: dict[str, str] = field(default_factory=dict)
    """The first place where a reason of `dropped` or `changed` was found, and what was there."""

    def drop(self, reason: str, example: str) -> None:
        """Count a dialogue that is not returned."""
        self.dropped[reason] += 1
        self.examples.setdefault(reason, _printable(example))

    def change(self, reason: str, example: str) -> None:
        """Count a dialogue that is altered."""
        self.changed[reason] += 1
        self.examples.setdefault(reason, _printable(example))

    def dropped_with_examples(self) -> str:
        """Return the reasons with their counts and examples, most frequent first."""
        return ", ".join(
            f"{reason}: {count}"
            + (f" (first: {self.examples[reason]})" if reason in self.examples else "")
            for reason, count in self.dropped.most_common()
        )

    def table(self, counts: Counter[str]) -> list[tuple[str, int, str]]:
        """Return reason, count and example of `dropped` or `changed` as cells of a Markdown table."""
        return [
            (reason, count, _cell(self.examples.get(reason, "")))
            for reason, count in counts.most_common()
        ]

    def lines(self) -> Iterator[str]:
        """Yield what a terminal shows: the counts in one line, and a line for each change and each loss."""
        dropped = ", ".join(f"{reason}: {count}" for reason, count in self.dropped.most_common())
        yield f"source {self.source}: {self.num_read} read, {self.num_kept} kept; dropped {dropped or 'none'}"
        for what, counts in (("altered", self.changed), ("dropped", self.dropped)):
            for reason, count in counts.most_common():
                if reason in self.examples:
                    note = f"; {CHANGE_NOTES[reason]}" if reason in CHANGE_NOTES else ""
                    yield (
                        f"source {self.source}: {count} {what}: {reason} (first: {self.examples[reason]}){note}"
                    )

    def as_dict(self) -> dict[str, object]:
        """Return the report as a run folder or dataset card holds it."""
        counts = {name: dict(getattr(self, name).most_common()) for name in ("dropped", "changed")}
        return vars(self) | counts


def _printable(text: str) -> str:
    """Return a text with its control characters escaped: what a file holds must not steer a terminal."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _cell(text: str) -> str:
    """Return a text that ends no cell and no code of a Markdown table."""
    return text.replace("`", "'").replace("|", "\\|").replace("<", "&lt;")


def _whole_exchanges(dialogue: Dialogue, report: SourceReport) -> Dialogue | None:
    """Return the dialogue without system message and open last turn; None if nothing is left."""
    body: tuple[Message, ...] = dialogue.messages
    if dialogue.has_system:
        report.change(SYSTEM_REMOVED, f"dialogue {dialogue.id!r}")
        body = body[1:]
    if len(body) % 2:
        report.change(OPEN_TURN_CUT, f"dialogue {dialogue.id!r}")
        body = body[:-1]
    return Dialogue(dialogue.id, body) if body else None


def select(
    candidates: Iterable[Dialogue],
    config: SourceConfig,
    report: SourceReport,
    part: SplitName | None = None,
) -> list[Dialogue]:
    """Return the dialogues that the configuration asks for, in the order of its seed.

    Dialogues without a whole exchange, exact duplicates, too short ones and those of other parts are dropped,
    and counted in `report`.

    Raises:
        DataError: nothing is left; says what the longest dialogue was.
    """
    kept: list[Dialogue] = []
    seen: set[tuple[str, ...]] = set()
    for candidate in candidates:
        dialogue = _whole_exchanges(candidate, report)
        if dialogue is None:
            report.drop(NO_EXCHANGE, f"dialogue {candidate.id!r}")
            continue
        report.longest_turns = max(report.longest_turns, dialogue.num_turns)
        # Before partition: two copies under two ids must not end up in two parts.
        text = tuple(" ".join(m.content.casefold().split()) for m in dialogue.messages)
        if text in seen:
            report.drop(DUPLICATE, f"dialogue {dialogue.id!r}")
            continue
        seen.add(text)
        if dialogue.num_turns < config.min_turns:
            report.dropped[TOO_SHORT] += 1
        elif part is not None and partition(dialogue.id) != part:
            report.dropped[OTHER_PART] += 1
        else:
            kept.append(dialogue)
    if not kept:
        where = f" of part {part!r}" if part else ""
        raise DataError(
            f"source {report.source!r}: no dialogue{where} with at least {config.min_turns} turns "
            f"(longest found: {report.longest_turns}; read {report.num_read}; "
            f"dropped {report.dropped_with_examples() or 'none'}): {advice(report.dropped)}"
        )
    # Neither file order nor `num` plays a part.
    kept.sort(key=lambda d: hashlib.sha256(f"{config.seed}\x1f{d.id}".encode()).hexdigest())
    chosen = kept[: config.num]
    if len(chosen) < len(kept):
        report.dropped["not needed"] += len(kept) - len(chosen)
    report.num_kept = len(chosen)
    return [d.first_turns(min(d.num_turns, config.max_turns)) for d in chosen]
