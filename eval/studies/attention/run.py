"""`gatt attend`: from the replies of an evaluation to `attention.json`, its page and its pictures."""

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
from eval.studies.attention.layout import Layout, Said, lay_out
from eval.studies.attention.masked import hidden_replies
from eval.studies.attention.results import results_of
from eval.studies.attention.statistics import Looked, Unsighted
from eval.studies.attention.task import HISTORY, Spoken, Task, plan, replies_of
from eval.studies.attention.weights import measure, refuse_unreadable
from gatt.errors import DataError, StoreError
from gatt.generation.config import local_engine
from gatt.generation.local.engine import TransformersEngine
from gatt.models.template_facts import inspect_template, usable_placement
from gatt.runs.atomic_file import atomic_write_json, refuse_unwritable
from gatt.runs.progress import progress_bar

log = logging.getLogger(__name__)

PAGE_FILE: Final = "attention.html"
NO_ROOM: Final = "no reply with text within the model's context"
BEHIND_CONTEXT: Final = "replies behind the end of the model's context"


@dataclass(frozen=True)
class Attended:
    """The results of a run, and the files that it wrote."""

    results: dict[str, Any]
    written: tuple[Path, ...]


def attend(config: AttendConfig) -> Attended:
    """Measure where the base model and an adapter look, and write it down.

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
    looked = look(task, engine, spoken)
    unsighted = answer_unsighted(task, engine, looked, config.seed)
    for reason, num in (+task.dropped).items():
        log.warning("not looked at: %d (%s)", num, reason)
    results = results_of(config, task, looked, unsighted) | {
        "num_layers": engine.model.config.get_text_config().num_hidden_layers,
        "num_heads": engine.model.config.get_text_config().num_attention_heads,
    }
    atomic_write_json(path, results)
    page = config.folder / PAGE_FILE
    render_attention(results, page)
    written = [path, page]
    if config.chart:
        written += save_attention_charts(config.chart, results)
    if config.folder == config.results:
        runs = read_runs([str(config.results)])
        render_report(runs[0].results, samples_of(runs), config.results / REPORT_FILE)
        written.append(config.results / REPORT_FILE)
    return Attended(results, tuple(written))


def look(task: Task, engine: TransformersEngine, spoken: Sequence[Spoken]) -> list[Looked]:
    """Return where every reply looked; a case that cannot be read is left out for both arms, and counted.

    Raises:
        DataError: none can be read.
        ModelError: the model returns no attention weights, or none for a dialogue of this length.
    """
    by_case: dict[str, list[Spoken]] = {}
    for one in spoken:
        by_case.setdefault(one.case.id, []).append(one)
    readable: list[tuple[Spoken, Layout]] = []
    for members in by_case.values():
        layouts = []
        for one in members:
            layout = _layout(task, engine, one)
            if layout is None:
                break
            layouts.append(layout)
        if len(layouts) == len(task.arms):
            readable += zip(members, layouts, strict=True)
    if not readable:
        reasons = "; ".join(f"{num}: {why}" for why, num in task.dropped.items())
        raise DataError(
            f"none of {len(task.cases)} cases can be looked at ({reasons}): expected others"
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


def _layout(task: Task, engine: TransformersEngine, one: Spoken) -> Layout | None:
    """Return the layout of one arm's dialogue; None, and counted, where it cannot be read."""
    try:
        layout = lay_out(
            engine.tokenizer,
            one.case.dialogue,
            one.instruction.text,
            [Said(s.turn, s.reply, s.finish == "stop") for s in one.samples],
            placement=task.config.placement,
            max_tokens=engine.context_tokens,
        )
    except DataError as error:
        task.dropped[str(error).partition(": ")[2]] += 1
        return None
    if layout is None:
        task.dropped[NO_ROOM] += 1
        return None
    unsaid = sum(s.finish == "context_limit" and not s.reply.strip() for s in one.samples)
    task.dropped[BEHIND_CONTEXT] += layout.num_left_out + unsaid
    return layout


def answer_unsighted(
    task: Task, engine: TransformersEngine, looked: Sequence[Looked], seed: int
) -> list[Unsighted]:
    """Return the last turn of every case, answered anew under each mask and judged by rules."""
    found = []
    with progress_bar("unsighted", len(looked), unit="dialogues") as bar:
        for one in looked:
            case, arm = one.spoken.case, one.spoken.arm
            turn = one.layout.targets[-1].turn
            replies = hidden_replies(
                engine, one.layout, _adapter(arm),
                task.config.sampling.max_new_tokens, f"{seed}/{case.id}",
            )  # fmt: skip
            pairs = []
            for hidden in replies:
                reply = Reply(case, turn, "turn", case.user_turn(turn), hidden.generation)
                pairs.append((hidden, judge(reply, arm, HISTORY, ()).status))
            if pairs:
                found.append(Unsighted(one.spoken, turn, tuple(pairs)))
            bar.advance(1)
    return found


def _adapter(arm: str) -> str | None:
    return None if arm == BASE else arm
