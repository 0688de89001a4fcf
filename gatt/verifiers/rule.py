"""The common part of all verifiers: junk fails, and verdicts carry kind and version."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from gatt.errors import VerifierError
from gatt.verifiers.base import Examples, Status, Verdict
from gatt.verifiers.phrases import read_phrases
from gatt.verifiers.text.degenerate import degenerate
from gatt.verifiers.text.task_talk import without_task_talk
from gatt.verifiers.text.visible import visible
from gatt.verifiers.text.words import is_letter

Span = tuple[int, int]
EVIDENCE_CHARACTERS = 60
MAX_CHARACTERS = 20_000
"""Length up to which a reply is read: every rule takes time linear in the length up to here."""


class Rule(ABC):
    """A verifier that answers `fail` on degenerate text before it judges.

    It also fails a reply that only talks about its task: that refuses, repeats, promises
    or questions the instruction (`task_talk`). Beside such talk, a rule of sense
    (`reads_sense`) judges the rest of the reply; a rule of form judges all of it.

    Subclasses set `kind`, `version` and `examples`, take their parameters by
    keyword, and write `judge`. `judge` gets what a reader sees (`visible`), as long
    as the reply, unless the subclass sets `reads_markup`.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    reads_sense: ClassVar[bool] = False
    """Whether `judge` gets the reply with talk about the task blanked, as it reads what is meant."""
    reads_markup: ClassVar[bool] = False
    """Whether `judge` needs the reply with comments, tags and addresses, as it was written."""
    examples: ClassVar[tuple[Examples, ...]]

    def check(self, reply: str) -> Verdict:
        """Return the verdict on one reply; degenerate text and mere talk about the task always fail.

        A reply of more than `MAX_CHARACTERS` is undecided before anything reads it.
        """
        if len(reply) > MAX_CHARACTERS:
            return self.undecided(f"{len(reply)} characters: longer than {MAX_CHARACTERS}")
        reason = degenerate(reply)
        if reason:
            return self.failed(reason)
        seen = visible(reply)
        if not any(map(is_letter, seen)):
            return self.failed("nothing that a reader sees")
        said = without_task_talk(seen)
        if not said.strip():
            return self.failed("only talks about the instruction")
        if self.reads_sense:
            return self.judge(said)
        return self.judge(reply if self.reads_markup else seen)

    @abstractmethod
    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""

    def passed(self, evidence: str, span: Span | None = None) -> Verdict:
        """Return a pass."""
        return self._verdict("pass", evidence, span)

    def failed(self, evidence: str, span: Span | None = None) -> Verdict:
        """Return a fail."""
        return self._verdict("fail", evidence, span)

    def undecided(self, evidence: str, span: Span | None = None) -> Verdict:
        """Return that the rule cannot tell."""
        return self._verdict("undecided", evidence, span)

    def _verdict(self, status: Status, evidence: str, span: Span | None) -> Verdict:
        return Verdict(status, evidence, self.kind, self.version, span)


def shipped_examples(kind: str) -> tuple[Examples, ...]:
    """Return the examples of a kind that is shipped, of `examples.yaml`."""
    return tuple(
        Examples(one["params"], tuple(one.get("good", ())), tuple(one.get("bad", ())))
        for one in read_phrases("examples")[kind]
    )


def quote(text: str) -> str:
    """Return a text as evidence shows it: quoted, on one line, cut if long."""
    line = " ".join(text.split())
    if len(line) > EVIDENCE_CHARACTERS:
        line = line[: EVIDENCE_CHARACTERS - 1] + "…"
    return repr(line)


def require_texts(kind: str, name: str, value: object) -> tuple[str, ...]:
    """Return a parameter that must be a list of non-blank texts.

    Raises:
        VerifierError: it is something else (a bare string, a number in the list).
    """
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise VerifierError(f"verifier {kind!r}: {name!r} is {value!r}: expected a list of texts")
    for item in value:
        if not isinstance(item, str) or not item.strip():
            raise VerifierError(f"verifier {kind!r}: {name!r} holds {item!r}: expected texts only")
    return tuple(value)


def require_bounds(kind: str, low: object, high: object, least: int = 0) -> tuple[int, int | None]:
    """Return the parameters `min` and `max`, at least one of them given.

    Raises:
        VerifierError: neither is given, one is no whole number of at least
            `least`, or `min` is above `max`.
    """
    if low is None and high is None:
        raise VerifierError(f"verifier {kind!r}: neither 'min' nor 'max': expected at least one")
    for name, value in (("min", low), ("max", high)):
        if value is not None and (type(value) is not int or value < least):
            raise VerifierError(
                f"verifier {kind!r}: {name!r} is {value!r}: expected a whole number from {least} up"
            )
    lowest = low if isinstance(low, int) else 0
    highest = high if isinstance(high, int) else None
    if highest is not None and lowest > highest:
        raise VerifierError(
            f"verifier {kind!r}: 'min' {lowest} is above 'max' {highest}: expected min <= max"
        )
    return lowest, highest
