"""Whether a reply answers its turn: one verdict from what the turn expects, for synthesis and evaluation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gatt.data.expectation import Expectation
from gatt.data.own_facts import VERSION as WHOSE_VERSION
from gatt.data.own_facts import says_its_own, says_the_users
from gatt.verifiers.answers.order import VERSION as ORDER_VERSION
from gatt.verifiers.answers.order import is_turned_round
from gatt.verifiers.answers.rule import Answer, also_counts
from gatt.verifiers.base import Verdict
from gatt.verifiers.rule import Span
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.table import build, check_all, overall
from gatt.verifiers.text.copying import VERSION as COPYING_VERSION
from gatt.verifiers.text.copying import copy_of, is_echo, repeats, without_recital
from gatt.verifiers.text.degenerate import NO_LETTERS, degenerate

ANSWERS: Final = "answers"
"""The name under which the verdict stands."""
VERSION: Final = Answer.version + COPYING_VERSION + ORDER_VERSION + WHOSE_VERSION
"""Changes with every rule that can change the verdict, the user's own verifiers aside."""

_HOW_MANY: Final = re.compile(r"\bhow many (?P<things>[a-z]+)", re.IGNORECASE)


def answers(
    expectation: Expectation,
    reply: str,
    user: str,
    earlier_replies: Sequence[str] = (),
    earlier_expectations: Sequence[Expectation | None] = (),
    instruction: str = "",
) -> Verdict:
    """Return whether a reply answers its turn.

    It fails if it is degenerate (a loop), repeats an earlier reply, says no accepted answer or a wrong one,
    fails a rule of the turn, copies the user's message without bringing an answer that the message lacks, or
    says the answer only where it recites the instruction, see `without_recital`.

    What is earlier begins with turn 1. A reply may be said again where the same is asked again; turns left out
    expected something else. A turn that expects nothing has no verdict, see `flaw_of`.
    `instruction` is the text of the one in force.

    Raises:
        VerifierError: a rule of the turn does not exist or fails.
    """
    others = [
        other
        for number, other in enumerate(earlier_replies)
        if not _asks_the_same(expectation, earlier_expectations[number : number + 1])
    ]
    if flaw := _degenerate(reply) or repeats(reply, others):
        return _verdict("fail", flaw)
    verdicts = list(check_all(expectation.verifiers, reply))
    if expectation.any_of or expectation.none_of:
        verdicts.insert(0, build(_spec(expectation)).check(reply))
    status = overall(verdicts)
    shown = next(verdict for verdict in verdicts if verdict.status == status)
    if status == "pass":
        wrong = _counts_otherwise(expectation, reply, user) or _of_another(expectation, reply, user)
        copied = None if _brings_an_answer(expectation, reply, user) else copy_of(reply, user)
        if flaw := wrong or copied or _recites(expectation, reply, instruction):
            return _verdict("fail", flaw)
    return Verdict(status, shown.evidence, ANSWERS, VERSION, shown.span)


def flaw_of(reply: str, user: str, earlier_replies: Sequence[str] = ()) -> str | None:
    """Return why a reply is none to any message, or None: degenerate, a copy of it, a reply of before.

    For turns that expect nothing: their replies cannot be right, but they can be no replies at all.
    """
    return _degenerate(reply) or repeats(reply, earlier_replies) or copy_of(reply, user)


def _degenerate(reply: str) -> str | None:
    reason = degenerate(reply)
    return None if reason == NO_LETTERS and any(map(str.isdigit, reply)) else reason


def _spec(expectation: Expectation) -> VerifierSpec:
    given = {"any_of": list(expectation.any_of), "none_of": list(expectation.none_of)}
    return VerifierSpec(Answer.kind, {name: terms for name, terms in given.items() if terms})


def _asks_the_same(asked: Expectation, others: Sequence[Expectation | None]) -> bool:
    # Who says its name says its company too, and may say both again.
    return any(
        o is not None
        and (o.kind == asked.kind == "speaker" or not set(o.any_of).isdisjoint(asked.any_of))
        for o in others
    )


def _brings_an_answer(expectation: Expectation, reply: str, user: str) -> bool:
    """Whether a right reply says an answer that the message lacks, or has chosen one of its options."""
    if not expectation.any_of:
        return False
    rule = build(_spec(expectation))
    assert isinstance(rule, Answer)
    is_choice = rule.names_wrong(user) and not is_echo(reply, user)
    return bool(rule.named(reply) - rule.named(user)) or is_choice


def _counts_otherwise(expectation: Expectation, reply: str, user: str) -> str | None:
    """Return how a reply counts other things too ("six legs and eight eyes", asked for legs), or None."""
    asked = _HOW_MANY.search(user)
    if not asked or not expectation.any_of:
        return None
    return also_counts(build(_spec(expectation)), reply, asked["things"].lower())


def _of_another(expectation: Expectation, reply: str, user: str) -> str | None:
    """Return why a reply says the right answer of something else each time, or None.

    Of somebody else: a fact of the speaker of the user ("You enjoy tennis."), a fact that the user told of the
    speaker ("I lost my umbrella."). Of something else: in the wrong order, see `is_turned_round`.
    """
    if not expectation.any_of:
        return None
    rule = build(_spec(expectation))
    assert isinstance(rule, Answer)
    spans = list(_whole(rule.meant(reply), reply))
    if expectation.kind == "speaker":
        is_theirs = any(says_its_own(reply, span, expectation.fact) for span in spans)
        return None if is_theirs else "says it of somebody else"
    if expectation.kind == "told" and not any(says_the_users(reply, span) for span in spans):
        return "says it of itself"
    # In a user's own question "before" and "after" mean many things: "Can I shower after the surgery?".
    is_ordered = expectation.kind == "question"
    if is_ordered and all(is_turned_round(user, reply, span) for span in spans):
        return "has it in the wrong order"
    return None


def _recites(expectation: Expectation, reply: str, instruction: str) -> str | None:
    """Return that a reply says its answer only where it recites the instruction, or None."""
    if not (instruction and expectation.any_of):
        return None
    # No reply says its own name in the words of the instruction: "You are Mia", "Eres Lucía".
    rest = without_recital(reply, instruction, 1 if expectation.fact == "name" else 2)
    is_said = rest is None or build(_spec(expectation)).check(rest).status == "pass"
    return None if is_said else "recites the instruction"


def _whole(spans: Iterable[Span], reply: str) -> Iterator[Span]:
    """Yield spans, but not one that directly follows another: "guide" in "mountain guide"."""
    last = None
    for span in sorted(spans):
        if last is None or reply[last[1] : span[0]].strip():
            yield span
        last = span if last is None or span[1] > last[1] else last


def _verdict(status: str, evidence: str) -> Verdict:
    return Verdict("pass" if status == "pass" else "fail", evidence, ANSWERS, VERSION)
