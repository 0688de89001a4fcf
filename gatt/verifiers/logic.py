"""`not` and `all`: rules made of other rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import MinLen
from pydantic import PlainValidator

from gatt.errors import CatalogError, VerifierError
from gatt.verifiers.base import Status, Verdict
from gatt.verifiers.judge import JUDGE
from gatt.verifiers.rule import Rule
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.table import build, overall

_OPPOSITE: dict[Status, Status] = {"pass": "fail", "fail": "pass", "undecided": "undecided"}


def _built(of: Any) -> Rule:
    try:
        spec = VerifierSpec.from_dict(of)
        if spec.kind != JUDGE:
            return build(spec)
    except (CatalogError, VerifierError) as error:
        raise ValueError(str(error)) from None
    raise ValueError(f"the verdict of {JUDGE!r} comes later: expected it beside this rule")


Inner = Annotated[Rule, PlainValidator(_built)]
Inners = Annotated[tuple[Inner, ...], MinLen(1)]


@dataclass(frozen=True, kw_only=True)
class Not(Rule):
    """Passes where another rule fails and fails where it passes; undecided stays undecided.

    Degenerate text fails here too.

    Args:
        of: the other rule, `{kind: ..., parameter: ...}`.
    """

    kind = "not"
    reads_markup = True

    of: Inner

    def decide(self, reply: str) -> Verdict:
        inner = self.of.check(reply)
        evidence = f"{inner.verifier}: {inner.evidence}"
        return self.verdict(_OPPOSITE[inner.status], evidence, inner.span)


@dataclass(frozen=True, kw_only=True)
class All(Rule):
    """Passes where every one of some rules passes; one that fails makes it fail.

    Args:
        of: the rules, each `{kind: ..., parameter: ...}`, at least one.
    """

    kind = "all"
    reads_markup = True

    of: Inners

    def decide(self, reply: str) -> Verdict:
        verdicts = [verifier.check(reply) for verifier in self.of]
        status = overall(verdicts)
        shown = next(verdict for verdict in verdicts if verdict.status == status)
        return self.verdict(status, f"{shown.verifier}: {shown.evidence}", shown.span)
