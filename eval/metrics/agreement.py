"""How far the judge agrees with the rule verifiers, where both were asked."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from eval.metrics.statistics.kappa import Table, cohen_kappa, kappa_interval
from eval.records.samples import Sample
from eval.scoring.judge.question import JudgeKey
from eval.scoring.verdict import expected_status, is_ruled
from gatt.verifiers.base import Status, Verdict
from gatt.verifiers.graded.judge import JUDGE

ALL = "all"
"""The value of `arm` for all arms together, where there are several."""


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Judge against rules: of an arm, a history and a metric."""

    arm: str
    history: str
    metric: str
    """`adherence`, `probe_recall` or `task_completion`."""
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
    groups: dict[tuple[str, str, str], dict[str, Counts]] = defaultdict(
        lambda: defaultdict(Counter)
    )
    for sample in samples:
        for metric, rules, judge in _both(sample, verdicts):
            for arm in (sample.arm, ALL):
                groups[arm, sample.history, metric][sample.dialogue][rules, judge] += 1
    has_several = len({arm for arm, *_ in groups} - {ALL}) > 1
    return [
        _record(*key, list(counts.values()), seed)
        for key, counts in groups.items()
        if key[0] != ALL or has_several
    ]


def _both(
    sample: Sample, verdicts: Mapping[JudgeKey, Verdict]
) -> Iterator[tuple[str, Status, Status]]:
    """Yield metric, status by the rules and by the judge, where the rules decided and both were asked."""
    said = verdicts.get(("adherence", sample.key))
    if said and is_ruled(sample) and sample.status != "undecided":
        metric = "probe_recall" if sample.kind == "probe" else "adherence"
        yield metric, sample.status, expected_status(said.status, sample.expected)
    said, measured = verdicts.get(("completion", sample.key)), sample.completion
    if said and measured and measured.verifier != JUDGE and measured.status != "undecided":
        yield "task_completion", measured.status, said.status


def _record(arm: str, history: str, metric: str, counts: Sequence[Counts], seed: int) -> Agreement:
    tables = [_table(count) for count in counts]
    total = Table(*map(sum, zip(*tables, strict=True)))
    num = sum(total)
    low, high = kappa_interval(tables, seed=seed) or (None, None)
    return Agreement(
        arm=arm,
        history=history,
        metric=metric,
        num_both=num,
        num_missing=sum(n for c in counts for (_, judge), n in c.items() if judge == "undecided"),
        agreement=(total.both_pass + total.both_fail) / num if num else None,
        kappa=cohen_kappa(total),
        kappa_low=low,
        kappa_high=high,
        **total._asdict(),
    )


def _table(count: Counts) -> Table:
    return Table(
        count["pass", "pass"], count["fail", "fail"], count["pass", "fail"], count["fail", "pass"]
    )
