"""From the roll-outs on disk to samples, `results.json` and the report."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from eval.cases.build import Inputs
from eval.cases.unmeasured import Triggers, Unmeasured
from eval.config import EvalConfig, used_adapters
from eval.metrics.ability import able_instructions
from eval.metrics.agreement import Agreement, agreement
from eval.metrics.curves import curves, vacuous_curves
from eval.metrics.failures import failures
from eval.metrics.paired import differences
from eval.metrics.parts import part_rates
from eval.metrics.retention import retentions
from eval.metrics.table import folded
from eval.records.samples import (
    REPORT_FILE,
    RESULTS_FILE,
    RESULTS_SCHEMA,
    ROLLOUTS_FILE,
    SAMPLES_FILE,
    Sample,
)
from eval.report.page.render import render_report
from eval.results.checks import checks
from eval.results.conversation import conversations
from eval.results.notes import notes, notes_of_replies
from eval.results.provenance import note_of_calls, run_head
from eval.results.undecided import notes_of_undecided
from eval.rollout.rows import read_rows, row_keys, total_tokens
from eval.scoring.judge.run import JUDGEMENTS_FILE, judge_samples
from eval.scoring.verdict import attach
from gatt.config.load import config_dict
from gatt.generation.base import Engine
from gatt.runs.atomic_file import atomic_write_json, atomic_write_text
from gatt.train.record import read_training
from gatt.verifiers import own_versions, verifier_versions


@dataclass(frozen=True)
class EvalResult:
    """The results of a run, and its files."""

    results: dict[str, Any]
    report: Path
    samples: Sequence[Sample]
    """As `samples.jsonl` holds them."""
    num_new: int
    """Samples made by this call; 0 if all stood there already."""


@dataclass(frozen=True)
class Checked:
    """What a run knows before its first reply."""

    triggers: Triggers | None
    """What counts as a false trigger, None in a run without plain dialogues."""
    unknown: Sequence[str]
    """Arms that do not say what they were trained on."""
    unmeasured: Unmeasured
    own_decoding: Mapping[str, Any] = field(default_factory=dict)
    """Settings that the local model's files ask for and that no engine here applies."""


def close(
    config: EvalConfig,
    inputs: Inputs,
    checked: Checked,
    num_new: int,
    judge_engine: Callable[[], Engine] | None = None,
) -> EvalResult:
    """Write samples, results and report from the roll-outs on disk.

    `num_new` samples were made by this call. `judge_engine` makes the judge; by default the configured
    model, if there is one.

    Raises:
        StoreError: a file that cannot be written, or verdicts of another judge.
        GenerationError: the judge cannot be asked.
    """
    cases, triggers = inputs.cases, checked.triggers
    by_key = {row["key"]: row for row in read_rows(config.output_dir / ROLLOUTS_FILE)}
    # Arms and histories of earlier calls stay on disk, and are not in these results.
    rows = [
        by_key[key]
        for history, arm, case in product(config.histories, config.arms, cases)
        for key in row_keys(arm, history, case, config)
        if key in by_key
    ]
    samples = samples_of_rows(rows)
    agreements: list[Agreement] = []
    if config.judge:
        verdicts = judge_samples(
            samples,
            config.judge,
            config.output_dir / JUDGEMENTS_FILE,
            judge_engine,
            conversations(cases, by_key),
        )
        agreements = agreement(samples, verdicts)
        samples = attach(samples, verdicts)
    lines = (json.dumps(s.as_dict(), ensure_ascii=False) + "\n" for s in samples)
    atomic_write_text(config.output_dir / SAMPLES_FILE, "".join(lines))
    run = run_head(config) | {
        "source": inputs.source,
        "verifiers": verifier_versions() | own_versions(v for s in samples for v in s.asked),
        "tokens": total_tokens(rows),
        "config": config_dict(config),
    }
    pool = triggers.entries if triggers else ()
    points = curves(samples, able=able_instructions(samples))
    # Replies of a case file that stand under an instruction may follow it: they are no ordinary replies.
    ordinary = (s for s in samples if not config.cases or s.instruction is None)
    results: dict[str, Any] = {
        "schema": RESULTS_SCHEMA,
        "run": run,
        "curves": [asdict(p) for p in (*points, *vacuous_curves(ordinary, pool, cases))],
        "differences": [asdict(d) for d in differences(samples, config.compared_with)],
        "retention": [asdict(r) for r in retentions(samples, config.seed)],
        "failures": [asdict(f) for f in failures(samples)],
        "parts": [asdict(p) for p in part_rates(samples)],
        "training": trainings(used_adapters(config)),
        "agreement": [asdict(a) for a in agreements],
        "limits": limits(rows),
        "checks": checks(config, samples, run["tokens"], checked.own_decoding),
        "notes": [
            *notes(config, cases, triggers, checked.unknown),
            *filter(None, [checked.unmeasured.line()]),
            *notes_of_replies(points, samples, config.sampling.max_new_tokens),
            *notes_of_undecided(samples, config.sampling.max_new_tokens),
            *note_of_calls(run),
        ],
    }
    if triggers:
        results["false_triggers"] = triggers.as_dict()
    atomic_write_json(config.output_dir / RESULTS_FILE, results)
    report = config.output_dir / REPORT_FILE
    render_report(results, samples, report)
    return EvalResult(results, report, samples, num_new)


def samples_of_rows(rows: Iterable[Mapping[str, Any]]) -> list[Sample]:
    """Return the samples of rows of whole cases, in the order of turns; own histories get `is_repeated`."""
    said_before: dict[str, set[str]] = defaultdict(set)
    samples = []
    for row in rows:
        of_row = [Sample.from_dict(raw) for raw in row["samples"]]
        if "said" in row:
            earlier = said_before[row["key"].rpartition("/")[0]]
            said = folded(row["said"]["text"])
            of_row = [
                replace(s, is_repeated=said in earlier) if s.kind == "turn" and said else s
                for s in of_row
            ]
            earlier.add(said)
        samples += of_row
    return samples


def trainings(adapters: Mapping[str, Path]) -> list[dict[str, Any]]:
    """Return the finished training of each adapter, if its folder has one."""
    records = ((arm, read_training(folder)) for arm, folder in adapters.items())
    return [{"arm": arm} | asdict(record) for arm, record in records if record]


def limits(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a record of each arm and history that met the end of its context.

    A case is cut if the context had no room for one of its replies, or cut it. `num_replies_without`
    counts the turns without any reply: undecided, never a pass or a fail.
    """
    cases: dict[tuple[str, str], set[str]] = defaultdict(set)
    cut: dict[tuple[str, str], list[tuple[int, str, bool]]] = defaultdict(list)
    for row in rows:
        arm, history, case, *turn = row["key"].split("/")
        cases[arm, history].add(case)
        replies = [
            (s["turn"], s["finish"], s["reply"]) for s in row["samples"] if s["kind"] == "turn"
        ]
        if "said" in row:
            replies = [(int(turn[0]), row["said"]["finish"], row["said"]["text"])]
        for at, finish, text in replies:
            if finish == "context_limit":
                cut[arm, history].append((at, case, not text))
    return [
        {
            "arm": arm,
            "history": history,
            "num_cases": len(cases[arm, history]),
            "num_cases_cut": len({case for _, case, _ in cuts}),
            "first_turn": min(at for at, *_ in cuts),
            "num_replies_without": sum(is_silent for *_, is_silent in cuts),
        }
        for (arm, history), cuts in cut.items()
    ]
