"""From a reply to a sample with verdicts: by rules, then by the judge where rules leave it open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from eval.records.arms import History
from eval.records.case import Case
from eval.records.samples import Expected, Kind, Sample
from eval.scoring.judge.question import JudgeKey
from gatt.data.answers import answers
from gatt.data.catalog.switch_leakage import leak_status
from gatt.data.expectation import Expectation
from gatt.data.instruction import Entry, Instruction
from gatt.data.switches import last_end, last_switch
from gatt.generation.base import Generation
from gatt.verifiers import Status, Verdict, check_all, overall
from gatt.verifiers.judge import JUDGE, Judge, is_open
from gatt.verifiers.rule import quote
from gatt.verifiers.table import check_loose
from gatt.verifiers.text.degenerate import degenerate
from gatt.verifiers.text.echo import echoed


@dataclass(frozen=True)
class Reply:
    """One reply of an arm: to user message `turn`, or to the probe that replaces it."""

    case: Case
    turn: int
    kind: Kind
    user: str
    generation: Generation
    earlier: tuple[str, ...] = ()
    """The replies in the history that the arm read, first turn first."""


def attach(samples: Iterable[Sample], verdicts: Mapping[JudgeKey, Verdict]) -> list[Sample]:
    """Return the samples with the verdicts of `judge_samples`, in order.

    The verdict on adherence is stored in `judge`; it decides the status if no rule covers the instruction.
    The verdict on completion replaces the measured one, also if it is `undecided`: two ways of measuring do
    not make one rate. A degenerate reply fails whatever the judge says. Samples that the judge was not
    asked about stay as they are.
    """
    judged = []
    for sample in samples:
        key = sample.key
        if adherence := verdicts.get(("adherence", key)):
            sample = with_judge_status(replace(sample, judge=adherence))
        if completion := verdicts.get(("completion", key)):
            sample = replace(sample, completion=_junk(sample) or completion)
        judged.append(sample)
    return judged


def expected_status(status: Status, expected: Expected) -> Status:
    """Return the status of a reply: after a release, a reply that follows the instruction fails."""
    if expected == "kept" or status == "undecided":
        return status
    return "fail" if status == "pass" else "pass"


def is_ruled(sample: Sample) -> bool:
    """Whether rules alone made the status, so that a judge can be compared with them."""
    return bool(sample.verdicts) and all(v.verifier != JUDGE for v in sample.verdicts)


def with_judge_status(sample: Sample) -> Sample:
    """Return the sample with its `judge` verdict as its status if the rules leave it open.

    The verdict says whether the reply follows the instruction, also after a release. Instructions without a
    verifier are open, and so are `judge` verifiers: the verdict replaces theirs, and one failed rule beside
    them still fails the reply. What rules decide stays. Doing it twice changes nothing.
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


RUNNER: Final = "run"
"""The verifier's name if no verifier was asked."""
_NO_REPLY: Final[Mapping[str, str]] = {
    "length": "the limit of tokens came before any text",
    "context_limit": "the context is full: no reply",
    "content_filter": "the server's filter withheld the reply",
}

_Checked = tuple[Status, tuple[Verdict, ...]]


def check_by_rules(reply: Reply, arm: str, history: History, pool: Sequence[Entry]) -> Sample:
    """Return the sample of a reply, with the verdicts of rules alone.

    - A turn or probe under an instruction: all its verifiers must pass, and those of the
      turn's event. After the instruction was taken back, a reply that passes them all fails.
    - A turn of a plain dialogue passes, as a false trigger, if the reply follows any entry of
      the pool. Ordinary replies must follow no entry of it, see `eval.cases.unmeasured`.
    - A turn that expects something: `answer` says whether the reply holds it, whatever its instruction.
    - A reply that the server ended with a word of its own is `undecided`: it may be a notice of the server.
    - A reply that gives the teacher's hint back fails, whatever its verifiers say.
    - An empty reply is `undecided` if the context was full, a server withheld the reply, or
      the tokens ended before any text (a model that reasons first).
    - `leak` says whether the reply follows what was replaced or taken back, see
      `gatt.data.catalog.switch_leakage`; a probe leaks if it still gives what was taken back.
    """
    case, turn, kind, text = reply.case, reply.turn, reply.kind, reply.generation.text
    instruction = case.instruction_at(turn, kind)
    probe = case.probe_at(turn) if kind == "probe" else None
    expected = case.expected(turn)
    no_reply = None if text else _NO_REPLY.get(reply.generation.finish)
    if word := reply.generation.server_end:
        no_reply = f"the server ended the reply with {word!r}"
    # A degenerate reply follows no instruction, but does not show that the model dropped it either.
    junk = degenerate(text) if expected == "released" else None
    if instruction and (echo := _echo(text, instruction)):
        junk = f"echoes the teacher's hint: {quote(echo)}"
    if no_reply:
        status, verdicts = _by_runner("undecided", no_reply)
    elif junk:
        status, verdicts = _by_runner("fail", junk)
    else:
        if probe:
            verdicts = check_all(probe.verifiers, text)
            status = overall(verdicts)
        else:
            status, verdicts = verdicts_of_turn(text, instruction, pool)
        status = expected_status(status, expected)
    loose = None
    if instruction and not probe and expected == "kept":
        is_strict = status == "fail" and not junk
        loose = check_loose(instruction.verifiers, text) if is_strict else status
    rules = case.ended_rules(turn)
    if probe:
        # After a replacement the probe belongs to the new instruction: it says nothing about leakage.
        rules = (probe.verifiers,) if expected == "released" else ()
    leak = leak_status(rules, text)
    event = None if probe else case.events.get(turn)
    switch, end = last_switch(case.switches, turn), last_end(case.switches, turn)
    announced = switch if switch and switch.turn == turn and not probe else None
    first = case.instruction.id if case.instruction else ""
    expectation = None if probe else case.expectation(turn)
    return Sample(
        arm=arm,
        history=history,
        dialogue=case.dialogue.id,
        turn=turn,
        kind=kind,
        instruction=instruction,
        family=instruction.family if instruction else "plain",
        split=instruction.split if instruction else "none",
        user=reply.user,
        reply=text,
        reference=case.reference(turn),
        finish=reply.generation.finish,
        server_end=reply.generation.server_end,
        status=status,
        verdicts=verdicts,
        loose=loose,
        event=announced.kind if announced else event.kind if event else None,
        expected=expected,
        twin=case.twin,
        cluster=case.cluster,
        given=first if instruction and instruction.id != first else "",
        since_switch=turn - switch.turn if switch else None,
        leak="undecided" if leak and no_reply else leak,
        since_end=turn - end.turn if leak and end else None,
        ended=case.ended_at(turn) if leak else None,
        announcement=announced.text if announced else None,
        answer=_answer(reply, expectation, no_reply, instruction) if expectation else None,
        asks=expectation.kind if expectation else None,
        asks_what=expectation.fact if expectation else "",
    )


def _answer(
    reply: Reply, expectation: Expectation, no_reply: str | None, instruction: Instruction | None
) -> Verdict:
    """Return whether a reply holds what its turn expects."""
    if no_reply:
        return Verdict("undecided", no_reply, RUNNER, 1)
    text, earlier = reply.generation.text, reply.earlier
    before = reply.case.dialogue.expectations[: len(earlier)]
    wording = instruction.text if instruction else ""
    return answers(expectation, text, reply.user, earlier, before, wording)


def _echo(text: str, instruction: Instruction) -> str | None:
    """Return the sentence of the teacher's hint that a reply gives back."""
    wanted = (*instruction.utterances, *instruction.prefills)
    return echoed(text, instruction.hint, wanted=wanted)


def verdicts_of_turn(
    text: str, instruction: Instruction | None, pool: Sequence[Entry]
) -> tuple[Status, tuple[Verdict, ...]]:
    """Return the rules' verdicts on the reply to an ordinary turn; see `judge`."""
    if instruction is not None:
        verdicts = check_all(instruction.verifiers, text)
        return overall(verdicts), verdicts
    if not pool:
        return _by_runner("undecided", "ordinary replies satisfy every instruction")
    undecided = []
    for entry in pool:
        verdicts = check_all(entry.verifiers, text)
        status = overall(verdicts)
        if status == "pass":
            first = verdicts[0]
            evidence = f"follows {entry.id} unasked: {first.evidence}"
            return "pass", (Verdict("pass", evidence, first.verifier, first.version, first.span),)
        if status == "undecided":
            undecided.append(entry.id)
    if undecided:
        others = f" or {len(undecided) - 1} more" if len(undecided) > 1 else ""
        return _by_runner("undecided", f"cannot tell if it follows {undecided[0]}{others}")
    return _by_runner("fail", "follows no instruction of the pool")


def _by_runner(status: Status, evidence: str) -> _Checked:
    return status, (Verdict(status, evidence, RUNNER, 1),)
