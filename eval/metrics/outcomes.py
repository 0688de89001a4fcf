"""What every metric returns, and how it becomes a rate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from eval.metrics.intervals import (
    Codes,
    Floats,
    Ways,
    crossed_interval,
    graded_interval,
    num_groups,
)
from eval.records.samples import Sample
from gatt.verifiers.base import Status

ALL = "all"
"""The value of `split` and `family` for totals."""

_VALUES: dict[Status, float] = {"pass": 1.0, "fail": 0.0, "undecided": float("nan")}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One thing counted at one turn: a reply, or a case that is still perfect."""

    sample: Sample
    """Its dialogue, instruction, split, family and turn."""
    status: Status
    at: int | None = None
    """The turn, where a metric counts turns in another way."""
    value: float | None = None
    """A score from 0 to 1, for metrics that average scores; None: 1 for a pass, 0 for a fail."""

    @property
    def turn(self) -> int:
        """Where it stands on the axis of its metric."""
        return self.sample.turn if self.at is None else self.at


@dataclass(frozen=True, slots=True)
class Rows:
    """Outcomes as columns, in order of turns: 10,000 dialogues are slow one by one."""

    turn: Codes
    split: Codes
    family: Codes
    splits: tuple[str, ...]
    families: tuple[str, ...]
    """What the codes of `split` and `family` stand for."""
    value: Floats
    """1 for a pass, 0 for a fail, or a score between; NaN for undecided."""
    is_passed: npt.NDArray[np.bool_]
    """Whether the verdict is a pass, whatever the score."""
    ways: Ways
    num_named: int
    """Codes of instructions below this are instructions; the rest are plain dialogues."""

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Rows:
        """Return the columns of outcomes in any order."""
        found = sorted(outcomes, key=lambda o: o.turn)
        samples = [o.sample for o in found]
        split, splits = _codes([s.split for s in samples])
        family, families = _codes([s.family for s in samples])
        dialogue, _ = _codes([s.dialogue for s in samples])
        is_plain = np.array([s.instruction is None for s in samples], dtype=bool)
        instruction, named = _codes([s.instruction.id if s.instruction else "" for s in samples])
        # Each plain dialogue is an instruction group of its own.
        instruction = np.where(is_plain, len(named) + dialogue, instruction)
        pairs = dialogue * (2 * len(samples) + 1) + instruction
        case = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
        values = [_VALUES[o.status] if o.value is None else o.value for o in found]
        return cls(
            turn=np.array([o.turn for o in found], dtype=np.int64),
            split=split,
            family=family,
            splits=splits,
            families=families,
            value=np.array(values, dtype=np.float64),
            is_passed=np.array([o.status == "pass" for o in found], dtype=bool),
            ways=Ways(dialogue, instruction, case),
            num_named=len(named),
        )

    def where(self, chosen: npt.NDArray[Any] | slice) -> Rows:
        """Return the chosen rows (a mask, indices or a slice)."""
        columns = ("turn", "split", "family", "value", "is_passed")
        found: dict[str, Any] = {name: getattr(self, name)[chosen] for name in columns}
        return replace(self, ways=self.ways.where(chosen), **found)

    def slices(self) -> Iterator[tuple[str, str, Rows]]:
        """Yield split, family and rows: the total, each split, each family, each of both."""
        for split_code, split in ((-1, ALL), *enumerate(self.splits)):
            in_split = self if split_code < 0 else self.where(self.split == split_code)
            for family_code, family in ((-1, ALL), *enumerate(self.families)):
                is_total = family_code < 0
                rows = in_split if is_total else in_split.where(in_split.family == family_code)
                if len(rows.turn):
                    yield split, family, rows

    def by_turn(self) -> Iterator[tuple[int, Rows]]:
        """Yield each turn and its rows, in order."""
        turns, starts, sizes = np.unique(self.turn, return_index=True, return_counts=True)
        for turn, start, size in zip(turns, starts, sizes, strict=True):
            yield int(turn), self.where(slice(int(start), int(start + size)))


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Passes over passes and fails, or the mean score, with its 95 % interval.

    `rate`, `low` and `high` are None where nothing was decided: not measured is
    not zero.
    """

    rate: float | None
    low: float | None
    high: float | None
    num_dialogues: int
    """Dialogues with at least one decided outcome: what the rate rests on."""
    num_instructions: int
    """The same of instructions, 0 for plain dialogues; from `MIN_INSTRUCTIONS` on the interval is one
    over instructions like these, below it speaks of these alone."""
    num_passed: int
    num_decided: int
    """Outcomes that passed, and those that passed or failed: the rate's two numbers, unless it is a mean
    of scores."""
    num_undecided: int
    """Outcomes that no verifier could decide; they are not in the rate."""
    pessimistic: float
    optimistic: float
    """The rate over all outcomes if every undecided one had gone badly, or well."""


def rate_of(rows: Rows, *, is_pass_good: bool = True) -> Rate:
    """Return the rate of outcomes with its interval, see `eval.metrics.intervals`.

    Args:
        rows: at least one.
        is_pass_good: False where a pass is the error; then the pessimistic rate
            counts undecided outcomes as passed.
    """
    decided = rows.where(~np.isnan(rows.value))
    num, num_decided = len(rows.value), len(decided.value)
    total, undecided = float(decided.value.sum()), num - num_decided
    rate = low = high = None
    if num_decided:
        rate = total / num_decided
        is_graded = not np.isin(decided.value, (0.0, 1.0)).all()
        interval = graded_interval if is_graded else crossed_interval
        low, high = interval(decided.value, decided.ways)
    if_failed, if_passed = total / num, (total + undecided) / num
    instructions = decided.ways.instruction
    return Rate(
        rate=rate,
        low=low,
        high=high,
        num_dialogues=num_groups(decided.ways.dialogue),
        num_instructions=num_groups(instructions[instructions < rows.num_named]),
        num_passed=int(decided.is_passed.sum()),
        num_decided=num_decided,
        num_undecided=undecided,
        pessimistic=if_failed if is_pass_good else if_passed,
        optimistic=if_passed if is_pass_good else if_failed,
    )


def _codes(names: Sequence[str]) -> tuple[Codes, tuple[str, ...]]:
    """Return a number for each name, and the names by number."""
    known: dict[str, int] = {}
    codes = [known.setdefault(name, len(known)) for name in names]
    return np.array(codes, dtype=np.int64), tuple(known)
