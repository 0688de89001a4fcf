"""From a reply to a sample with verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from eval.records.reply import Reply
from eval.records.samples import Expected, History, Sample
from eval.scoring.judge.status import expected_status
from gatt.data.catalog.switch_leakage import leak_status
from gatt.data.instruction import Entry, Instruction
from gatt.verifiers import Status, Verdict, check_all, overall, overall_unasked
from gatt.verifiers.table import check_loose
from gatt.verifiers.text.degenerate import degenerate

RUNNER: Final = "run"
"""The verifier's name if no verifier was asked."""
_NO_REPLY: Final[Mapping[str, str]] = {
    "length": "the limit of tokens came before any text",
    "context_limit": "the context is full: no reply",
    "content_filter": "the server's filter withheld the reply",
    "unanswered": "the server gave no reply to any attempt",
}

_Judged = tuple[Status, tuple[Verdict, ...]]


def judge(reply: Reply, arm: str, history: History, pool: Sequence[Entry]) -> Sample:
    """Return the sample of a reply, judged by rules alone.

    - A turn or probe under an instruction: all its verifiers must pass, and those of the
      turn's event. After the user has released the model, a reply that passes them all fails.
    - A turn of a plain dialogue passes, as a false trigger, if the reply follows any entry of
      the pool. Ordinary replies must follow no entry of it, see `eval.cases.false_triggers`.
    - An empty reply is `undecided` if the context was full, a server withheld the reply, or
      the tokens ended before any text (a model that reasons first).
    """
    case, turn, text, is_turn = reply.case, reply.turn, reply.generation.text, reply.kind == "turn"
    expected = case.expected(turn) if is_turn else case.told(turn)
    status, verdicts = _verdicts(reply, expected, pool)
    event = case.events.get(turn) if is_turn else None
    switch = case.switch_at(turn)
    is_switch = is_turn and switch is not None and switch.turn == turn
    instruction = case.instruction_at(turn) if is_turn else case.probed_at(turn)
    first = case.instruction.id if case.instruction else ""
    leak = _leak(reply, expected)
    return Sample(
        arm=arm,
        history=history,
        dialogue=case.dialogue.id,
        turn=turn,
        kind=reply.kind,
        instruction=instruction,
        family=instruction.family if instruction else "plain",
        split=instruction.split if instruction else "none",
        user=reply.user,
        reply=text,
        reference=case.reference(turn),
        finish=reply.generation.finish,
        status=status,
        verdicts=verdicts,
        loose=_loose(instruction, text, status) if is_turn and expected == "kept" else None,
        event=switch.kind if switch and is_switch else event.kind if event else None,
        expected=expected,
        twin=case.twin,
        given=first if instruction and instruction.id != first else "",
        since_switch=turn - switch.turn if switch else None,
        leak=leak,
        since_end=case.since_end(turn) if leak else None,
        ended=case.ended_at(turn) if leak else None,
        announcement=switch.text if switch and is_switch else None,
    )


def _leak(reply: Reply, expected: Expected) -> Status | None:
    """Return whether a reply follows what was replaced or taken back, see `gatt.data.catalog.switch_leakage`.

    The answer to a probe does if it still gives what was taken back. After a replacement
    the probe belongs to the new instruction, and its answer says nothing about leakage.
    """
    rules = reply.case.ended_rules(reply.turn)
    if reply.kind == "probe":
        probe = reply.case.probe_at(reply.turn)
        rules = (probe.verifiers,) if probe is not None and expected == "released" else ()
    status = leak_status(rules, reply.generation.text)
    return "undecided" if status and _no_reply(reply) else status


def _no_reply(reply: Reply) -> str | None:
    """Return why there is no reply, None if there is one or the model said nothing."""
    return None if reply.generation.text else _NO_REPLY.get(reply.generation.finish)


def _loose(instruction: Instruction | None, reply: str, strict: Status) -> Status | None:
    """Return the lenient status of a turn under an instruction that holds."""
    if instruction is None or strict != "fail":
        return strict if instruction else None
    return check_loose(instruction.verifiers, reply)


def _verdicts(reply: Reply, expected: Expected, pool: Sequence[Entry]) -> _Judged:
    text, case = reply.generation.text, reply.case
    if why := _no_reply(reply):
        return _by_runner("undecided", why)
    if reply.kind == "probe" and (probe := case.probe_at(reply.turn)) is not None:
        verdicts = check_all(probe.verifiers, text)
        status = overall(verdicts)
    else:
        status, verdicts = verdicts_of_turn(text, case.instruction_at(reply.turn), pool)
    # A degenerate reply follows no instruction, but does not show that the model dropped it either.
    if expected == "released" and (junk := degenerate(text)):
        return _by_runner("fail", junk)
    return expected_status(status, expected), verdicts


def verdicts_of_turn(
    text: str, instruction: Instruction | None, pool: Sequence[Entry]
) -> tuple[Status, tuple[Verdict, ...]]:
    """Return the rules' verdicts on the reply to an ordinary turn; see `judge`."""
    if instruction is None:
        return _false_trigger(text, pool)
    verdicts = check_all(instruction.verifiers, text)
    return overall(verdicts), verdicts


def _false_trigger(text: str, pool: Sequence[Entry]) -> _Judged:
    if not pool:
        return _by_runner("undecided", "ordinary replies satisfy every instruction")
    undecided = []
    for entry in pool:
        verdicts = check_all(entry.verifiers, text)
        status = overall_unasked(verdicts)
        if status == "pass":
            first = verdicts[0]
            evidence = f"follows {entry.id} unasked: {first.evidence}"
            return "pass", (Verdict("pass", evidence, first.verifier, first.version, first.span),)
        if status == "undecided":
            undecided.append(entry.id)
    if undecided:
        more = f" or {len(undecided) - 1} more" if len(undecided) > 1 else ""
        return _by_runner("undecided", f"cannot tell if it follows {undecided[0]}{more}")
    return _by_runner("fail", "follows no instruction of the pool")


def _by_runner(status: Status, evidence: str) -> _Judged:
    return status, (Verdict(status, evidence, RUNNER, 1),)
