"""The data set card: what is in the file, by family, split, attempt and reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from data_synth.config import SynthConfig
from data_synth.filters import REASONS
from data_synth.filters.repeats import RepeatCounter
from data_synth.row_counts import RowCounts
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


def write_card(config: SynthConfig, samples: Path, report: SourceReport) -> RowCounts:
    """Write `README.md` beside the samples, Markdown with the hub's metadata head; return their counts.

    Raises:
        DataError: a row that is no sample, with file and line.
    """
    by_family: Counter[tuple[str, str, str]] = Counter()
    reasons: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    switches: Counter[tuple[str, str]] = Counter()
    repeats = RepeatCounter()
    kinds: Counter[str] = Counter()
    attempts: Counter[int] = Counter()
    found = RowCounts()
    example: GattSample | None = None
    for sample in read_samples(samples):
        found.add(sample)
        split = sample.instruction.split if sample.instruction else "none"
        if example is None and sample.instruction and sample.num_targets:
            example = sample
        by_family[sample.family, split, "samples"] += 1
        count_switches(switches, sample)
        repeats.add(sample)
        for target in sample.targets:
            by_family[sample.family, split, "turns"] += 1
            refused.update(target.refused)
            if target.reply is None:
                reasons[target.reason or "unknown"] += 1
            else:
                by_family[sample.family, split, "targets"] += 1
                kinds[target.kind or "sampled"] += 1
                attempts[target.attempts] += 1
    parts = [
        _head(config, found.num_samples),
        "## By family and split\n\n" + _family_table(by_family),
        _switch_part(switches) if config.switch else "",
        "## Where targets come from\n\n" + _table(("kind", "targets"), kinds.most_common()),
        "## Draws until accepted\n\n" + _table(("attempt", "targets"), sorted(attempts.items())),
        "## Refused\n\nEvery draw that was refused, by the first reason found, and the turns that were "
        "left without a target, by the last one.\n\n" + _reason_table(refused, reasons),
        found.no_room() + "." if found.num_long_turns else "",
        f"## Repeats\n\n{repeats.num_repeats} of {repeats.num_targets} targets "
        f"({repeats.share:.1%}) have the words of a target of another sample under the same "
        "instruction.",
        "## Dialogues\n\n"
        f"Source `{report.source}`: {report.num_read} read, {report.num_kept} kept.\n\n"
        + _table(("dropped because", "dialogues"), report.dropped.most_common() or [("none", 0)])
        + _changes(report),
        _example(example),
        "## Configuration\n\n```yaml\n" + to_yaml(config) + "```\n",
    ]
    atomic_write_text(samples.with_name(CARD_FILE), "\n\n".join(p for p in parts if p))
    return found


def _head(config: SynthConfig, num_samples: int) -> str:
    return (
        f"{METADATA}\n\n# GAtt samples\n\n"
        f"{num_samples} dialogues, each under an instruction that stood in front of every user message "
        "while the replies were sampled (Ghost Attention; Llama 2, arXiv:2307.09288, section 3.3). "
        f"Teacher: `{config.teacher.engine.model}`. One JSON line a sample: the dialogue, the "
        "instruction with its verifiers, and for each turn the target reply or the reason there is "
        'none. Read it with `datasets.load_dataset("json", data_files="samples.jsonl")`.\n\n'
        f"{RIGHTS}"
    )


def count_switches(counts: Counter[tuple[str, str]], sample: GattSample) -> None:
    """Count the changes of a sample, and the targets before and after each."""
    for switch in sample.switches or ():
        row = f"{switch.kind}, told by the {switch.place}"
        counts[row, "samples"] += 1
        for target in sample.targets:
            side = "before" if target.turn < switch.turn else "from it on"
            counts[row, side] += target.reply is not None


def _switch_part(counts: Counter[tuple[str, str]]) -> str:
    return (
        "## Changes of the instruction\n\nThe instruction changes in these samples; a sample without a "
        "change has an empty list `switches`. Families above are those of turn 1.\n\n"
        + switch_table(counts)
    )


def switch_table(counts: Counter[tuple[str, str]]) -> str:
    """Return the table of changes from the counts of `count_switches`."""
    sides = ("samples", "before", "from it on")
    rows = [
        (name, *(counts[name, side] for side in sides)) for name in sorted({r for r, _ in counts})
    ]
    return _table(
        ("change", "samples", "targets before", "targets from it on"), rows or [("none", 0, 0, 0)]
    )


def _changes(report: SourceReport) -> str:
    if not report.changed:
        return ""
    text = "\n\nAltered before use, whether kept in the end or not:\n\n" + _table(
        ("altered", "dialogues"), report.changed.most_common()
    )
    if report.changed[SYSTEM_REMOVED]:
        text += (
            "\n\nThe system messages of the dialogues are **not** in these samples: the instruction "
            "takes their place."
        )
    return text


def _family_table(counts: Mapping[tuple[str, str, str], int]) -> str:
    rows = []
    for family, split in sorted({(f, s) for f, s, _ in counts}):
        turns, targets = counts[family, split, "turns"], counts[family, split, "targets"]
        share = f"{targets / turns:.0%}" if turns else "-"
        rows.append((family, split, counts[family, split, "samples"], turns, targets, share))
    return _table(("family", "split", "samples", "turns", "targets", "share"), rows)


def _reason_table(draws: Counter[str], turns: Counter[str]) -> str:
    """Return one line for every reason, also for those with a count of zero."""
    reasons = [*REASONS, *sorted((draws.keys() | turns.keys()) - REASONS.keys())]
    rows = [(r, REASONS.get(r, ""), draws[r], turns[r]) for r in reasons]
    return _table(("reason", "meaning", "draws", "turns without a target"), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _example(sample: GattSample | None) -> str:
    if sample is None or sample.instruction is None:
        return ""
    lines = [f"## One of them\n\nInstruction: *{sample.instruction.text}*\n"]
    for user, target in list(zip(sample.dialogue.user_turns, sample.targets, strict=True))[:3]:
        said = target.reply if target.reply is not None else f"(no target: {target.reason})"
        lines.append(f"- user: {_one_line(user)}\n- target: {_one_line(said)}")
    return "\n".join(lines)


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
