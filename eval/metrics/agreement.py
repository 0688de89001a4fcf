"""How far the judge agrees with the rule verifiers, where both were asked."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from eval.metrics.statistics.kappa import Table, cohen_kappa, kappa_interval
from eval.records.samples import Sample
from eval.scoring.judge.question import JudgeKey
from eval.scoring.judge.status import expected_status, is_ruled
from gatt.verifiers.base import Status, Verdict
from gatt.verifiers.graded.judge import JUDGE

ALL = "all"
"""The value of `arm` for all arms together, where there are several."""

Metric = Literal["adherence", "probe_recall", "task_completion"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Judge against rules: of an arm, a history and a metric."""

    arm: str
    history: str
    metric: Metric
    num_both: int
    """Replies that both decided: what all rates rest on."""
    num_missing: int
    """Replies that the rules decided and the judge was asked about without giving a verdict."""
    agreement: float | None
    """Share on which both say the same. All rates are None where nothing was decided by both."""
    kappa: float | None
    """Cohen's kappa; None also where both have one verdict for all."""
    kappa_low: float | None
    kappa_high: float | None
    both_pass: int
    both_fail: int
    only_rules: int
    """Passed by the rules alone."""
    only_judge: int


Counts = Counter[tuple[Status, Status]]
"""Status by the rules and by the judge -> replies of a dialogue."""


def agreement(
    samples: Iterable[Sample], verdicts: Mapping[JudgeKey, Verdict], *, seed: int = 0
) -> list[Agreement]:
    """Return the agreement of each arm, history and metric, and of all arms together.

    Replies that the rules left to the judge, or could not decide, are in no record: the judge would
    agree with itself, or with nothing.

    Args:
        samples: of a run. For completion, as they were before `attach`.
        verdicts: by task and `Sample.key`, see `judge_samples`.
        seed: of the bootstrap over dialogues.
    """
    groups: dict[tuple[str, str, Metric], dict[str, Counts]] = defaultdict(
        lambda: defaultdict(Counter)
    )
    for sample in samples:
        for metric, rules, judge in _both(sample, verdicts):
            for arm in (sample.arm, ALL):
                groups[arm, sample.history, metric][sample.dialogue][rules, judge] += 1
    has_several = len({arm for arm, *_ in groups} - {ALL}) > 1
    return [
        _record(key, list(counts.values()), seed)
        for key, counts in groups.items()
        if key[0] != ALL or has_several
    ]


def _both(
    sample: Sample, verdicts: Mapping[JudgeKey, Verdict]
) -> Iterable[tuple[Metric, Status, Status]]:
    """Yield metric, status by the rules and by the judge, where the rules decided and both were asked."""
    adherence = verdicts.get(("adherence", sample.key))
    if adherence and is_ruled(sample) and sample.status != "undecided":
        metric: Metric = "probe_recall" if sample.kind == "probe" else "adherence"
        yield metric, sample.status, expected_status(adherence.status, sample.expected)
    completion, measured = verdicts.get(("completion", sample.key)), sample.completion
    if (
        completion
        and measured
        and measured.verifier != JUDGE
        and measured.status != "undecided"
    ):  # fmt: skip
        yield "task_completion", measured.status, completion.status


def _record(key: tuple[str, str, Metric], counts: Sequence[Counts], seed: int) -> Agreement:
    total = _table(sum(counts, Counter()))
    interval = kappa_interval(map(_table, counts), seed=seed)
    low, high = interval or (None, None)
    return Agreement(
        arm=key[0],
        history=key[1],
        metric=key[2],
        num_both=total.total,
        num_missing=sum(n for c in counts for (_, judge), n in c.items() if judge == "undecided"),
        agreement=total.agreement,
        kappa=cohen_kappa(total),
        kappa_low=low,
        kappa_high=high,
        **asdict(total),
    )


def _table(count: Counts) -> Table:
    return Table(
        count["pass", "pass"], count["fail", "fail"], count["pass", "fail"], count["fail", "pass"]
    )
