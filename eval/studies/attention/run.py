"""`gatt attend`: from the replies of an evaluation to `attention.json`, its page and its picture."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy import stats

from eval.config import BASE, EvalConfig
from eval.metrics.intervals import Ways, paired_interval
from eval.records.case import Case, Reply
from eval.records.samples import REPORT_FILE
from eval.report.charts.curves import save_attention_chart
from eval.report.charts.drawing import refuse_other_endings
from eval.report.data.runs import ATTENTION_FILE, ATTENTION_SCHEMA, read_runs, samples_of
from eval.report.page.render import render_attention, render_report
from eval.results.provenance import head
from eval.scoring.verdict import judge
from eval.studies.attention.measure import (
    INTACT,
    Layout,
    TurnAttention,
    hidden_replies,
    lay_out,
    measure,
)
from eval.studies.attention.task import HISTORY, AttendConfig, Task, read_task
from gatt.comb.model_support import why_not_packable
from gatt.config.load import config_dict
from gatt.errors import DataError, ModelError, StoreError
from gatt.generation.config import local_engine
from gatt.generation.local.engine import TransformersEngine
from gatt.models.template_facts import inspect_template, usable_placement
from gatt.runs.atomic_file import atomic_write_json, refuse_unwritable
from gatt.runs.progress import progress_bar
from gatt.verifiers import verifier_versions
from gatt.verifiers.base import Status

log = logging.getLogger(__name__)

DIGITS: Final = 6
"""Of the shares in `attention.json`."""
NO_TEXT: Final = "replies without text, or behind the end of the context"


@dataclass(frozen=True)
class Looked:
    """Where one arm's replies to one case looked."""

    case: Case
    arm: str
    turns: tuple[TurnAttention, ...]
    hidden: Mapping[str, tuple[str, Status]] = field(default_factory=dict)
    """What is hidden -> the reply to its last turn and its status; none for turn 1."""


def attend(config: AttendConfig) -> tuple[dict[str, Any], list[Path]]:
    """Measure where the base model and an adapter look; return the results and the files written.

    Raises:
        StoreError: results exist already, or cannot be written.
        ConfigError, CatalogError, DataError: see `read_task`.
        ModelError: a model or adapter cannot be loaded, or returns no attention weights.
    """
    path = config.folder / ATTENTION_FILE
    if path.exists() and not config.overwrite:
        raise StoreError(
            f"{path}: exists already: give another output_dir, or overwrite=true to replace it"
        )
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
        "dropped": dropped,
        "num_layers": model_config.num_hidden_layers,
        "num_heads": model_config.num_attention_heads,
    }
    return results, _write(config, results)


def _write(config: AttendConfig, results: Mapping[str, Any]) -> list[Path]:
    """Write results, page, picture and, beside an evaluation, its report; return their places."""
    written = [config.folder / ATTENTION_FILE, config.folder / "attention.html"]
    atomic_write_json(written[0], results)
    render_attention(results, written[1])
    if config.chart:
        save_attention_chart(config.chart, results)
        written.append(config.chart)
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
        hidden[what] = said.text, judge(reply, arm, HISTORY, ()).status
    return Looked(case, arm, turns, hidden)


def curves(looked: Sequence[Looked], arms: Sequence[str]) -> list[dict[str, Any]]:
    """Return attention on the instruction over turns as flat records, one an arm and turn.

    `value` is the mean over dialogues, which may each stand under several instructions, with Student's
    95 % interval, which does not know the bounds of a share.
    """
    cells: dict[tuple[str, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in looked:
        for reply in one.turns:
            cells[one.arm, reply.sample.turn][one.case.dialogue.id].append(reply.mass)
    records = []
    for arm, turn in sorted(cells, key=lambda cell: (list(arms).index(cell[0]), cell[1])):
        values = [float(np.mean(several)) for several in cells[arm, turn].values()]
        mean, low, high = float(np.mean(values)), None, None
        if len(values) > 1:
            half = float(stats.sem(values) * stats.t.ppf(0.975, len(values) - 1))
            low, high = round(max(0.0, mean - half), DIGITS), round(min(1.0, mean + half), DIGITS)
        records.append(
            {"arm": arm, "turn": turn, "metric": "mass", "value": round(mean, DIGITS), "low": low,
             "high": high, "num_dialogues": len(values)}
        )  # fmt: skip
    return records


def falls(looked: Sequence[Looked], arms: Sequence[str]) -> list[dict[str, Any]]:
    """Return the fall of adherence at the last turn, by arm and by what is hidden.

    A pair is the two replies to one case with all tokens visible and with some hidden. Pairs with an
    undecided reply are left out and counted. `num_changed` counts replies that differ in any letter:
    a model that keeps no instruction has no adherence to lose.
    """
    records = []
    for arm in arms:
        members = [one for one in looked if one.arm == arm and one.hidden]
        for what in [what for what in (members[0].hidden if members else ()) if what != INTACT]:
            statuses = [(one.hidden[INTACT][1], one.hidden[what][1]) for one in members]
            pairs = [
                (one.case, before == "pass", after == "pass")
                for one, (before, after) in zip(members, statuses, strict=True)
                if "undecided" not in (before, after)
            ]
            counts = {
                "num_replies": len(members),
                "num_changed": sum(o.hidden[INTACT][0] != o.hidden[what][0] for o in members),
                "num_undecided": len(members) - len(pairs),
            }
            record = {"arm": arm, "hidden": what, "num_pairs": len(pairs)}
            records.append(record | _fall(pairs) | counts)
    return records


def _fall(pairs: Sequence[tuple[Case, bool, bool]]) -> dict[str, Any]:
    if not pairs:
        return dict.fromkeys(("intact", "unsighted", "fall", "low", "high"))
    names = [(c.dialogue.id, c.instruction.id if c.instruction else "", c.id) for c, *_ in pairs]
    codes = (np.unique(column, return_inverse=True)[1] for column in zip(*names, strict=True))
    before, after = np.array([pair[1:] for pair in pairs], dtype=np.int64).T
    ways = Ways(*(c.astype(np.int64) for c in codes))
    found = dict(zip(("fall", "low", "high"), paired_interval(before - after, ways), strict=True))
    return {"intact": float(before.mean()), "unsighted": float(after.mean()), **found}
