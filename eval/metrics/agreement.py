"""How far the judge agrees with the rule verifiers, where both were asked.

Cohen (1960, Educ. Psychol. Meas. 20:37-46): kappa = (po - pe) / (1 - pe), the agreement beyond what
two raters of these base rates reach by chance. Replies of one dialogue resemble each other, so the
interval is a percentile bootstrap over whole dialogues.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from eval.records.samples import Sample
from eval.scoring.judge.question import JudgeKey
from eval.scoring.verdict import expected_status, is_ruled
from gatt.verifiers.base import Status, Verdict
from gatt.verifiers.graded.judge import JUDGE

NUM_RESAMPLES = 10_000
LEAST_DEFINED = 0.95
"""Share of resamples in which kappa must exist for their quantiles to be bounds."""


class Table(NamedTuple):
    """How often two raters passed or failed the same replies."""

    both_pass: int
    both_fail: int
    only_rules: int
    """Passed by the rules alone."""
    only_judge: int
    """Passed by the judge alone."""


def cohen_kappa(table: Table) -> float | None:
    """Return kappa, None where it does not exist: no reply, or one verdict for all by both."""
    if not sum(table):
        return None
    found = float(_kappas(np.array(table, dtype=np.float64)))
    return None if np.isnan(found) else found


def kappa_interval(tables: Iterable[Table], *, seed: int = 0) -> tuple[float, float] | None:
    """Return the bounds of kappa over dialogues.

    Args:
        tables: one for each dialogue, in any order; empty ones are ignored.
        seed: of the resampling.

    Returns:
        None where kappa exists in too few resamples, or is the same in all of them: then the
        bootstrap says nothing.
    """
    counts = np.array([t for t in tables if sum(t)], dtype=np.float64).reshape(-1, 4)
    if not len(counts):
        return None
    # Dialogues with equal counts are drawn as one kind: the cost does not grow with their number.
    kinds, sizes = np.unique(counts, axis=0, return_counts=True)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(counts), sizes / len(counts), size=NUM_RESAMPLES)
    kappas = _kappas(drawn @ kinds)
    defined = kappas[~np.isnan(kappas)]
    if len(defined) < LEAST_DEFINED * NUM_RESAMPLES or np.ptp(defined) == 0:
        return None
    low, high = np.quantile(defined, (0.025, 0.975))
    return float(low), float(high)


def _kappas(tables: npt.NDArray[np.float64]) -> Any:
    """Return kappa of the tables in the last axis; NaN where it does not exist."""
    total = tables.sum(axis=-1)
    agreed = (tables[..., 0] + tables[..., 1]) / total
    rules = (tables[..., 0] + tables[..., 2]) / total
    judge = (tables[..., 0] + tables[..., 3]) / total
    chance = rules * judge + (1 - rules) * (1 - judge)
    # 1 - chance is 0 if both raters have one verdict for all, and the same.
    rest = np.where(chance >= 1, np.nan, 1 - chance)
    return (agreed - chance) / rest


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
