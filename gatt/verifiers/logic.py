"""`not` and `all`: rules made of other rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gatt.errors import CatalogError, VerifierError
from gatt.verifiers.base import Verdict, Verifier
from gatt.verifiers.graded.score import DECIDED_LATER
from gatt.verifiers.rule import Rule, shipped_examples
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.table import build, overall


class Not(Rule):
    """Passes where another rule fails and fails where it passes; undecided stays undecided.

    Degenerate text fails here too.

    Args:
        of: the other rule, `{kind: ..., parameter: ...}`.
    """

    kind = "not"
    reads_markup = True
    examples = shipped_examples(kind)

    def __init__(self, *, of: Mapping[str, Any]) -> None:
        self._inner = _build_inner(self.kind, of)

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        inner = self._inner.check(reply)
        evidence = f"{inner.verifier}: {inner.evidence}"
        if inner.status == "undecided":
            return self.undecided(evidence, inner.span)
        verdict = self.failed if inner.status == "pass" else self.passed
        return verdict(evidence, inner.span)


class All(Rule):
    """Passes where every one of some rules passes; one that fails makes it fail.

    Args:
        of: the rules, each `{kind: ..., parameter: ...}`, at least one.
    """

    kind = "all"
    reads_markup = True
    examples = shipped_examples(kind)

    def __init__(self, *, of: Sequence[Mapping[str, Any]]) -> None:
        if isinstance(of, str | Mapping) or not isinstance(of, Sequence) or not of:
            raise VerifierError(f"verifier {self.kind!r}: 'of' is {of!r}: expected a list of rules")
        self._inner = tuple(_build_inner(self.kind, one) for one in of)

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        verdicts = [verifier.check(reply) for verifier in self._inner]
        status = overall(verdicts)
        shown = next(verdict for verdict in verdicts if verdict.status == status)
        verdict = {"pass": self.passed, "fail": self.failed, "undecided": self.undecided}[status]
        return verdict(f"{shown.verifier}: {shown.evidence}", shown.span)


def _build_inner(kind: str, of: object) -> Verifier:
    if not isinstance(of, Mapping):
        raise VerifierError(
            f"verifier {kind!r}: 'of' holds {of!r}: expected a rule such as {{kind: words, max: 9}}"
        )
    if of.get("kind") in DECIDED_LATER:
        raise VerifierError(
            f"verifier {kind!r}: 'of' holds a {of['kind']!r} rule, whose verdict comes later: expected it "
            f"beside {kind!r}, not inside"
        )
    try:
        return build(VerifierSpec.from_dict(of))
    except (CatalogError, VerifierError) as error:
        raise VerifierError(f"verifier {kind!r}, 'of': {error}") from None
