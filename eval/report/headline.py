"""The verdict of a run in one sentence, computed from its curves."""

from __future__ import annotations

from dataclasses import dataclass

from eval.metrics.curves import ALL, CurvePoint
from eval.report.selection import HEADLINE_TURN_LIMIT, Curves, arm_name

NO_BREAK = "\N{NO-BREAK SPACE}"


def percent(value: float | None) -> str:
    """Return a rate as whole per cent; only the exact ends read 0 and 100."""
    if value is None:
        return "–"
    rounded = round(100 * value)
    if rounded == 100 and value < 1:
        return ">99"
    if rounded == 0 and value > 0:
        return "<1"
    return str(rounded)


def interval(point: CurvePoint) -> str:
    """Return the 95 % interval in whole per cent, "[60, 83]"."""
    if point.low is None or point.high is None:
        return ""
    return f"[{round(100 * point.low)}, {round(100 * point.high)}]"


def rate_with_interval(point: CurvePoint) -> str:
    """Return "73 % [60, 83]", unbreakable, or a dash where nothing was decided."""
    if point.rate is None:
        return percent(None)
    return f"{percent(point.rate)} % {interval(point)}".replace(" ", NO_BREAK)


def counts(point: CurvePoint) -> str:
    """Return "10/12, 4?": passed of decided replies, and undecided ones if there are any."""
    undecided = f", {point.num_undecided}?" if point.num_undecided else ""
    return f"{point.num_passed}/{point.num_decided}{undecided}".replace(" ", NO_BREAK)


@dataclass(frozen=True)
class Headline:
    """The sentence and the points it speaks of."""

    sentence: str
    turn: int | None
    ours: CurvePoint | None = None
    theirs: CurvePoint | None = None


def headline(curves: Curves) -> Headline:
    """Return the verdict: the trained arm against the base model at one turn.

    The turn is the last one up to `HEADLINE_TURN_LIMIT` at which both were
    measured, or the first one after it. Seen instructions and the reference
    history are preferred. With one arm alone the sentence speaks of it alone.
    """
    measured: dict[str, dict[int, CurvePoint]] = {}
    for arm in curves.arms:
        points = curves.find(
            arm=arm,
            metric="adherence",
            history=curves.main_history,
            split=curves.main_split,
            family=ALL,
        )
        by_turn = {p.turn: p for p in points if p.rate is not None}
        if by_turn:
            measured[arm] = by_turn
    if not measured:
        return Headline("No adherence was measured in this run.", None)
    trained = [a for a in measured if a not in ("base", "base+reminder")]
    ours = "gatt" if "gatt" in measured else next(iter(trained or measured))
    theirs = "base" if "base" in measured and ours != "base" else None
    turn = _last_turn(set(measured[ours]) & set(measured[theirs] if theirs else measured[ours]))
    if turn is None:
        theirs, turn = None, _last_turn(set(measured[ours]))
    if turn is None:
        return Headline("No adherence was measured in this run.", None)
    our_point = measured[ours][turn]
    subject = arm_name(ours) if ours != "base" else "the base model"
    sentence = f"At turn{NO_BREAK}{turn} {subject} keeps {rate_with_interval(our_point)} of its "
    if theirs is None:
        return Headline(sentence + "instructions.", turn, our_point)
    their_point = measured[theirs][turn]
    sentence += f"instructions, the base model {rate_with_interval(their_point)}."
    return Headline(sentence, turn, our_point, their_point)


def _last_turn(turns: set[int]) -> int | None:
    early = [t for t in turns if t <= HEADLINE_TURN_LIMIT]
    return max(early) if early else min(turns, default=None)
