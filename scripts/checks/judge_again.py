"""Judge the replies of published runs by today's rules, and say what that changes.

    python scripts/checks/judge_again.py results/ordinary results/table30
    python scripts/checks/judge_again.py --table results/judged_again.md results/*

Only `samples.jsonl` (plain, .gz or .xz) and `results.json` of a run are needed, no model. Each reply is given
the verifiers that the catalogue has today for the entries of its instruction; an instruction that is not
in the catalogue keeps the verifiers that stand beside the reply. The run's `results.json`, samples and
`report.html` are written anew. The first time, the curves and the verifiers' versions of before are kept in
`before.json` beside them; `--table` sets both side by side.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from eval.metrics.curves import curves
from eval.metrics.events import events
from eval.metrics.own_replies import vacuous_curves
from eval.metrics.paired import differences
from eval.metrics.summaries import summaries
from eval.records.file_names import REPORT_FILE, RESULTS_FILE, samples_of_run
from eval.records.samples import Sample, read_samples
from eval.report.data.runs import read_attention
from eval.report.page.render import render_report
from eval.scoring.judge.status import expected_status
from eval.scoring.verdict import RUNNER, verdicts_of_turn
from gatt.data.catalog.ordinary_replies import is_ordinary
from gatt.data.catalog.read import load_catalog
from gatt.data.catalog.switch_leakage import Rules, leak_status
from gatt.data.instruction import Entry, Instruction
from gatt.errors import DataError, GattError
from gatt.runs.atomic_file import atomic_stream, atomic_write_json, atomic_write_text
from gatt.runs.progress import progress_bar
from gatt.runs.provenance import provenance
from gatt.verifiers import Verdict, check_all, overall, verifier_versions
from gatt.verifiers.table import check_loose
from gatt.verifiers.text.degenerate import degenerate

BEFORE: Final = "before.json"
SHOWN: Final = ("adherence", "probe_recall", "false_trigger", "leakage")
SHOWN_TURNS: Final = (1, 2, 4, 8, 12, 20, 40)
Entries = Mapping[str, Entry]


def refreshed(instruction: Instruction, entries: Entries) -> Instruction:
    """Return the instruction with today's verifiers and probes, where all its entries are in the catalogue."""
    if not instruction.entries or any(name not in entries for name in instruction.entries):
        return instruction
    parts = [entries[name] for name in instruction.entries]
    return replace(
        instruction,
        verifiers=tuple(v for part in parts for v in part.verifiers),
        probes=tuple(p for part in parts for p in part.probes) or instruction.probes,
    )


def rules_of(ended: Instruction, held: Instruction | None) -> Rules:
    """Return the rules of an ended instruction, as `gatt.data.catalog.switch_leakage.ended_rules` does."""
    now = held.verifiers if held else ()
    return tuple(
        rules
        for rules in ended.rules
        if not (rules and all(rule in now for rule in rules)) and not is_ordinary(rules)
    )


@dataclass
class Judged:
    """The samples of one run by today's rules."""

    samples: list[Sample] = field(default_factory=list)
    rules: dict[tuple[Any, ...], Rules] = field(default_factory=dict)
    """Case and turn to the rules of what had ended, for the dialogues' own replies."""
    num_changed: int = 0


def judged(samples: Iterator[Sample], pool: Sequence[Entry], entries: Entries) -> Judged:
    """Return the samples with verdicts of today.

    Args:
        samples: as published.
        pool: entries that count for false triggers.
        entries: of today's catalogue, by id.
    """
    found = Judged()
    for sample in samples:
        now = judged_sample(sample, pool, entries, found.rules)
        found.num_changed += (now.status, now.leak) != (sample.status, sample.leak)
        found.samples.append(now)
    return found


def judged_sample(
    sample: Sample, pool: Sequence[Entry], entries: Entries, rules: dict[tuple[Any, ...], Rules]
) -> Sample:
    """Return one sample with verdicts of today; see `eval.scoring.verdict.judge` for the rules."""
    if any(v.verifier == RUNNER for v in sample.verdicts) and not sample.reply:
        return sample
    instruction = sample.instruction and refreshed(sample.instruction, entries)
    ended = sample.ended and refreshed(sample.ended, entries)
    verdicts: tuple[Verdict, ...]
    if sample.kind == "probe" and instruction:
        asked = next((p for p in instruction.probes if p.question == sample.user), None)
        if asked is None:
            return sample
        verdicts = check_all(asked.verifiers, sample.reply)
        status = overall(verdicts)
        leaking: Rules = (asked.verifiers,)
    else:
        status, verdicts = verdicts_of_turn(sample.reply, instruction, pool)
        leaking = ()
    junk = degenerate(sample.reply) if sample.expected == "released" else None
    if junk:
        status, verdicts = "fail", (Verdict("fail", junk, RUNNER, 1),)
    else:
        status = expected_status(status, sample.expected)
    loose = sample.loose
    if loose is not None and instruction:
        loose = status if status != "fail" else check_loose(instruction.verifiers, sample.reply)
    leak = sample.leak
    if leak is not None and ended:
        if sample.kind == "turn":
            held = instruction if sample.expected == "kept" else None
            leaking = rules_of(ended, held)
            rules[(*sample.case, sample.turn)] = leaking
        leak = leak_status(leaking, sample.reply) or leak
    return replace(
        sample, instruction=instruction, ended=ended, verdicts=verdicts, status=status, loose=loose,
        leak=leak,
    )  # fmt: skip


@dataclass(frozen=True)
class _Changed:
    """What `vacuous_curves` asks of a case whose instruction changes."""

    key: tuple[str, str, str]
    rules: Mapping[int, Rules]
    switches: tuple[bool, ...] = (True,)

    @property
    def dialogue(self) -> Any:
        return _Named(self.key[0])

    @property
    def instruction(self) -> Any:
        return _Named(self.key[1])

    @property
    def twin(self) -> str:
        return self.key[2]

    def ended_rules(self, turn: int) -> Rules:
        return self.rules.get(turn, ())


@dataclass(frozen=True)
class _Named:
    id: str


def trigger_pool(results: Mapping[str, Any], entries: Entries) -> list[Entry]:
    """Return the entries that counted for false triggers: those of the run's choice that were not left out."""
    triggers = results.get("false_triggers")
    if not triggers:
        return []
    choice = results["run"]["config"]["instructions"]
    families, values = choice["families"], set(choice.get("values", ()))
    excluded = {*choice.get("exclude", ()), *triggers["left_out"]}
    return [
        entry
        for entry in entries.values()
        if (not families or entry.family in families)
        and (not values or {entry.id, entry.value} & values)
        and excluded.isdisjoint({entry.id, entry.value})
    ]


def judge_run(folder: Path, entries: Entries, commit: Mapping[str, Any] | None) -> str:
    """Judge one run anew, write its files, and return a line that says what changed.

    Raises:
        DataError: no results or replies there.
    """
    path = folder / RESULTS_FILE
    if not path.is_file():
        raise DataError(f"{folder}: no {RESULTS_FILE}: expected the folder of an evaluation")
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    kept = samples_of_run(folder)
    run = results["run"]
    pool = trigger_pool(results, entries)
    found = judged(read_samples(kept), pool, entries)
    before = folder / BEFORE
    if not before.exists():
        kept_before = {"verifiers": run.get("verifiers"), "curves": results["curves"]}
        atomic_write_text(before, json.dumps(kept_before, separators=(",", ":")) + "\n")
    by_case: dict[tuple[str, str, str], dict[int, Rules]] = defaultdict(dict)
    for (*case, turn), rules in found.rules.items():
        by_case[(case[0], case[1], case[2])][turn] = rules
    changed: Any = [_Changed(case, rules) for case, rules in by_case.items()]
    config = run.get("config") or {}
    ordinary = (s for s in found.samples if not config.get("cases") or s.instruction is None)
    points = curves(found.samples)
    arms = config.get("arms") or ["base"]
    first = "base" if "base" in arms else arms[0]
    run["verifiers"] = verifier_versions()
    run["rules"] = {"before": json.loads(before.read_text(encoding="utf-8"))["verifiers"]} | {
        "judged_again": {
            "command": "scripts/checks/judge_again.py",
            "commit": commit,
        }
    }
    results |= {
        "curves": [asdict(p) for p in (*points, *vacuous_curves(ordinary, pool, changed))],
        "summaries": [asdict(s) for s in summaries(found.samples, points)],
        "events": [asdict(e) for e in events(found.samples)],
        "differences": [
            asdict(d) for d in differences(found.samples, config.get("baseline") or first)
        ],
    }
    lines = "".join(json.dumps(s.as_dict(), ensure_ascii=False) + "\n" for s in found.samples)
    with atomic_stream(kept) as stream:
        stream.write(_packed(kept, lines.encode("utf-8")))
    atomic_write_json(path, results)
    if (folder / REPORT_FILE).exists():
        render_report(results | read_attention(folder), found.samples, folder / REPORT_FILE)
    return f"{folder.name}: {found.num_changed} of {len(found.samples)} verdicts changed"


def _packed(path: Path, text: bytes) -> bytes:
    if path.suffix == ".xz":
        return lzma.compress(text, preset=9)
    return gzip.compress(text, mtime=0) if path.suffix == ".gz" else text


def table(folders: Sequence[Path]) -> str:
    """Return a Markdown table of the rates by the rules of before and of today."""
    head = "| run | arm | history | metric | split |"
    lines = [head + "".join(f" {turn} |" for turn in SHOWN_TURNS)]
    lines += ["|---" * 5 + "|" + "---:|" * len(SHOWN_TURNS)]
    for folder in folders:
        then = json.loads((folder / BEFORE).read_text(encoding="utf-8"))["curves"]
        now = json.loads((folder / RESULTS_FILE).read_text(encoding="utf-8"))["curves"]
        rates = {_where(point): [point["rate"], None] for point in then if _is_shown(point)}
        for point in now:
            if _is_shown(point):
                rates.setdefault(_where(point), [None, None])[1] = point["rate"]
        rows: dict[tuple[str, ...], dict[int, str]] = defaultdict(dict)
        for (*what, turn), (old, new) in rates.items():
            rows[tuple(what)][turn] = f"{_percent(old)} → {_percent(new)}"
        for what, cells in rows.items():
            told = "".join(f" {cells.get(turn, '')} |" for turn in SHOWN_TURNS)
            lines.append(f"| {folder.name} | " + " | ".join(what) + f" |{told}")
    return "\n".join(lines) + "\n"


def _is_shown(point: Mapping[str, Any]) -> bool:
    return (
        point["metric"] in SHOWN and point["family"] == "all" and point["turn"] in SHOWN_TURNS
        and point["split"] in ("all", "train", "heldout_value")
    )  # fmt: skip


def _where(point: Mapping[str, Any]) -> tuple[Any, ...]:
    return (point["arm"], point["history"], point["metric"], point["split"], point["turn"])


def _percent(rate: float | None) -> str:
    return "–" if rate is None else f"{100 * rate:.0f}"


def main() -> int:
    """Judge the runs, or write the table of what changed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="folder of a published run"
    )
    parser.add_argument("--table", type=Path, metavar="FILE", help="judge nothing, write the table")
    args = parser.parse_args()
    try:
        if args.table:
            atomic_write_text(
                args.table, table([run for run in args.runs if (run / BEFORE).exists()])
            )
            return 0
        entries = {entry.id: entry for entry in load_catalog().entries}
        # The first run's new files make the checkout another one.
        commit = provenance()["commit"]
        with progress_bar("judge", len(args.runs), unit="runs") as bar:
            for run in args.runs:
                print(judge_run(run, entries, commit), flush=True)
                bar.advance(1)
    except GattError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
