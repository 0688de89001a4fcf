"""What a source reports, and how dialogues are chosen."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from gatt.data.dialogue import Dialogue, Message
from gatt.data.hash_split import Part, partition
from gatt.errors import DataError
from gatt.sources.config import SourceConfig

SYSTEM_REMOVED: Final = "system message removed"
"""How a report names it."""


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
    first_problem: str | None = None
    """The first broken row in words, where broken rows are dropped."""

    def as_dict(self) -> dict[str, object]:
        """Return the report as a run folder or dataset card holds it."""
        counts = {name: dict(getattr(self, name).most_common()) for name in ("dropped", "changed")}
        return vars(self) | counts


def _whole_exchanges(dialogue: Dialogue, report: SourceReport) -> Dialogue | None:
    """Return the dialogue without system message and open last turn; None if nothing is left."""
    body: tuple[Message, ...] = dialogue.messages
    if dialogue.has_system:
        report.changed[SYSTEM_REMOVED] += 1
        body = body[1:]
    if len(body) % 2:
        report.changed["open last turn cut"] += 1
        body = body[:-1]
    return Dialogue(dialogue.id, body) if body else None


def select(
    candidates: Iterable[Dialogue],
    config: SourceConfig,
    report: SourceReport,
    part: Part | None = None,
) -> list[Dialogue]:
    """Return the dialogues that the configuration asks for, in the order of its seed.

    Args:
        candidates: every dialogue of the source; those without a whole exchange,
            exact duplicates, too short ones and those of other parts are dropped.
        config: lengths, number and seed.
        report: counts of the source, added to here.
        part: only dialogues that `partition` puts there; None is all.

    Raises:
        DataError: nothing is left; says what the longest dialogue was.
    """
    kept: list[Dialogue] = []
    seen: set[tuple[str, ...]] = set()
    for candidate in candidates:
        dialogue = _whole_exchanges(candidate, report)
        if dialogue is None:
            report.dropped["no whole exchange"] += 1
            continue
        report.longest_turns = max(report.longest_turns, dialogue.num_turns)
        # Before partition: two copies under two ids must not end up in two parts.
        text = tuple(" ".join(m.content.casefold().split()) for m in dialogue.messages)
        if text in seen:
            report.dropped["exact duplicate"] += 1
            continue
        seen.add(text)
        if dialogue.num_turns < config.min_turns:
            report.dropped["too short"] += 1
        elif part is not None and partition(dialogue.id) != part:
            report.dropped["other part"] += 1
        else:
            kept.append(dialogue)
    if not kept:
        reasons = ", ".join(f"{reason}: {count}" for reason, count in report.dropped.most_common())
        where = f" of part {part!r}" if part else ""
        problem = f"; first broken row: {report.first_problem}" if report.first_problem else ""
        raise DataError(
            f"source {report.source!r}: no dialogue{where} with at least {config.min_turns} turns "
            f"(longest found: {report.longest_turns}; read {report.num_read}; "
            f"dropped {reasons or 'none'}{problem}): lower min_turns or use another source"
        )
    # Neither file order nor `num` plays a part.
    kept.sort(key=lambda d: hashlib.sha256(f"{config.seed}\x1f{d.id}".encode()).hexdigest())
    chosen = kept[: config.num]
    if len(chosen) < len(kept):
        report.dropped["not needed"] += len(kept) - len(chosen)
    report.num_kept = len(chosen)
    return [d.first_turns(min(d.num_turns, config.max_turns)) for d in chosen]
