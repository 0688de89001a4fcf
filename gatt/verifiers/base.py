"""What a verifier gives: a verdict with evidence. And the replies with a known verdict that it brings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

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
        return {**asdict(self), "span": list(self.span or ())}


@dataclass(frozen=True, slots=True)
class Examples:
    """Replies with a known verdict, for one set of parameters."""

    params: Mapping[str, Any]
    good: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()
