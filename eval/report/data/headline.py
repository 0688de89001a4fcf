"""The answer of a run in one sentence, computed from its curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eval.metrics.curves import CurvePoint
from eval.report.data.selection import (
    HEADLINE_TURN_LIMIT,
    NO_BREAK,
    Curves,
    arm_name,
    bounds,
    percent,
    split_arm,
)

MOST_RUNS = 3
"""Runs that the sentence names; charts and tables show the others too."""

ByTurn = Mapping[int, CurvePoint]


@dataclass(frozen=True)
class Headline:
    """What the answer names: arms at one turn, the trained ones first."""

    points: tuple[CurvePoint, ...] = ()
    turn: int | None = None

    @property
    def parts(self) -> list[tuple[str, str]]:
        """The sentence in pieces: its text, and the arm whose rate the piece is, or nothing."""
        if not self.points:
            return [("No adherence was measured in this run.", "")]
        still = "still " if self.turn != 1 else ""
        before, behind = f" {still}follows its instruction in ", f" of 100{NO_BREAK}replies"
        pieces = [(f"At turn{NO_BREAK}{self.turn} ", "")]
        for point in self.points:
            name = "the base model" if point.arm == "base" else arm_name(point.arm)
            rate = percent(point.rate)
            rate = rate.replace("<", f"fewer than{NO_BREAK}").replace(">", f"more than{NO_BREAK}")
            pieces += [(f"{name}{before}", ""), (rate, point.arm), (f"{behind}, ", "")]
            before, behind = " in ", ""
        return [*pieces[:-1], (pieces[-1][0].removesuffix(", ") + ".", "")]

    @property
    def sentence(self) -> str:
        """The answer as text."""
        return "".join(text for text, _ in self.parts)

    @property
    def detail(self) -> str:
        """Counts and intervals of the arms in the sentence."""
        return "; ".join(
            f"{arm_name(p.arm)}: {p.num_passed} of {p.num_decided} replies, 95 % interval "
            f"{bounds(p.low, p.high)}" + f", {p.num_undecided} undecided" * bool(p.num_undecided)
            for p in self.points
        )


def headline(curves: Curves) -> Headline:
    """Return the answer: the trained arm and the base model at one turn.

    The turn is the last one up to `HEADLINE_TURN_LIMIT` at which both were measured, or the first one
    after it. Of several runs the first `MOST_RUNS` are named, at a turn that all of them have. Without
    such a turn the sentence is about the first run, or its first arm, alone.
    """
    measured: dict[str, ByTurn] = {}
    for arm in curves.arms:
        points = curves.find(arm=arm, **curves.main)
        if by_turn := {p.turn: p for p in points if p.rate is not None}:
            measured[arm] = by_turn
    pairs = [pair for run in curves.runs or ("",) if (pair := _pair(run, measured))][:MOST_RUNS]
    if not pairs:
        return Headline()
    arms = [ours for ours, *_ in pairs] + [base for _, *rest in pairs for base in rest]
    for named in (arms, list(pairs[0]), [pairs[0][0]]):
        turns = set.intersection(*(set(measured[arm]) for arm in named))
        if turns:
            turn = headline_turn(turns)
            return Headline(tuple(measured[arm][turn] for arm in named), turn)
    raise AssertionError("one arm alone has a measured turn")


def headline_turn(turns: set[int]) -> int:
    """Return the last turn up to `HEADLINE_TURN_LIMIT`, or the first one after it."""
    early = [turn for turn in turns if turn <= HEADLINE_TURN_LIMIT]
    return max(early) if early else min(turns)


def _pair(run: str, measured: Mapping[str, ByTurn]) -> tuple[str, ...]:
    """Return the trained arm of a run and its base arm, those of them that were measured."""
    names = {split_arm(arm)[1]: arm for arm in measured if split_arm(arm)[0] == run}
    trained = [name for name in names if name != "base" and not name.startswith("base+reminder")]
    ours = "gatt" if "gatt" in names else next(iter((*trained, *names)), "")
    return tuple(names[name] for name in dict.fromkeys((ours, "base")) if name in names)
