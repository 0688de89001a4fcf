"""The verdict of a run in one sentence, computed from its curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from eval.metrics.curves import ALL, CurvePoint
from eval.report.data.selection import HEADLINE_TURN_LIMIT, Curves, arm_name, split_arm

NO_BREAK = "\N{NO-BREAK SPACE}"
MOST_RUNS = 3
"""Runs that the sentence names; the page shows the others too."""
NOTHING = "No adherence was measured in this run."

ByTurn = Mapping[int, CurvePoint]


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


def bounds(low: float | None, high: float | None) -> str:
    """Return an interval in whole per cent, "[60, 83]", nothing where there is none."""
    if low is None or high is None:
        return ""
    return f"[{round(100 * low)}, {round(100 * high)}]"


def interval(point: CurvePoint) -> str:
    """Return the 95 % interval of a point, "[60, 83]"."""
    return bounds(point.low, point.high)


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
class Part:
    """A piece of the sentence: plain words, or a rate or interval of an arm."""

    text: str
    kind: Literal["words", "rate", "interval"] = "words"
    arm: str = ""


@dataclass(frozen=True)
class Headline:
    """The sentence in its parts, and the turn it speaks of."""

    parts: tuple[Part, ...]
    turn: int | None = None

    @property
    def sentence(self) -> str:
        """The whole sentence as text."""
        return "".join(part.text for part in self.parts)


def headline(curves: Curves) -> Headline:
    """Return the verdict: the trained arm against the base model at one turn.

    The turn is the last one up to `HEADLINE_TURN_LIMIT` at which both were
    measured, or the first one after it. Seen instructions and the reference
    history are preferred. With one arm alone the sentence speaks of it alone.
    Of several runs the first `MOST_RUNS` are named, at a turn that all of them
    have; without such a turn the first run speaks for itself.
    """
    measured = _measured(curves)
    pairs = [
        pair
        for run in curves.runs or ("",)
        if (pair := _pair({a: p for a, p in measured.items() if split_arm(a)[0] == run}))
    ][:MOST_RUNS]
    if not pairs:
        return Headline((Part(NOTHING),))
    turn = _common_turn(measured, [arm for pair in pairs for arm in pair if arm])
    if turn is None:
        pairs = pairs[:1]
        turn = _common_turn(measured, [arm for arm in pairs[0] if arm])
    if turn is None:
        pairs = [(pairs[0][0], None)]
        turn = _common_turn(measured, [pairs[0][0]])
    assert turn is not None  # one arm alone has a measured turn, or it were no pair
    return Headline(tuple(_sentence(pairs, measured, turn)), turn)


def _measured(curves: Curves) -> dict[str, ByTurn]:
    """Return the measured points of the headline's curve, by arm and turn."""
    found: dict[str, ByTurn] = {}
    for arm in curves.arms:
        points = curves.find(
            arm=arm,
            metric="adherence",
            history=curves.main_history,
            split=curves.main_split,
            family=ALL,
        )
        if by_turn := {p.turn: p for p in points if p.rate is not None}:
            found[arm] = by_turn
    return found


def _pair(measured: Mapping[str, ByTurn]) -> tuple[str, str | None] | None:
    """Return the trained arm of a run and its base arm, if it was measured."""
    names = {split_arm(arm)[1]: arm for arm in measured}
    if not names:
        return None
    trained = [n for n in names if n not in ("base", "base+reminder")]
    ours = "gatt" if "gatt" in names else next(iter(trained or names))
    return names[ours], names.get("base") if ours != "base" else None


def _common_turn(measured: Mapping[str, ByTurn], arms: Sequence[str]) -> int | None:
    turns = set.intersection(*(set(measured[a]) for a in arms))
    early = [t for t in turns if t <= HEADLINE_TURN_LIMIT]
    return max(early) if early else min(turns, default=None)


def _sentence(
    pairs: Sequence[tuple[str, str | None]], measured: Mapping[str, ByTurn], turn: int
) -> Iterator[Part]:
    has_runs = len(pairs) > 1
    names = {split_arm(ours)[1] for ours, _ in pairs}
    subject = "The trained arm"
    if names == {"base"}:
        subject = "The base model"
    elif len(names) == 1:
        subject = arm_name(names.pop() if has_runs else pairs[0][0])
    yield Part(f"{subject} keeps ")
    for number, (ours, _) in enumerate(pairs):
        if number:
            yield Part(" and " if number == len(pairs) - 1 else ", ")
        yield from _rate(measured[ours][turn])
        if has_runs:
            yield Part(f" in {split_arm(ours)[0]}")
    yield Part(f" at turn{NO_BREAK}{turn}")
    others = [theirs for _, theirs in pairs if theirs]
    if others:
        yield Part(", the base model ")
        for number, theirs in enumerate(others):
            if number:
                yield Part(" and " if number == len(others) - 1 else ", ")
            yield from _rate(measured[theirs][turn])
    yield Part(".")


def _rate(point: CurvePoint) -> Iterator[Part]:
    yield Part(f"{percent(point.rate)}{NO_BREAK}%", "rate", point.arm)
    yield Part(NO_BREAK)
    yield Part(interval(point).replace(" ", NO_BREAK), "interval", point.arm)
