"""The judge's verdicts on the samples, and where they become the status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from eval.records.samples import Expected, Sample
from eval.scoring.judge.question import JudgeKey
from gatt.verifiers.base import Status, Verdict
from gatt.verifiers.graded.judge import JUDGE, Judge, is_open
from gatt.verifiers.table import overall
from gatt.verifiers.text.degenerate import degenerate

_OPPOSITE: Mapping[Status, Status] = {"pass": "fail", "fail": "pass", "undecided": "undecided"}


def attach(samples: Iterable[Sample], verdicts: Mapping[JudgeKey, Verdict]) -> list[Sample]:
    """Return the samples with what the judge says of them, in order.

    Adherence stands in `judge` and, where no rule covers the instruction, decides
    the status; completion takes the place of what was measured without a judge.
    Samples that the judge was not asked about come back as they are.

    Args:
        samples: of a run.
        verdicts: by task and `Sample.key`, see `judge_samples`.
    """
    found = []
    for sample in samples:
        judged = sample
        adherence = verdicts.get(("adherence", sample.key))
        completion = verdicts.get(("completion", sample.key))
        if adherence:
            judged = with_judge_status(replace(judged, judge=adherence))
        if completion:
            judged = with_judge_completion(judged, completion)
        found.append(judged)
    return found


def expected_status(status: Status, expected: Expected) -> Status:
    """Return what following an instruction is worth: where it was released, a reply that does fails."""
    return status if expected == "kept" else _OPPOSITE[status]


def is_ruled(sample: Sample) -> bool:
    """Whether rules alone made the status, so that a judge can be compared with them."""
    return bool(sample.verdicts) and all(v.verifier != JUDGE for v in sample.verdicts)


def with_judge_status(sample: Sample) -> Sample:
    """Return the sample with the judge's verdict as its status where rules leave it open.

    Open are instructions without a verifier, and `judge` verifiers, whose place
    the verdict takes: where others stand beside them, one fail still fails. What
    rules decide stays, and so does a sample that the judge was not asked about.
    A degenerate reply fails whatever the judge says. Doing it twice changes nothing.

    Args:
        sample: with `judge`, if the judge was asked; it says whether the reply
            follows the instruction, also where that was released.
    """
    if sample.instruction is None or is_ruled(sample):
        return sample
    if sample.verdicts and not any(map(is_open, sample.verdicts)):
        return sample
    junk = degenerate(sample.reply)
    if junk:
        return replace(sample, verdicts=(_junk(junk),), status="fail")
    if sample.judge is None:
        return sample
    kept = tuple(v for v in sample.verdicts if not is_open(v))
    verdicts = (*kept, sample.judge)
    status = expected_status(overall(verdicts), sample.expected)
    loose = sample.loose
    if loose == "undecided" and all(v.status != "undecided" for v in kept):
        # Nothing but the judge's part was open, and to a judge nothing is strict or loose.
        loose = expected_status(sample.judge.status, sample.expected)
    return replace(sample, verdicts=verdicts, status=status, loose=loose)


def with_judge_completion(sample: Sample, verdict: Verdict) -> Sample:
    """Return the sample with the judge's verdict on completion in the place of the measured one.

    Also where the judge gave none: two ways of measuring do not make one rate. A
    degenerate reply fails whatever the judge says.
    """
    junk = degenerate(sample.reply)
    return replace(sample, completion=_junk(junk) if junk else verdict)


def _junk(why: str) -> Verdict:
    """Return the fail that a `judge` verifier gives a degenerate reply by itself."""
    return Verdict("fail", why, JUDGE, Judge.version)
