"""`gatt attend`: from dialogues and replies to `attention.json`, its page and its pictures."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from eval.config import BASE
from eval.records.file_names import REPORT_FILE
from eval.records.reply import Reply
from eval.report.charts.attention import save_attention_charts
from eval.report.data.runs import read_runs, samples_of
from eval.report.page.attention import ATTENTION_FILE
from eval.report.page.attention_page import render_attention
from eval.report.page.render import render_report
from eval.scoring.verdict import judge
from eval.studies.attention.config import AttendConfig
from eval.studies.attention.layout import Layout, lay_out
from eval.studies.attention.masked import hidden_replies
from eval.studies.attention.measure import measure, refuse_unreadable
from eval.studies.attention.results import results_of
from eval.studies.attention.spoken import Spoken, new_replies, replies_of
from eval.studies.attention.statistics import Looked, Unsighted
from eval.studies.attention.task import Task, plan
from gatt.errors import DataError, StoreError
from gatt.generation.config import EngineConfig, local_engine
from gatt.generation.local.engine import TransformersEngine
from gatt.models.adapter import base_model_of
from gatt.models.template_facts import inspect_template, usable_placement
from gatt.runs.atomic_file import atomic_write_json, refuse_unwritable
from gatt.runs.progress import progress_bar

log = logging.getLogger(__name__)

PAGE_FILE: Final = "attention.html"
RELEASED: Final = "by hiding the instruction: it holds at none of the turns"
BEHIND_CONTEXT: Final = "replies behind the end of the model's context"


@dataclass(frozen=True)
class Attended:
    """What a run left behind."""

    results: dict[str, Any]
    written: tuple[Path, ...]


def attend(config: AttendConfig, engine: TransformersEngine | None = None) -> Attended:
    """Look where the base model and an adapter look, and write it down.

    Args:
        config: the whole of it.
        engine: with the adapter loaded under the arm's name; default: the configured one.

    Raises:
        StoreError: results that are there already, or that cannot be written.
        ConfigError, CatalogError, DataError: see `plan`.
        ModelError: a model or adapter that cannot be loaded, or tells no weights.
    """
    path = config.folder / ATTENTION_FILE
    if path.exists() and not config.overwrite:
        raise StoreError(
            f"{path}: exists already: give another output_dir, or overwrite=true to replace it"
        )
    for target in (path, config.chart):
        if target is not None:
            refuse_unwritable(target)
    if engine is None:
        config = _on_own_base(config)
    task = plan(config)
    if engine is None:
        # Said before the model is loaded, which takes a while.
        base_model_of(Path(task.config.adapters[task.arm]))
    used = engine or local_engine(task.config.engine, task.config.adapters)
    task = _with_usable_placement(task, used)
    with used.using(None):
        refuse_unreadable(used.model, used.name)
    spoken = replies_of(task, config.samples) if config.samples else new_replies(task, used)
    used.forget()
    looked = look(task, used, spoken, config.bin_tokens)
    unsighted = answer_unsighted(task, used, looked, config.seed) if config.mask_last else []
    for reason, num in (+task.dropped).items():
        log.warning("not looked at: %d (%s)", num, reason)
    results = results_of(config, task, looked, unsighted)
    atomic_write_json(path, results)
    page = config.folder / PAGE_FILE
    render_attention(results, page)
    written = [path, page]
    if config.chart:
        written += save_attention_charts(config.chart, results)
    if config.samples and config.folder == config.samples:
        runs = read_runs([str(config.samples)])
        render_report(runs[0].results, samples_of(runs), config.samples / REPORT_FILE)
        written.append(config.samples / REPORT_FILE)
    return Attended(results, tuple(written))


def look(
    task: Task, engine: TransformersEngine, spoken: Sequence[Spoken], bin_tokens: int
) -> list[Looked]:
    """Return where every reply looked; a case that cannot be read is left out for both arms, and counted.

    Raises:
        DataError: none can be read.
        ModelError: a dialogue is longer than the model tells its weights for.
    """
    by_case: dict[str, list[Spoken]] = {}
    for one in spoken:
        by_case.setdefault(one.case.id, []).append(one)
    readable = [
        pair
        for members in by_case.values()
        for pair in zip(members, _layouts(task, engine, members, bin_tokens), strict=False)
    ]
    if not readable:
        reasons = "; ".join(f"{num}: {why}" for why, num in task.dropped.items())
        raise DataError(
            f"none of {len(task.cases)} dialogues can be looked at ({reasons}): expected others"
        )
    with engine.using(None):
        refuse_unreadable(engine.model, engine.name, max(la.num_tokens for _, la in readable))
    looked = []
    with progress_bar("attention", len(readable), unit="dialogues") as bar:
        for one, layout in readable:
            with engine.using(_adapter(one.arm)):
                looked.append(Looked(one, layout, tuple(measure(engine.model, layout))))
            bar.advance(1)
    return looked


def _layouts(
    task: Task, engine: TransformersEngine, members: Sequence[Spoken], bin_tokens: int
) -> list[Layout]:
    """Return the layouts of both arms of a case, or none if one of them cannot be read."""
    layouts = []
    for one in members:
        try:
            layout = lay_out(
                engine.tokenizer,
                one.dialogue,
                one.instruction.text,
                one.said,
                placement=task.config.placement,
                bin_tokens=bin_tokens,
                max_tokens=engine.context_tokens,
            )
        except DataError as error:
            task.dropped[str(error).partition(": ")[2]] += 1
            return []
        if layout is None:
            task.dropped["no reply with text within the model's context"] += 1
            return []
        never_said = sum(s.finish == "context_limit" and not s.reply.strip() for s in one.samples)
        task.dropped[BEHIND_CONTEXT] += layout.num_left_out + never_said
        layouts.append(layout)
    if len(layouts) < len(task.arms):
        return []
    return layouts


def answer_unsighted(
    task: Task, engine: TransformersEngine, looked: Sequence[Looked], seed: int
) -> list[Unsighted]:
    """Return the last turn of every case at which the instruction holds, answered anew under each mask.

    Rules judge. A case with none of them, since the user has released the model, is counted.
    """
    found = []
    judged = [one for one in looked if one.spoken.instruction.verifiers]
    with progress_bar("unsighted", len(judged), unit="dialogues") as bar:
        for one in judged:
            held = [t.turn for t in one.layout.targets if one.spoken.holds_at(t.turn)]
            bar.advance(1)
            if not held:
                task.dropped[RELEASED] += 1
                continue
            case, turn = one.spoken.case, held[-1]
            replies = hidden_replies(
                engine, one.layout.up_to(turn), _adapter(one.spoken.arm),
                task.config.sampling.max_new_tokens, f"{seed}/{case.id}",
            )  # fmt: skip
            statuses = [
                judge(
                    Reply(case, turn, "turn", case.user_turn(turn), hidden.generation),
                    one.spoken.arm, task.history, (),
                ).status
                for hidden in replies
            ]  # fmt: skip
            if replies:
                pairs = tuple(zip(replies, statuses, strict=True))
                found.append(Unsighted(one.spoken, turn, pairs))
    return found


def _on_own_base(config: AttendConfig) -> AttendConfig:
    """Return the configuration with the model that the adapter was trained on, where none is chosen.

    An evaluation has its model.
    """
    if config.adapter is None or config.samples or config.engine.model != EngineConfig().model:
        return config
    own = base_model_of(config.adapter)
    return replace(config, engine=replace(config.engine, model=own)) if own else config


def _adapter(arm: str) -> str | None:
    return None if arm == BASE else arm


def _with_usable_placement(task: Task, engine: TransformersEngine) -> Task:
    """Return the task, with `first_user` where the template has no system role."""
    usable = usable_placement(task.config.placement, inspect_template(engine.tokenizer))
    return replace(task, config=replace(task.config, placement=usable))
