"""The loose reading: a reply also passes if it would without its frame or its asterisks.

Source: IFEval, arXiv:2311.07911, section 2.2: "Sure, here it is:" on the first line, a
closing remark on the last, and emphasis are no reason to fail. Reported beside the strict
reading, never instead of it: it can only turn a fail into a pass.
"""

from __future__ import annotations

from collections.abc import Sequence

from gatt.verifiers.base import Status, Verdict
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.table import build, check_all, overall


def check_loose(specs: Sequence[VerifierSpec], reply: str) -> Status:
    """Return what the specs say together of a reply, read loosely.

    Each spec for itself passes if it passes on the reply as it is, without the
    first line, without the last, or without both, each also without asterisks.
    Nothing but a strict fail is read again.

    Args:
        specs: what the reply must follow; none at all is undecided.
        reply: the text.

    Raises:
        VerifierError: a spec is unknown or refused.
    """
    verdicts = check_all(specs, reply)
    if overall(verdicts) != "fail":
        return overall(verdicts)
    readings = _readings(reply)
    return overall([_loosely(s, v, readings) for s, v in zip(specs, verdicts, strict=True)])


def _loosely(spec: VerifierSpec, strict: Verdict, readings: Sequence[str]) -> Verdict:
    if strict.status != "fail":
        return strict
    verifier = build(spec)
    found = (verifier.check(reading) for reading in readings)
    return next((verdict for verdict in found if verdict.status == "pass"), strict)


def _readings(reply: str) -> list[str]:
    """Return the other readings of a reply, each once, the blank ones left out."""
    lines = reply.split("\n")
    cut = [reply, *("\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1]))]
    every = dict.fromkeys([*cut, *(text.replace("*", "") for text in cut)])
    return [text for text in every if text.strip() and text != reply]
