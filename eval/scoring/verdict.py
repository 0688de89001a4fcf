"""From a reply to a sample with verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from eval.records.reply import Reply
from eval.records.samples import Expected, History, Sample
from eval.scoring.judge.status import expected_status
from gatt.data.catalog.switch_leakage import leak_status
from gatt.data.instruction import Entry, Instruction
from gatt.verifiers import Status, Verdict, check_all, overall, overall_unasked
from gatt.verifiers.table import check_loose
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.text.degenerate import degenerate

RUNNER = "run"
"""Stands as the verifier's name where no verifier was asked."""
_NO_REPLY = {
    "length": "the limit of tokens came before any text",
    "context_limit": "the context is full: no reply",
    "content_filter": "the server's filter withheld the reply",
    "unanswered": "the server had no reply, try after try",
}


def judge(reply: Reply, arm: str, history: History, pool: Sequence[Entry]) -> Sample:
    """Return the sample of a reply, judged by rules alone.

    - A turn or probe under an instruction: all its verifiers must pass, those of the
      turn's event included. Where the user has released the model from it, a reply
      that passes them all has failed.
    - A turn of a plain dialogue: it passes, as a false trigger, if it follows
      any entry of the pool, though nothing asked for that. The pool must hold
      no entry that ordinary replies follow, see `eval.cases.false_triggers`.
    - No reply for want of context, because a server withheld it, or because its tokens ended before
      any text (a model that thinks first), is `undecided`.
    """
    case, text, is_turn = reply.case, reply.generation.text, reply.kind == "turn"
    expected = case.expected(reply.turn) if is_turn else case.told(reply.turn)
    status, verdicts = _verdicts(reply, expected, pool)
    event = case.events.get(reply.turn) if is_turn else None
    switch = case.switch_at(reply.turn)
    is_switch = is_turn and switch is not None and switch.turn == reply.turn
    instruction = case.instruction_at(reply.turn) if is_turn else case.probed_at(reply.turn)
    first = case.instruction.id if case.instruction else ""
    leak, since_end = _leak(reply, expected), case.since_end(reply.turn)
    return Sample(
        arm=arm,
        history=history,
        dialogue=case.dialogue.id,
        turn=reply.turn,
        kind=reply.kind,
        instruction=instruction,
        family=instruction.family if instruction else "plain",
        split=instruction.split if instruction else "none",
        user=reply.user,
        reply=text,
        reference=case.reference(reply.turn),
        finish=reply.generation.finish,
        status=status,
        verdicts=verdicts,
        loose=_loose(instruction, text, status) if is_turn and expected == "kept" else None,
        event=switch.kind if switch and is_switch else event.kind if event else None,
        expected=expected,
        twin=case.twin,
        given=first if instruction and instruction.id != first else "",
        since_switch=reply.turn - switch.turn if switch else None,
        leak=leak,
        since_end=since_end if leak else None,
        ended=case.ended_at(reply.turn) if leak else None,
        announcement=switch.text if switch and is_switch else None,
    )


def _leak(reply: Reply, expected: Expected) -> Status | None:
    """Return whether a reply follows what was replaced or taken back, see `gatt.data.catalog.switch_leakage`.

    The answer to a probe does where it still gives what was taken back; after a
    replacement the probe is that of the new instruction, and says nothing of it.
    """
    rules = reply.case.ended_rules(reply.turn)
    if reply.kind == "probe":
        probe = reply.case.probe_at(reply.turn)
        rules = (probe.verifiers,) if probe is not None and expected == "released" else ()
    status = leak_status(rules, reply.generation.text)
    if status and not reply.generation.text and reply.generation.finish in _NO_REPLY:
        return "undecided"
    return status


def _loose(instruction: Instruction | None, reply: str, strict: Status) -> Status | None:
    """Return the lenient status of a turn under an instruction that holds."""
    if instruction is None or strict != "fail":
        return strict if instruction else None
    return check_loose(instruction.verifiers, reply)


def _verdicts(
    reply: Reply, expected: Expected, pool: Sequence[Entry]
) -> tuple[Status, tuple[Verdict, ...]]:
    text, case = reply.generation.text, reply.case
    why = _NO_REPLY.get(reply.generation.finish)
    if why and not text:
        return "undecided", (Verdict("undecided", why, RUNNER, 1),)
    if reply.kind == "probe" and (probe := case.probe_at(reply.turn)) is not None:
        status, verdicts = _checked(probe.verifiers, text)
    else:
        status, verdicts = verdicts_of_turn(text, case.instruction_at(reply.turn), pool)
    # Junk follows no instruction, and is no way of leaving one alone either.
    junk = degenerate(text) if expected == "released" else None
    if junk:
        return "fail", (Verdict("fail", junk, RUNNER, 1),)
    return expected_status(status, expected), verdicts


def verdicts_of_turn(
    text: str, instruction: Instruction | None, pool: Sequence[Entry]
) -> tuple[Status, tuple[Verdict, ...]]:
    """Return what the rules say of the reply to an ordinary turn; see `judge`."""
    if instruction is None:
        return _false_trigger(text, pool)
    return _checked(instruction.verifiers, text)


def _checked(specs: Sequence[VerifierSpec], text: str) -> tuple[Status, tuple[Verdict, ...]]:
    verdicts = check_all(specs, text)
    return overall(verdicts), verdicts


def _false_trigger(text: str, pool: Sequence[Entry]) -> tuple[Status, tuple[Verdict, ...]]:
    if not pool:
        why = "no instruction is told apart from ordinary replies"
        return "undecided", (Verdict("undecided", why, RUNNER, 1),)
    open_entries = []
    for entry in pool:
        verdicts = check_all(entry.verifiers, text)
        status = overall_unasked(verdicts)
        if status == "pass":
            first = verdicts[0]
            evidence = f"follows {entry.id} unasked: {first.evidence}"
            return "pass", (Verdict("pass", evidence, first.verifier, first.version, first.span),)
        if status == "undecided":
            open_entries.append(entry.id)
    if open_entries:
        more = f" or {len(open_entries) - 1} more" if len(open_entries) > 1 else ""
        why = f"cannot tell if it follows {open_entries[0]}{more}"
        return "undecided", (Verdict("undecided", why, RUNNER, 1),)
    return "fail", (Verdict("fail", "follows no instruction of the pool", RUNNER, 1),)
