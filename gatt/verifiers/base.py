"""What a verifier is: a rule that reads one reply and gives a verdict with evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

Status = Literal["pass", "fail", "undecided"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one verifier says of one reply.

    `undecided` means that the rule cannot tell (a two-word reply in an unknown
    language); it is counted and shown apart, never as a pass or a fail.
    """

    status: Status
    evidence: str
    """One short line for a reader: what was found, or what was missing."""
    verifier: str
    """The kind, as in the table of verifiers."""
    version: int
    span: tuple[int, int] | None = None
    """Where in the reply the evidence stands: [start, end) in characters."""

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON takes it."""
        return {
            "status": self.status,
            "evidence": self.evidence,
            "verifier": self.verifier,
            "version": self.version,
            "span": list(self.span) if self.span else [],
        }


@dataclass(frozen=True, slots=True)
class Examples:
    """Replies with a known verdict, for one set of parameters."""

    params: Mapping[str, Any]
    good: tuple[str, ...]
    bad: tuple[str, ...]


class Verifier(Protocol):
    """One kind of rule. Its constructor takes the parameters by keyword.

    A constructor raises `VerifierError` for parameters that make no sense, so
    that a catalogue or suite is refused before the first reply is sampled.
    """

    kind: ClassVar[str]
    version: ClassVar[int]
    """Raised by one with every change that can change a verdict."""
    examples: ClassVar[tuple[Examples, ...]]
    """At least one set; `gatt catalog check` and the tests run them all."""

    def check(self, reply: str) -> Verdict:
        """Return the verdict on one reply; never raises on any text."""
        ...
