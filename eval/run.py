"""`gatt eval`: arms side by side, to samples, curves and a report; resumable."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from eval.cases import Case, make_cases
from eval.config import REMINDER, EvalConfig
from eval.judging import judge
from eval.metrics.curves import curves
from eval.metrics.paired import differences
from eval.report.render import render_report
from eval.report.selection import SCHEMA
from eval.rollout import roll_out
from eval.samples import Sample
from eval.triggers import Triggers, find_triggers, own_replies
from eval.vacuous import vacuous_curves
from gatt.catalog import Catalog
from gatt.chat_template import inspect_template, usable_placement
from gatt.config import config_dict, fingerprint, save_config
from gatt.dialogue import Dialogue
from gatt.generation.base import Engine, forget
from gatt.generation.config import make_engine
from gatt.progress import progress_bar
from gatt.provenance import provenance
from gatt.records import RecordStore, atomic_write_json, atomic_write_text, read_records
from gatt.sources import SourceReport
from gatt.sources.answered import answered_questions
from gatt.verifiers import verifier_versions

ROLLOUTS_FILE = "rollouts.jsonl"
"""One line per arm, history and case: the unit of resuming."""
SAMPLES_FILE = "samples.jsonl"
RESULTS_FILE = "results.json"
REPORT_FILE = "report.html"


@dataclass(frozen=True)
class EvalResult:
    """What a run left behind."""

    results: dict[str, Any]
    report: Path
    num_new: int
    """Samples made by this call; 0 if all stood there already."""


def evaluate(config: EvalConfig, engine: Callable[[], Engine] | None = None) -> EvalResult:
    """Run an evaluation, going on where an earlier call stopped.

    Args:
        config: the whole of it.
        engine: makes the engine when it is needed; default: the configured model
            with the configured adapters. Another one is not looked into: that its
            model stays the same is up to the caller.

    Raises:
        ConfigError: a source that cannot be had.
        CatalogError: no instruction can be drawn.
        DataError: no dialogue.
        ModelError: a model or adapter cannot be loaded.
        StoreError: the folder belongs to another configuration or is in use.
    """
    made: list[Engine] = []

    def get_engine() -> Engine:
        if not made:
            made.append(engine() if engine else make_engine(config.engine, _adapters(config)))
        return made[0]

    catalog = config.instructions.load()
    model_weights = "" if engine else config.engine.weights_digest()
    dialogues, source = _dialogues(config, get_engine, model_weights)
    cases = make_cases(config, catalog, dialogues)
    triggers = _triggers(config, catalog, dialogues, cases)
    settings = fingerprinted(config) | {"model_weights": model_weights}
    pool = triggers.entries if triggers else ()
    if triggers:
        rules = [[e.id, [v.as_dict() for v in e.verifiers]] for e in pool]
        settings["false_triggers"] = triggers.as_dict() | {"rules": fingerprint({"rules": rules})}
    mark = fingerprint({"settings": settings, "cases": [_case_row(c) for c in cases]})
    work = [
        (arm, history, cases[start : start + config.batch_cases])
        for history in config.histories
        for arm in config.arms
        for start in range(0, len(cases), config.batch_cases)
    ]
    num_new = 0
    path = config.output_dir / ROLLOUTS_FILE
    with RecordStore(path, fingerprint=mark, kind="rollout", describe=settings) as store:
        save_config(config, config.output_dir / "eval.yaml")
        done = store.keys("key")
        total = len(cases) * len(config.arms) * len(config.histories)
        with progress_bar("eval", total, unit="roll-outs", done=len(done)) as bar:
            usable: EvalConfig | None = None
            for arm, history, batch in work:
                missing = [c for c in batch if _key(arm, history, c) not in done]
                if not missing:
                    continue
                usable = usable or _with_usable_placement(config, get_engine())
                forget(get_engine())
                replies = roll_out(get_engine(), missing, arm, history, usable)
                for case in missing:
                    samples = [judge(r, arm, history, pool) for r in replies if r.case is case]
                    rows = [s.as_dict() for s in samples]
                    store.append({"key": _key(arm, history, case), "samples": rows})
                    num_new += len(rows)
                    bar.advance(1)
    return _close(config, cases, triggers, source.as_dict(), made, num_new)


def _triggers(
    config: EvalConfig, catalog: Catalog, dialogues: Sequence[Dialogue], cases: Sequence[Case]
) -> Triggers | None:
    """Return what counts as a false trigger, None in a run without plain dialogues."""
    if not config.num_plain:
        return None
    replies = own_replies(dialogues, cases, config.turns)
    return find_triggers(config.instructions.select(catalog, ()), replies)


def _with_usable_placement(config: EvalConfig, engine: Engine) -> EvalConfig:
    """Return the configuration, with `first_user` where the template has no system role."""
    tokenizer = getattr(engine, "tokenizer", None)
    if config.placement != "system" or tokenizer is None:
        return config
    return replace(
        config, placement=usable_placement(config.placement, inspect_template(tokenizer))
    )


def _dialogues(
    config: EvalConfig, engine: Callable[[], Engine], model_weights: str
) -> tuple[list[Dialogue], SourceReport]:
    """Return the dialogues of the source; `questions` are answered by the base model and kept."""
    if config.source.name != "questions":
        return config.source.load(config.part)
    source = replace(
        config.source, num=config.source.num or max(config.num_dialogues, config.num_plain)
    )
    return answered_questions(
        source.request(),
        config.part,
        engine,
        config.sampling.params(config.seed),
        config.output_dir / "dialogues.jsonl",
        f"{config.engine.model} {model_weights}",
    )


def fingerprinted(config: EvalConfig) -> dict[str, Any]:
    """Return what decides the samples: not where they go, nor the size of batches."""
    settings = config_dict(config)
    for key in ("output_dir", "batch_cases"):
        del settings[key]
    settings["engine"] = config.engine.decisive()
    weights = {n: config.engine.adapter_digest(at) for n, at in _adapters(config).items()}
    return settings | {"verifiers": verifier_versions(), "adapter_weights": weights}


def _adapters(config: EvalConfig) -> dict[str, Path]:
    return {name: Path(folder) for name, folder in config.adapters.items() if name in config.arms}


def _key(arm: str, history: str, case: Case) -> str:
    return f"{arm}/{history}/{case.id}"


def _case_row(case: Case) -> list[Any]:
    return [
        case.id,
        case.dialogue.as_dict(),
        case.instruction.as_dict() if case.instruction else None,
        case.probe.as_dict() if case.probe else None,
    ]


def _close(
    config: EvalConfig,
    cases: Sequence[Case],
    triggers: Triggers | None,
    source: dict[str, object],
    made: Sequence[Engine],
    num_new: int,
) -> EvalResult:
    """Write samples, results and report from the roll-outs on disk."""
    order = {
        _key(arm, history, case): index
        for index, (history, arm, case) in enumerate(
            (h, a, c) for h in config.histories for a in config.arms for c in cases
        )
    }
    rollouts = sorted(
        read_records(config.output_dir / ROLLOUTS_FILE), key=lambda r: order[r["key"]]
    )
    samples = [Sample.from_dict(row) for rollout in rollouts for row in rollout["samples"]]
    lines = (json.dumps(s.as_dict(), ensure_ascii=False) + "\n" for s in samples)
    atomic_write_text(config.output_dir / SAMPLES_FILE, "".join(lines))
    path = config.output_dir / RESULTS_FILE
    run = (
        json.loads(path.read_text(encoding="utf-8"))["run"] if not num_new and path.exists() else {}
    )
    if not run:
        run = _head(config) | {"config": config_dict(config)}
        run["source"] = source
        run["verifiers"] = verifier_versions()
        counters = getattr(made[0], "counters", None) if made else None
        run["tokens"] = asdict(counters) if counters else {}
    pool = triggers.entries if triggers else ()
    results: dict[str, Any] = {
        "schema": SCHEMA,
        "run": run,
        "curves": [asdict(p) for p in (*curves(samples), *vacuous_curves(samples, pool))],
        "differences": [asdict(d) for d in differences(samples, seed=config.seed)],
        "notes": _notes(config, cases, triggers),
    }
    if triggers:
        results["false_triggers"] = triggers.as_dict()
    atomic_write_json(path, results)
    report = config.output_dir / REPORT_FILE
    render_report(results, samples, report)
    return EvalResult(results, report, num_new)


def _head(config: EvalConfig) -> dict[str, Any]:
    """Return where the results come from; short texts first, as the report's head shows them."""
    found = provenance()
    commit = found.pop("commit") or {}
    state = "" if commit.get("is_clean", True) else " with uncommitted changes"
    memory = f"{found['memory_gib']:.0f} GiB" if found["memory_gib"] else ""
    hardware = [*found["gpus"], found["cpu"], f"{found['num_cpus']} cores", memory]
    return {
        "name": config.output_dir.name,
        "model": config.engine.model,
        "seed": config.seed,
        "commit": f"{commit['id'][:12]}{state}" if commit.get("id") else "",
        "hardware": ", ".join(part for part in hardware if part),
        **found,
    }


def _notes(config: EvalConfig, cases: Sequence[Case], triggers: Triggers | None) -> list[str]:
    notes = []
    num_dialogues = len({c.dialogue.id for c in cases})
    if num_dialogues < len(cases):
        notes.append(
            f"{len(cases)} cases share {num_dialogues} dialogues; intervals are clustered by dialogue."
        )
    if REMINDER in config.arms:
        notes.append(
            "base+reminder repeats the instruction on every turn; it is meant as an upper bound."
        )
    if triggers:
        total = len(triggers.entries) + len(triggers.left_out)
        notes.append(
            f"A false trigger follows one of {len(triggers.entries)} of the {total} catalogue entries; "
            f"the other {len(triggers.left_out)} are left out, because ordinary replies satisfy them."
        )
    if config.part != "eval":
        notes.append(
            "Dialogues were not limited to the evaluation part: training may have seen them."
        )
    return notes
