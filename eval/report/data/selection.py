"""The curves of a `results.json`, and the choices that every table and chart share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from eval.config import RUN_MARK
from eval.metrics.ability import ABLE, UNABLE
from eval.metrics.curves import ALL, OWN_REPLIES, CurvePoint
from eval.metrics.table import METRICS, VACUOUS, is_since_switch
from eval.records.arms import (
    ALONE,
    BASE,
    CANNED,
    REMINDED,
    WITHOUT_HISTORY,
    is_untrained,
    slips_of,
    window_of,
)
from gatt.data.instruction import SPLITS

HEADLINE_TURN_LIMIT = 20
"""The headline speaks of the last common turn up to here: the paper's horizon."""
NO_BREAK = "\N{NO-BREAK SPACE}"

ARM_ORDER = (BASE, "gatt", ALONE, REMINDED, CANNED)
ARM_NAMES: Mapping[str, str] = {
    BASE: "base model",
    ALONE: "asked alone",
    REMINDED: "system + reminder",
    CANNED: "canned string",
    "gatt": "GAtt",
    ALL: "all arms",
    OWN_REPLIES: "the dialogue itself",
}
SPLIT_NAMES: Mapping[str, str] = {
    ALL: "all instructions",
    "train": "seen",
    "heldout_value": "unseen value",
    "heldout_family": "unseen family",
    "none": "no instruction",
    ABLE: "kept when asked alone",
    UNABLE: "not kept when asked alone",
}
HISTORY_NAMES: Mapping[str, str] = {"reference": "people’s history", "own": "own history"}


def history_name(history: str) -> str:
    """Return what readers call a history."""
    if slips := slips_of(history):
        return f"own history after {slips} slip{'s' * (slips > 1)}"
    return HISTORY_NAMES[history]


def split_arm(arm: str) -> tuple[str, str]:
    """Return the run and the arm's own name; the run is empty where there is one alone."""
    run, _, name = arm.rpartition(RUN_MARK)
    return run, name


def arm_name(arm: str) -> str:
    """Return what readers call the arm; an unknown one keeps its name."""
    run, name = split_arm(arm)
    size = window_of(name)
    shown = ARM_NAMES.get(name) or (f"window of {size}" if size else name)
    return f"{run}{RUN_MARK}{shown}" if run else shown


def is_main_arm(arm: str) -> bool:
    """Whether an arm is drawn in the first chart: not a window of the history, nor the canned string."""
    name = split_arm(arm)[1]
    return name != CANNED and window_of(name) is None


def turn_name(metric: str, turn: int) -> str:
    """Return the head of a column: of some metrics turns are counted from a change on."""
    if not is_since_switch(metric):
        return f"turn {turn}"
    return f"{turn} later" if turn else "at it"


def metric_name(metric: str) -> str:
    """Return the heading of a metric."""
    return METRICS[metric].name if metric in METRICS else metric


def percent(value: float | None) -> str:
    """Return a rate as whole per cent; only the exact ends read 0 and 100."""
    if value is None:
        return "–"
    rounded = round(100 * value)
    if rounded == 100 and value < 1:
        return ">99"
    return "<1" if rounded == 0 and value > 0 else str(rounded)


def signed(value: float | None, digits: int = 0, sign: str = "") -> str:
    """Return a share as per cent with a minus of typography, and with "+" as `sign` a plus; no "-0"."""
    if value is None:
        return "–"
    # Rounded first, or a value just below 0 would read −0.
    rounded = round(100 * value, digits) or 0.0
    return format(rounded, f"{sign if rounded else ''}.{digits}f").replace("-", "−")


def interval_text(low: float | None, high: float | None, sign: str = "") -> str:
    """Return an interval in per cent, "[60, 83]", empty where there is none."""
    if low is None or high is None:
        return ""
    return f"[{signed(low, sign=sign)}, {signed(high, sign=sign)}]"


def rank(value: str, order: Sequence[str]) -> int:
    """Return the place of a value in an order, the last one for a value that is not in it."""
    return order.index(value) if value in order else len(order)


def _ordered(values: Iterable[str], first: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(dict.fromkeys(values), key=lambda value: rank(value, first)))


@dataclass(frozen=True)
class Curves:
    """All curve points of a run, with the look-ups that a report needs."""

    points: tuple[CurvePoint, ...]

    @classmethod
    def of(cls, results: Mapping[str, Any]) -> Curves:
        """Return the curves of a `results.json`; raises `DataError` for a broken record."""
        return cls(tuple(CurvePoint.from_dict(raw) for raw in results["curves"]))

    def find(self, **wanted: object) -> tuple[CurvePoint, ...]:
        """Return the points whose fields have the wanted values, by turn."""
        points = self._by_metric.get(wanted["metric"], ()) if "metric" in wanted else self.points
        matching = [p for p in points if all(getattr(p, k) == v for k, v in wanted.items())]
        return tuple(sorted(matching, key=lambda p: p.turn))

    @cached_property
    def _by_metric(self) -> Mapping[object, list[CurvePoint]]:
        # A run over 50 turns holds tens of thousands of points, and each table asks for many curves.
        by_metric: dict[object, list[CurvePoint]] = defaultdict(list)
        for point in self.points:
            by_metric[point.metric].append(point)
        return by_metric

    @cached_property
    def _of_arms(self) -> list[CurvePoint]:
        """The points without those of the dialogue's own replies."""
        return [p for p in self.points if p.metric not in VACUOUS.values()]

    @cached_property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs, none where there is one alone."""
        return tuple(dict.fromkeys(run for a in self.arms if (run := split_arm(a)[0])))

    @cached_property
    def arms(self) -> tuple[str, ...]:
        """Run by run: those of `ARM_ORDER`, then the others as they come; no own replies."""
        parts = {p.arm: split_arm(p.arm) for p in self._of_arms}
        runs = list(dict.fromkeys(run for run, _ in parts.values()))
        names = _ordered((name for _, name in parts.values()), ARM_ORDER)
        places = {arm: (runs.index(run), names.index(name)) for arm, (run, name) in parts.items()}
        return tuple(sorted(places, key=lambda arm: places[arm]))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of the arms that were measured."""
        return _ordered((p.metric for p in self._of_arms), tuple(METRICS))

    @property
    def histories(self) -> tuple[str, ...]:
        """The histories, reference first: its replies are the same for all arms."""
        return _ordered((p.history for p in self.points), ("reference", "own"))

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits without the total, seen first."""
        return _ordered({p.split for p in self.points} - {ALL, ABLE, UNABLE}, (*SPLITS, "none"))

    @property
    def families(self) -> tuple[str, ...]:
        """The families without the total."""
        return tuple(sorted({p.family for p in self.points} - {ALL}))

    @property
    def main_split(self) -> str:
        """The split of the headline: what the model keeps alone, else seen instructions, else all.

        The first one with enough replies is taken.
        """
        measured = [split for split in (ABLE, "train", ALL) if self._num_main(split)]
        enough = [split for split in measured if self._num_main(split) >= LEAST_REPLIES]
        if measured[:1] == [ABLE] and enough:
            return enough[0]
        return next(iter(measured), ALL)

    def _num_main(self, split: str) -> int:
        """Decided replies of the arm with the fewest, at the turn where it has most; 0 without any."""
        most: dict[str, int] = defaultdict(int)
        for point in self.find(metric=self.main_metric, split=split, history=self.main_history):
            if point.family == ALL and split_arm(point.arm)[1] not in WITHOUT_HISTORY:
                most[point.arm] = max(most[point.arm], point.num_decided)
        return min(most.values(), default=0)

    @property
    def main_metric(self) -> str:
        """`joint`, or `keeps` where no turn expects an answer."""
        return "joint" if self.find(metric="joint") else "keeps"

    @property
    def main_history(self) -> str:
        """The history of the headline."""
        return self.histories[0] if self.histories else "reference"

    @property
    def main(self) -> dict[str, object]:
        """The fields of the headline's curve, for `find`."""
        history, split = self.main_history, self.main_split
        return {"metric": self.main_metric, "history": history, "split": split, "family": ALL}

    @property
    def caption(self) -> str:
        """What the headline's curve shows: "seen instructions, people’s history"."""
        names = {
            ALL: "all instructions",
            ABLE: "instructions that the model keeps when asked alone",
        }
        split = names.get(self.main_split) or f"{SPLIT_NAMES[self.main_split]} instructions"
        return f"{split}, {history_name(self.main_history)}"

    def where(self, history: str, split: str, family: str = ALL) -> str:
        """Return what readers call a curve's instructions, with the history where there are several."""
        text = SPLIT_NAMES[split] + (f", {family}" if family != ALL else "")
        return f"{text}, {history_name(history)}" if len(self.histories) > 1 else text


def few_turns(turns: Sequence[int], most: int, keep: int | None = None) -> list[int]:
    """Return at most `most` (from 2 on) of the rising turns, evenly spread, with the first and the last.

    `keep`, the turn of the headline, is returned too where it is among them.
    """
    if len(turns) <= most:
        return list(turns)
    step = (len(turns) - 1) / (most - 1)
    shown = [turns[round(number * step)] for number in range(most)]
    if keep is None or keep not in turns or keep in shown:
        return shown
    # The nearest one gives way, but for the first and the last.
    nearest = min(shown[1:-1] or shown[:1], key=lambda turn: abs(turn - keep))
    return sorted({*shown, keep} - {nearest})


MOST_RUNS = 3
"""Runs that the sentence names; charts and tables show the others too."""
LEAST_REPLIES = 20
"""Of fewer the sentence gives the counts without intervals, and says that they are too few."""


@dataclass(frozen=True)
class Headline:
    """What the answer names: arms at one turn, the trained ones first."""

    points: tuple[CurvePoint, ...] = ()
    turn: int | None = None

    @property
    def parts(self) -> list[tuple[str, str]]:
        """The sentence in pieces: its text, and the arm whose counts the piece is, or nothing."""
        if not self.points:
            return [("No reply under an instruction was decided in this run.", "")]
        first, *others = self.points
        name = "the base model" if first.arm == BASE else arm_name(first.arm)
        pieces = [
            (f"At turn{NO_BREAK}{self.turn} {name} {METRICS[first.metric].deed} in ", ""),
            (f"{self._counts(first)}{NO_BREAK}replies", first.arm),
            (self._interval(first), ""),
        ]
        for point in others:
            pieces += [
                (f"; {self._role(point)} ", ""),
                (self._counts(point), point.arm),
                (self._interval(point), ""),
            ]
        return [*pieces, (": too few to say more." if self.is_small else ".", "")]

    @property
    def is_small(self) -> bool:
        """Whether an arm has too few replies for a rate."""
        return any(point.num_decided < LEAST_REPLIES for point in self.points)

    def _counts(self, point: CurvePoint) -> str:
        return f"{point.num_passed} of{NO_BREAK}{point.num_decided}"

    def _interval(self, point: CurvePoint) -> str:
        if self.is_small:
            return ""
        return " " + interval_text(point.low, point.high).replace("]", " %]").replace(" ", NO_BREAK)

    def _role(self, point: CurvePoint) -> str:
        ours = self.points[0].arm
        if point.arm == ALONE:
            return "asked alone the model does in"
        if point.arm == BASE:
            return "without GAtt" if ours == "gatt" else f"without {arm_name(ours)}"
        return f"{arm_name(point.arm)} in"

    @property
    def sentence(self) -> str:
        """The answer as text."""
        return "".join(text for text, _ in self.parts)

    @property
    def detail(self) -> str:
        """Counts and intervals of the arms in the sentence."""
        return "; ".join(
            f"{arm_name(p.arm)}: {p.num_passed} of {p.num_decided} replies, 95 % interval "
            f"{interval_text(p.low, p.high)}{f', {p.num_undecided} undecided' * bool(p.num_undecided)}"
            for p in self.points
        )


def headline(curves: Curves) -> Headline:
    """Return the answer: the trained arm, the model asked alone and the base model at one turn.

    The turn is the last one up to `HEADLINE_TURN_LIMIT` at which trained arm and base model were measured,
    or the first one after it; the model asked alone is left out where it was not measured there. Of several
    runs the first `MOST_RUNS` are named, at a turn that all of them have. Without such a turn the sentence
    is about the first run, or its first arm, alone.
    """
    measured: dict[str, dict[int, CurvePoint]] = {}
    for arm in curves.arms:
        points = curves.find(arm=arm, **curves.main)
        if by_turn := {p.turn: p for p in points if p.rate is not None}:
            measured[arm] = by_turn
    pairs: list[list[str]] = []
    for run in curves.runs or ("",):
        names = {split_arm(arm)[1]: arm for arm in measured if split_arm(arm)[0] == run}
        trained = [name for name in names if not is_untrained(name)]
        ours = "gatt" if "gatt" in names else next(iter((*trained, *names)), "")
        if names:
            pairs.append([names[name] for name in dict.fromkeys((ours, BASE)) if name in names])
    if not pairs:
        return Headline()
    arms = [
        arm for place in (0, 1) for pair in pairs[:MOST_RUNS] for arm in pair[place : place + 1]
    ]
    for named in (arms, pairs[0], pairs[0][:1]):
        if turns := set.intersection(*(set(measured[arm]) for arm in named)):
            turn = headline_turn(turns)
            has_alone = turn in measured.get(ALONE, {}) and named[0] != ALONE
            shown = [*named[:1], *([ALONE] if has_alone else []), *named[1:]]
            return Headline(tuple(measured[arm][turn] for arm in shown), turn)
    raise AssertionError("one arm alone has a measured turn")


def headline_turn(turns: set[int]) -> int:
    """Return the last turn up to `HEADLINE_TURN_LIMIT`, or the first one after it."""
    early = [turn for turn in turns if turn <= HEADLINE_TURN_LIMIT]
    return max(early) if early else min(turns)
