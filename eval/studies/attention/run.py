"""`gatt attend`: from the replies of an evaluation to `attention.json`, its page and its pictures."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from eval.config import BASE
from eval.records.case import Reply
from eval.records.file_names import REPORT_FILE
from eval.report.charts.attention import save_attention_charts
from eval.report.data.runs import read_runs, samples_of
from eval.report.page.attention import ATTENTION_FILE, SCHEMA
from eval.report.page.render import render_attention, render_report
from eval.results.provenance import head
from eval.scoring.verdict import judge
from eval.studies.attention.config import AttendConfig
from eval.studies.attention.layout import Layout, lay_out
from eval.studies.attention.masked import hidden_replies
from eval.studies.attention.statistics import Looked, curves, falls, maps
from eval.studies.attention.task import HISTORY, Spoken, Task, plan, replies_of
from eval.studies.attention.weights import measure, refuse_unreadable
from gatt.config.load import config_dict
from gatt.errors import DataError, StoreError
from gatt.generation.base import Generation
from gatt.generation.config import local_engine
from gatt.generation.local.engine import TransformersEngine
from gatt.models.template_facts import inspect_template, usable_placement
from gatt.runs.atomic_file import atomic_write_json, refuse_unwritable
from gatt.runs.progress import progress_bar
from gatt.verifiers import verifier_versions
from gatt.verifiers.base import Status

log = logging.getLogger(__name__)

PAGE_FILE: Final = "attention.html"
BEHIND_CONTEXT: Final = "replies behind the end of the model's context"


def attend(config: AttendConfig) -> tuple[dict[str, Any], list[Path]]:
    """Measure where the base model and an adapter look; return the results and the files written.

    Raises:
        StoreError: results exist already, or cannot be written.
        ConfigError, CatalogError, DataError: see `plan` and `replies_of`.
        ModelError: a model or adapter cannot be loaded, or returns no attention weights.
    """
    path = config.folder / ATTENTION_FILE
    if path.exists() and not config.overwrite:
        raise StoreError(
            f"{path}: exists already: give another output_dir, or overwrite=true to replace it"
        )
    for target in (path, config.chart):
        if target is not None:
            refuse_unwritable(target)
    task = plan(config)
    spoken = replies_of(task, config)
    engine = local_engine(task.config.engine, task.config.adapters)
    usable = usable_placement(task.config.placement, inspect_template(engine.tokenizer))
    task = replace(task, config=replace(task.config, placement=usable))
    looked = look(task, engine, spoken, config.seed)
    for reason, num in (+task.dropped).items():
        log.warning("not measured: %d (%s)", num, reason)
    facts = {
        "source": dict(task.source), "verifiers": verifier_versions(), "config": config_dict(config),
    }  # fmt: skip
    model_config = engine.model.config.get_text_config()
    results = {
        "schema": SCHEMA,
        "run": head(task.config) | facts,
        "arms": list(task.arms),
        "history": HISTORY,
        "num_dialogues": len({one.spoken.case.dialogue.id for one in looked}),
        "curves": curves(looked, task.arms),
        "unsighted": {"falls": falls(looked, task.arms)},
        "maps": maps(looked, task.arms[1]),
        "dropped": dict(+task.dropped),
        "notes": [],
        "num_layers": model_config.num_hidden_layers,
        "num_heads": model_config.num_attention_heads,
    }
    return results, _write(config, results)


def _write(config: AttendConfig, results: Mapping[str, Any]) -> list[Path]:
    """Write results, page, pictures and, beside an evaluation, its report; return their places."""
    written = [config.folder / ATTENTION_FILE, config.folder / PAGE_FILE]
    atomic_write_json(written[0], results)
    render_attention(results, written[1])
    if config.chart:
        written += save_attention_charts(config.chart, results)
    if config.folder == config.results:
        runs = read_runs([str(config.results)])
        written.append(config.results / REPORT_FILE)
        render_report(runs[0].results, samples_of(runs), written[-1])
    return written


def look(
    task: Task, engine: TransformersEngine, spoken: Sequence[Spoken], seed: int
) -> list[Looked]:
    """Return where every reply looked, and the last replies with tokens hidden.

    A case that cannot be read is left out for both arms, and counted.

    Raises:
        DataError: none can be read.
        ModelError: the model returns no attention weights.
    """
    refuse_unreadable(engine.model, engine.name)
    both: list[tuple[Spoken, Layout]] = []
    for _, members in groupby(spoken, lambda one: one.case.id):
        try:
            pairs = [(one, _layout(task, engine, one)) for one in members]
        except DataError as error:
            task.dropped[str(error).partition(": ")[2]] += 1
            continue
        both += pairs if len(pairs) == len(task.arms) else []
    if not both:
        reasons = "; ".join(f"{num}: {why}" for why, num in task.dropped.items())
        raise DataError(
            f"none of {len(task.cases)} cases can be measured ({reasons}): expected others"
        )
    looked = []
    limit = task.config.sampling.max_new_tokens
    with progress_bar("attention", len(both), unit="dialogues") as bar:
        for one, layout in both:
            adapter = None if one.arm == BASE else one.arm
            with engine.using(adapter):
                turns = measure(engine.model, layout)
            hidden = hidden_replies(engine, layout, adapter, limit, f"{seed}/{one.case.id}")
            judged = {w: (g.text, _status(one, turns[-1].turn, g)) for w, g in hidden.items()}
            looked.append(Looked(one, layout, tuple(turns), judged))
            bar.advance(1)
    return looked


def _status(one: Spoken, turn: int, generation: Generation) -> Status:
    reply = Reply(one.case, turn, "turn", one.case.user_turn(turn), generation)
    return judge(reply, one.arm, HISTORY, ()).status


def _layout(task: Task, engine: TransformersEngine, one: Spoken) -> Layout:
    layout = lay_out(
        engine.tokenizer,
        one.case.dialogue,
        one.instruction.text,
        one.samples,
        placement=task.config.placement,
        max_tokens=engine.context_tokens,
    )
    unsaid = sum(s.finish == "context_limit" and not s.reply.strip() for s in one.samples)
    task.dropped[BEHIND_CONTEXT] += layout.num_left_out + unsaid
    return layout
