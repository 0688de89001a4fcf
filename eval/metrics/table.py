"""Every metric: what it counts, what readers call it, which way is good, and its axis.

A new metric is a function in its own file, one entry here, and one test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from eval.metrics import outcomes
from eval.metrics.outcomes import Outcome
from eval.records.samples import Sample


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One metric, with all that a report needs to show it."""

    count: Callable[[Iterable[Sample]], Iterable[Outcome]]
    """From the samples of one arm and history to what is counted, in any order."""
    name: str
    """What readers call it."""
    note: str
    """What passes."""
    is_pass_good: bool = True
    """False where a pass is the error; then the pessimistic rate is the higher one."""
    is_since_switch: bool = False
    """Whether its turns count from the change of the instruction on, from 0."""
    is_by_ability: bool = False
    """Whether it is counted too for the instructions that the model keeps alone, and for the others."""
    has_own_replies: bool = False
    """Whether it is counted for the dialogue's own replies too, which were written without the instruction."""
    is_drawn: bool = False
    """Whether the page draws it; all are in the tables."""


METRICS: Final[Mapping[str, Metric]] = {
    "joint": Metric(
        count=outcomes.joint,
        name="Keeps and answers",
        note="replies that keep the instruction and answer their turn",
        is_by_ability=True,
        is_drawn=True,
    ),
    "keeps": Metric(
        count=outcomes.keeps,
        name="Keeps the instruction",
        note="replies that keep the instruction",
        is_by_ability=True,
        has_own_replies=True,
        is_drawn=True,
    ),
    "answers": Metric(
        count=outcomes.answers,
        name="Answers",
        note="replies that hold what their turn expects, and are no copy, repetition or loop",
        is_by_ability=True,
        is_drawn=True,
    ),
    "told": Metric(
        count=outcomes.told,
        name="Remembers what it was told",
        note="replies that keep the instruction and say a fact that the user told at an earlier turn",
        is_drawn=True,
    ),
    "survival": Metric(
        count=outcomes.survival,
        name="Survival",
        note="dialogues in which every reply asked so far kept the instruction",
    ),
    "probe_recall": Metric(
        count=outcomes.probe_recall,
        name="Probe recall",
        note="questions outside the history that are answered as the instruction says",
        is_drawn=True,
    ),
    "task_completion": Metric(
        count=outcomes.task_completion,
        name="Task completion, by the judge",
        note="replies that do what the user asked, as a judge finds",
    ),
    "repetition": Metric(
        count=outcomes.repetition,
        name="Repetition",
        note="replies given before in the same dialogue, word for word; lower is better",
        is_pass_good=False,
    ),
    "false_trigger": Metric(
        count=outcomes.false_trigger,
        name="False triggers",
        note="replies that follow an instruction that was not given; lower is better",
        is_pass_good=False,
        has_own_replies=True,
    ),
    "answers_plain": Metric(
        count=outcomes.answers_plain,
        name="Answers without an instruction",
        note="replies that hold what their turn expects, where no instruction was given",
    ),
    "keeps_loose": Metric(
        count=outcomes.keeps_loose,
        name="Keeps the instruction, lenient reading",
        note="the same replies without a first or last line, or asterisks, that would fail them",
    ),
    "keeps_since_switch": Metric(
        count=outcomes.keeps_since_switch,
        name="Keeps the instruction since the change",
        note="replies that keep the instruction in force, by turns since it changed",
        is_since_switch=True,
        is_drawn=True,
    ),
    "leakage": Metric(
        count=outcomes.leakage,
        name="Leakage of the old instruction",
        note="replies that still satisfy the old instruction's rules, some by chance; lower is better",
        is_pass_good=False,
        is_since_switch=True,
        has_own_replies=True,
        is_drawn=True,
    ),
    "probe_leakage": Metric(
        count=outcomes.probe_leakage,
        name="Leakage of the old instruction, when asked",
        note="answers to a probe that still follow a cancelled instruction; lower is better",
        is_pass_good=False,
        is_since_switch=True,
        is_drawn=True,
    ),
}
"""By the names in `results.json`, in the order in which a report shows them."""
VACUOUS: Final[Mapping[str, str]] = {
    name: f"vacuous_{name}" for name, metric in METRICS.items() if metric.has_own_replies
}
"""Metric -> the same of the dialogue's own replies."""


def metric_of(name: str) -> Metric | None:
    """Return the metric of a name, also of one of `VACUOUS`; None for one of another version."""
    return METRICS.get(name.removeprefix("vacuous_"))


def is_pass_good(name: str) -> bool:
    """Whether a pass of a metric is good; True for an unknown metric."""
    metric = metric_of(name)
    return metric is None or metric.is_pass_good


def is_since_switch(name: str) -> bool:
    """Whether the turns of a metric count from the change of the instruction on."""
    metric = metric_of(name)
    return metric is not None and metric.is_since_switch
