"""The common part of all verifiers: junk fails, and verdicts carry kind and version."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from gatt.errors import VerifierError
from gatt.verifiers.base import Examples, Status, Verdict
from gatt.verifiers.degenerate import degenerate

Span = tuple[int, int]
EVIDENCE_CHARACTERS = 60


class Rule(ABC):
    """A verifier that answers `fail` on degenerate text before it judges.

    Subclasses set `kind`, `version` and `examples`, take their parameters by
    keyword, and write `judge`.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    examples: ClassVar[tuple[Examples, ...]]

    def check(self, reply: str) -> Verdict:
        """Return the verdict on one reply; degenerate text always fails."""
        reason = degenerate(reply)
        return self.failed(reason) if reason else self.judge(reply)

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
