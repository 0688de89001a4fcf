"""The worst replies of the trained arm, by what they fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from eval.metrics.parts import part_status
from eval.metrics.table import folded
from eval.records.samples import Sample
from eval.report.data.selection import Curves, Headline
from eval.report.data.transcripts import Transcript
from gatt.data.answers import flaw_of
from gatt.verifiers.base import Status

NUM_WORST = 3
ANSWERS = "answers its turn"
"""What a reply fails that keeps its instruction."""
Judged = tuple[str, Status | None, Transcript, Sample]
"""What is judged, whether the reply holds it (None: it does not count), the reply's case, and the reply."""


class WorstReply(NamedTuple):
    """A reply, and why it failed."""

    case: Transcript
    reply: Sample
    reasons: list[str]


class Failing(NamedTuple):
    """One thing that replies fail, and the worst of these."""

    part: str
    num_failed: int
    num_decided: int
    replies: list[WorstReply]


def worst_replies(cases: Sequence[Transcript], curves: Curves, answer: Headline) -> list[Failing]:
    """Return what the headline's first arm fails in its main history, each with its worst replies.

    Judged are the parts of the instruction (where no instruction names its parts, the families), and
    whether a reply that keeps the instruction answers. Worst is, in this order: it fails to answer as well;
    it is a copy, a repetition or a loop; it is shorter. The same words are shown once.
    """
    arm = answer.points[0].arm if answer.points else ""
    shown = [
        case for case in cases if arm in case.samples and _history(case) == curves.main_history
    ]
    of_parts = [judged for case in shown for judged in _by_part(case, arm)]
    judged = of_parts or [judged for case in shown for judged in _by_family(case, arm)]
    judged += [judged for case in shown for judged in _answering(case, arm)]
    failing = []
    for part in dict.fromkeys(name for name, *_ in judged):
        decided = [entry for entry in judged if entry[0] == part and entry[1] in ("pass", "fail")]
        failed = [(case, reply) for _, status, case, reply in decided if status == "fail"]
        if failed:
            failing.append(Failing(part, len(failed), len(decided), _worst(failed)))
    return failing


def _history(case: Transcript) -> str:
    return case.first.history


def _replies(case: Transcript, arm: str) -> list[Sample]:
    """Return the replies that are asked to keep an instruction."""
    return [
        s for s in case.samples[arm]
        if s.kind == "turn" and s.instruction is not None and s.expected == "kept"
    ]  # fmt: skip


def _by_part(case: Transcript, arm: str) -> Iterator[Judged]:
    for reply in _replies(case, arm):
        assert reply.instruction is not None
        for part in reply.instruction.parts:
            yield part.about, part_status(reply, part), case, reply


def _by_family(case: Transcript, arm: str) -> Iterator[Judged]:
    return ((reply.family, reply.keeps, case, reply) for reply in _replies(case, arm))


def _answering(case: Transcript, arm: str) -> Iterator[Judged]:
    return (
        (ANSWERS, reply.answers, case, reply)
        for reply in _replies(case, arm)
        if reply.answers and reply.keeps == "pass" and reply.asks != "told"
    )


def _worst(failed: Sequence[tuple[Transcript, Sample]]) -> list[WorstReply]:
    by_words = {folded(reply.reply): (case, reply) for case, reply in reversed(failed)}
    chosen = sorted(by_words.values(), key=_badness)[:NUM_WORST]
    return [WorstReply(case, reply, _reasons(reply)) for case, reply in chosen]


def _reasons(reply: Sample) -> list[str]:
    verdicts = (*reply.verdicts, *([reply.answer] if reply.answer else []))
    return [f"{v.verifier}: {v.evidence}" for v in verdicts if v.status == "fail"]


def _badness(failed: tuple[Transcript, Sample]) -> tuple[bool, bool, int, str, int]:
    """Return what sorts the worst reply first."""
    case, reply = failed
    earlier = [s.reply for s in _replies(case, reply.arm) if s.turn < reply.turn]
    is_none = bool(reply.is_repeated or flaw_of(reply.reply, reply.user, earlier))
    return (reply.answers != "fail", not is_none, len(reply.reply), case.anchor, reply.turn)
