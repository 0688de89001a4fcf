"""From a reply to a sample with verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from eval.rollout import Reply
from eval.samples import History, Sample
from gatt.instruction import Entry, VerifierSpec
from gatt.verifiers import Status, Verdict, check_all, overall

RUNNER = "run"
"""Stands as the verifier's name where no verifier was asked."""


def judge(reply: Reply, arm: str, history: History, pool: Sequence[Entry]) -> Sample:
    """Return the sample of a reply, judged by rules alone.

    - A turn or probe under an instruction: all its verifiers must pass.
    - A turn of a plain dialogue: it passes, as a false trigger, if it follows
      any entry of the pool, though nothing asked for that.
    - No reply for want of context is `undecided`.
    """
    case, text = reply.case, reply.generation.text
    status, verdicts = _verdicts(reply, pool)
    own = case.dialogue.replies
    return Sample(
        arm=arm,
        history=history,
        dialogue=case.dialogue.id,
        turn=reply.turn,
        kind=reply.kind,
        instruction=case.instruction,
        family=case.family,
        split=case.split,  # type: ignore[arg-type]
        user=reply.user,
        reply=text,
        reference=own[reply.turn - 1] if reply.turn <= len(own) else None,
        finish=reply.generation.finish,
        status=status,
        verdicts=verdicts,
    )


def _verdicts(reply: Reply, pool: Sequence[Entry]) -> tuple[Status, tuple[Verdict, ...]]:
    text, case = reply.generation.text, reply.case
    if reply.generation.finish == "context_limit" and not text:
        return "undecided", (Verdict("undecided", "the context is full: no reply", RUNNER, 1),)
    if case.instruction is None:
        return _false_trigger(text, pool)
    specs: tuple[VerifierSpec, ...] = case.instruction.verifiers
    if reply.kind == "probe" and case.probe is not None:
        specs = case.probe.verifiers
    verdicts = check_all(specs, text)
    return overall(verdicts), verdicts


def _false_trigger(text: str, pool: Sequence[Entry]) -> tuple[Status, tuple[Verdict, ...]]:
    for entry in pool:
        verdicts = check_all(entry.verifiers, text)
        if overall(verdicts) == "pass":
            first = verdicts[0]
            evidence = f"follows {entry.id} unasked: {first.evidence}"
            return "pass", (Verdict("pass", evidence, first.verifier, first.version, first.span),)
    return "fail", (Verdict("fail", "follows no instruction of the pool", RUNNER, 1),)
