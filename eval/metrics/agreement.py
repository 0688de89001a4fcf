"""How far the judge agrees with the rule verifiers, where both were asked.

Cohen (1960, Educ. Psychol. Meas. 20:37-46): kappa = (po - pe) / (1 - pe), the agreement beyond what
two raters of these base rates reach by chance.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from eval.records.samples import Sample
from eval.scoring.judge.question import JudgeKey
from eval.scoring.verdict import expected_status, is_ruled
from gatt.verifiers.base import Status, Verdict


@dataclass(frozen=True)
class Agreement:
    """Judge against rules: of an arm, a history and a metric."""

    arm: str
    history: str
    metric: str
    """`keeps`, `probe_recall` or `answers`."""
    num_both: int
    """Replies that both decided: what all rates rest on."""
    num_missing: int
    """Replies that the rules decided and the judge was asked about without giving a verdict."""
    agreement: float | None
    """Share on which both say the same. All rates are None where nothing was decided by both."""
    kappa: float | None
    """Cohen's kappa; None also where both have one verdict for all."""
    both_pass: int
    both_fail: int
    only_rules: int
    """Passed by the rules alone."""
    only_judge: int


def agreement(samples: Iterable[Sample], verdicts: Mapping[JudgeKey, Verdict]) -> list[Agreement]:
    """Return the agreement of each arm, history and metric; `verdicts` are those of `judge_samples`.

    Replies that the rules left to the judge, or could not decide, are in no record: the judge would agree
    with itself, or with nothing.
    """
    groups: dict[tuple[str, str, str], Counter[tuple[Status, Status]]] = defaultdict(Counter)
    for sample in samples:
        for metric, by_rules, by_judge in _both(sample, verdicts):
            groups[sample.arm, sample.history, metric][by_rules, by_judge] += 1
    agreements = []
    for (arm, history, metric), counts in groups.items():
        both_pass, both_fail = counts["pass", "pass"], counts["fail", "fail"]
        only_rules, only_judge = counts["pass", "fail"], counts["fail", "pass"]
        num = both_pass + both_fail + only_rules + only_judge
        agreed = kappa = None
        if num:
            agreed = (both_pass + both_fail) / num
            rules, judge = (both_pass + only_rules) / num, (both_pass + only_judge) / num
            chance = rules * judge + (1 - rules) * (1 - judge)
            kappa = (agreed - chance) / (1 - chance) if chance < 1 else None
        missing = sum(n for (_, judge), n in counts.items() if judge == "undecided")
        of_both = (both_pass, both_fail, only_rules, only_judge)
        agreements.append(Agreement(arm, history, metric, num, missing, agreed, kappa, *of_both))
    return agreements


def _both(
    sample: Sample, verdicts: Mapping[JudgeKey, Verdict]
) -> Iterator[tuple[str, Status, Status]]:
    """Yield metric, status by the rules and by the judge, where the rules decided and both were asked."""
    said = verdicts.get(("adherence", sample.key))
    if said and is_ruled(sample) and sample.status != "undecided":
        metric = "probe_recall" if sample.kind == "probe" else "keeps"
        yield metric, sample.status, expected_status(said.status, sample.expected)
    said = verdicts.get(("completion", sample.key))
    if said and sample.answers and sample.answers != "undecided":
        yield "answers", sample.answers, said.status
