"""The answer of a run in one sentence, computed from its curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eval.metrics.curves import CurvePoint
from eval.report.data.selection import HEADLINE_TURN_LIMIT, Curves, arm_name, split_arm

NO_BREAK = "\N{NO-BREAK SPACE}"
MOST_RUNS = 3
"""Runs that the sentence names; charts and tables show the others too."""
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
    """Return an interval in whole per cent, "[60, 83]", empty where there is none."""
    if low is None or high is None:
        return ""
    return f"[{round(100 * low)}, {round(100 * high)}]"


@dataclass(frozen=True)
class Headline:
    """What the answer names: arms at one turn, the trained ones first."""

    points: tuple[CurvePoint, ...] = ()
    turn: int | None = None

    @property
    def parts(self) -> list[tuple[str, str]]:
        """The sentence in pieces: its text, and the arm whose rate the piece is, or nothing."""
        if not self.points:
            return [(NOTHING, "")]
        still = "still " if self.turn != 1 else ""
        pieces = [(f"At turn{NO_BREAK}{self.turn} ", "")]
        for number, point in enumerate(self.points):
            name = "the base model" if point.arm == "base" else arm_name(point.arm)
            verb = f" {still}follows its instruction in " if not number else " in "
            pieces.append((f"{', ' * bool(number)}{name}{verb}", ""))
            pieces.append((_of_hundred(point), point.arm))
            if not number:
                pieces.append((f" of 100{NO_BREAK}replies", ""))
        return [*pieces, (".", "")]

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


def _of_hundred(point: CurvePoint) -> str:
    text = percent(point.rate)
    return text.replace("<", f"fewer than{NO_BREAK}").replace(">", f"more than{NO_BREAK}")


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
        early = [turn for turn in turns if turn <= HEADLINE_TURN_LIMIT]
        if turns:
            turn = max(early) if early else min(turns)
            return Headline(tuple(measured[arm][turn] for arm in named), turn)
    raise AssertionError("one arm alone has a measured turn")


def _pair(run: str, measured: Mapping[str, ByTurn]) -> tuple[str, ...]:
    """Return the trained arm of a run and its base arm, those of them that were measured."""
    names = {split_arm(arm)[1]: arm for arm in measured if split_arm(arm)[0] == run}
    trained = [name for name in names if name not in ("base", "base+reminder")]
    ours = "gatt" if "gatt" in names else next(iter((*trained, *names)), "")
    return tuple(names[name] for name in dict.fromkeys((ours, "base")) if name in names)
