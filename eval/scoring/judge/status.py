"""The judge's verdicts on the samples, and where they become the status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from eval.records.samples import Expected, Sample
from eval.scoring.judge.question import JudgeKey
from gatt.verifiers.base import Status, Verdict
from gatt.verifiers.graded.judge import JUDGE, Judge, is_open
from gatt.verifiers.table import overall
from gatt.verifiers.text.degenerate import degenerate

_OPPOSITE: Final[Mapping[Status, Status]] = {
    "pass": "fail",
    "fail": "pass",
    "undecided": "undecided",
}


def attach(samples: Iterable[Sample], verdicts: Mapping[JudgeKey, Verdict]) -> list[Sample]:
    """Return the samples with the judge's verdicts, in order.

    The verdict on adherence is stored in `judge`; it decides the status if no rule covers
    the instruction. The verdict on completion replaces the measured one, also if it is
    `undecided`: two ways of measuring do not make one rate. A degenerate reply fails
    whatever the judge says. Samples that the judge was not asked about stay as they are.

    Args:
        samples: of a run.
        verdicts: by task and `Sample.key`, see `judge_samples`.
    """
    return [_attached(sample, verdicts) for sample in samples]


def _attached(sample: Sample, verdicts: Mapping[JudgeKey, Verdict]) -> Sample:
    key = sample.key
    if adherence := verdicts.get(("adherence", key)):
        sample = with_judge_status(replace(sample, judge=adherence))
    if completion := verdicts.get(("completion", key)):
        sample = replace(sample, completion=_junk(sample) or completion)
    return sample


def expected_status(status: Status, expected: Expected) -> Status:
    """Return the status of a reply: after a release, a reply that follows the instruction fails."""
    return status if expected == "kept" else _OPPOSITE[status]


def is_ruled(sample: Sample) -> bool:
    """Whether rules alone made the status, so that a judge can be compared with them."""
    return bool(sample.verdicts) and all(v.verifier != JUDGE for v in sample.verdicts)


def with_judge_status(sample: Sample) -> Sample:
    """Return the sample with the judge's verdict as its status if the rules leave it open.

    Instructions without a verifier are open, and so are `judge` verifiers: the verdict
    replaces theirs, and one failed rule beside them still fails the reply. What rules
    decide stays. Doing it twice changes nothing.

    Args:
        sample: with `judge`, if the judge was asked. The verdict says whether the reply
            follows the instruction, also after a release.
    """
    is_decided = bool(sample.verdicts) and not any(map(is_open, sample.verdicts))
    if sample.instruction is None or is_ruled(sample) or is_decided:
        return sample
    if junk := _junk(sample):
        return replace(sample, verdicts=(junk,), status="fail")
    if sample.judge is None:
        return sample
    kept = tuple(v for v in sample.verdicts if not is_open(v))
    verdicts = (*kept, sample.judge)
    loose = sample.loose
    if loose == "undecided" and all(v.status != "undecided" for v in kept):
        # Only the judge's part was open, and a judge knows no lenient reading.
        loose = expected_status(sample.judge.status, sample.expected)
    status = expected_status(overall(verdicts), sample.expected)
    return replace(sample, verdicts=verdicts, status=status, loose=loose)


def _junk(sample: Sample) -> Verdict | None:
    """Return the fail that a `judge` verifier gives a degenerate reply by itself, None for others."""
    why = degenerate(sample.reply)
    return Verdict("fail", why, JUDGE, Judge.version) if why else None
