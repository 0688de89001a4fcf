"""`gatt attend`: from the replies of an evaluation to `attention.json`, its page and its pictures."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from eval.config import EvalConfig
from eval.records.arms import BASE
from eval.records.case import Case, Reply
from eval.records.samples import REPORT_FILE
from eval.report.charts.attention import save_attention_charts
from eval.report.charts.drawing import refuse_other_endings
from eval.report.data.runs import ATTENTION_FILE, ATTENTION_SCHEMA, read_runs, samples_of
from eval.report.page.render import render_attention, render_report
from eval.results.provenance import head
from eval.scoring.verdict import judge_by_rules
from eval.studies.attention.layout import Layout, lay_out
from eval.studies.attention.measure import hidden_replies, measure
from eval.studies.attention.statistics import Looked, curves, falls, maps
from eval.studies.attention.task import HISTORY, AttendConfig, Task, read_task
from gatt.comb.model_support import why_not_packable
from gatt.config.load import config_dict
from gatt.errors import DataError, ModelError
from gatt.generation.config import local_engine
from gatt.generation.local.engine import TransformersEngine
from gatt.models.template_facts import inspect_template, usable_placement
from gatt.runs.atomic_file import atomic_write_json, refuse_unwritable
from gatt.runs.progress import progress_bar
from gatt.verifiers import verifier_versions

log = logging.getLogger(__name__)

NO_TEXT: Final = "replies without text, or behind the end of the context"


def attend(config: AttendConfig) -> tuple[dict[str, Any], list[Path]]:
    """Measure where the base model and an adapter look; return the results and the files written.

    Raises:
        StoreError: the results cannot be written.
        ConfigError, CatalogError, DataError: see `read_task`.
        ModelError: a model or adapter cannot be loaded, or returns no attention weights.
    """
    path = config.folder / ATTENTION_FILE
    refuse_unwritable(path)
    if config.chart:
        refuse_other_endings(config.chart)
        refuse_unwritable(config.chart)
    task = read_task(config)
    arm = task.arms[1]
    engine = local_engine(task.config.engine, {arm: task.config.adapters[arm]})
    if problem := why_not_packable(engine.model.config):
        raise ModelError(
            f"{engine.name}: it returns no attention weights: {problem}: choose a model of transformers' own "
            "with layers of full or sliding attention, such as Llama, Qwen, Gemma, Mistral or Phi"
        )
    looked = look(task, engine)
    dropped = dict(+task.dropped)
    for reason, num in dropped.items():
        log.warning("not measured: %d (%s)", num, reason)
    run = head(task.config) | {"source": dict(task.source), "verifiers": verifier_versions()}
    model_config = engine.model.config.get_text_config()
    results = {
        "schema": ATTENTION_SCHEMA,
        "run": run | {"config": config_dict(config)},
        "arms": list(task.arms),
        "history": HISTORY,
        "num_dialogues": len({one.case.dialogue.id for one in looked}),
        "curves": curves(looked, task.arms),
        "unsighted": {"falls": falls(looked, task.arms)},
        "maps": maps(looked, arm),
        "dropped": dropped,
        "num_layers": model_config.num_hidden_layers,
        "num_heads": model_config.num_attention_heads,
    }
    return results, _write(config, results)


def _write(config: AttendConfig, results: Mapping[str, Any]) -> list[Path]:
    """Write results, page, pictures and, beside an evaluation, its report; return their places."""
    written = [config.folder / ATTENTION_FILE, config.folder / "attention.html"]
    atomic_write_json(written[0], results)
    render_attention(results, written[1])
    if config.chart:
        written += save_attention_charts(config.chart, results)
    if config.folder == config.results:
        runs = read_runs([str(config.results)])
        written.append(config.results / REPORT_FILE)
        render_report(runs[0].results, samples_of(runs), written[-1])
    return written


def look(task: Task, engine: TransformersEngine) -> list[Looked]:
    """Return where every reply looked, and the last replies with tokens hidden.

    A case that cannot be read is counted and left out for both arms.

    Raises:
        DataError: none can be read.
    """
    placement = usable_placement(task.config.placement, inspect_template(engine.tokenizer))
    fitted = partial(
        lay_out, engine.tokenizer, placement=placement, max_tokens=engine.context_tokens
    )
    looked = []
    with progress_bar("attention", len(task.replies), unit="dialogues") as bar:
        for case, by_arm in task.replies:
            bar.advance(1)
            text = case.instruction.text if case.instruction else ""
            try:
                layouts = {
                    arm: fitted(case.dialogue, text, samples) for arm, samples in by_arm.items()
                }
            except DataError as error:
                task.dropped[str(error).partition(": ")[2]] += 1
                continue
            for arm, layout in layouts.items():
                task.dropped[NO_TEXT] += len(by_arm[arm]) - len(layout.targets)
                looked.append(_looked(task.config, engine, case, arm, layout))
    if not looked:
        reasons = "; ".join(f"{num}: {why}" for why, num in (+task.dropped).items())
        raise DataError(
            f"none of {len(task.replies)} cases can be measured ({reasons}): expected others"
        )
    return looked


def _looked(
    config: EvalConfig, engine: TransformersEngine, case: Case, arm: str, layout: Layout
) -> Looked:
    adapter = None if arm == BASE else arm
    with engine.using(adapter):
        turns = measure(engine.model, layout)
    seed, most = f"{config.seed}/{case.id}", config.sampling.max_new_tokens
    turn = turns[-1].sample.turn
    hidden = {}
    for what, said in hidden_replies(engine, layout, adapter, most, seed).items():
        reply = Reply(case, turn, "turn", case.user_turn(turn), said)
        hidden[what] = said.text, judge_by_rules(reply, arm, HISTORY, ()).status
    return Looked(case, arm, layout.bins, turns, hidden)
