"""Whether attention on the instruction goes with keeping it: correlations, with a bootstrap over dialogues."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

NUM_RESAMPLES: Final = 2000
MIN_DIALOGUES: Final = 10
"""A bootstrap over fewer says nothing: no interval then."""
MOST_UNDEFINED: Final = 0.1
"""Share of resamples that may have no correlation; above it there is no interval."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pair:
    """One decided reply."""

    dialogue: str
    turn: int
    attention: float
    """Share on the instruction."""
    is_kept: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """How far attention and verdict go together, from -1 to 1."""

    arm: str
    kind: str
    """`point_biserial` or `spearman`."""
    is_within_turns: bool
    """Whether each turn's means are taken off first: both fall over turns, which alone would tie them."""
    value: float | None
    """None where one of the two does not vary."""
    low: float | None
    high: float | None
    """None with fewer than `MIN_DIALOGUES` dialogues, or where too many resamples do not vary."""
    num_replies: int
    num_kept: int
    num_dialogues: int

    def as_dict(self) -> dict[str, Any]:
        """Return the flat record of `attention.json`."""
        return asdict(self)


def correlations(
    pairs: Sequence[Pair], arm: str, seed: int = 0, num_resamples: int = NUM_RESAMPLES
) -> list[Correlation]:
    """Return all correlations of an arm.

    Args:
        pairs: its decided replies; there may be none.
        arm: its name.
        seed: of the bootstrap.
        num_resamples: draws of dialogues.
    """
    names = sorted({p.dialogue for p in pairs})
    rows = [[i for i, p in enumerate(pairs) if p.dialogue == name] for name in names]
    attention = np.array([p.attention for p in pairs])
    kept = np.array([float(p.is_kept) for p in pairs])
    turns = np.array([p.turn for p in pairs], dtype=np.int64)
    rng = np.random.default_rng(seed)
    drawn = [
        np.concatenate([rows[i] for i in rng.integers(len(rows), size=len(rows))])
        for _ in range(num_resamples if len(names) >= MIN_DIALOGUES else 0)
    ]
    found = []
    for kind, of in KINDS.items():
        for is_within in (False, True):

            def value(
                chosen: Any, of: Callable[..., Any] = of, is_within: bool = is_within
            ) -> float | None:
                one, other = of(attention[chosen]), of(kept[chosen])
                if is_within:
                    one, other = (_centred(v, turns[chosen]) for v in (one, other))
                return pearson(one, other)

            low, high = _interval([value(chosen) for chosen in drawn])
            found.append(
                Correlation(
                    arm=arm,
                    kind=kind,
                    is_within_turns=is_within,
                    value=value(slice(None)),
                    low=low,
                    high=high,
                    num_replies=len(pairs),
                    num_kept=int(kept.sum()),
                    num_dialogues=len(names),
                )
            )
    return found


def pearson(one: Floats, other: Floats) -> float | None:
    """Return Pearson's correlation; against 0 and 1 it is the point-biserial one. None without variance."""
    if len(one) < 2:
        return None
    a, b = one - one.mean(), other - other.mean()
    spread = float(np.sqrt((a @ a) * (b @ b)))
    # What rounding leaves of equal numbers is no variance.
    if spread <= 1e-12 * max(1.0, float(np.abs(one).max() * np.abs(other).max())):
        return None
    return float(np.clip(a @ b / spread, -1, 1))


def ranks(values: Floats) -> Floats:
    """Return ranks from 1; equal values share the mean of theirs, so that Pearson of them is Spearman."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    shared: Floats = (last - (count - 1) / 2)[place]
    return shared


def _plain(values: Floats) -> Floats:
    return values


KINDS: Mapping[str, Callable[[Floats], Floats]] = {"point_biserial": _plain, "spearman": ranks}
"""Name -> what is done to both before Pearson's correlation is taken."""


def _centred(values: Floats, turns: npt.NDArray[np.int64]) -> Floats:
    _, place = np.unique(turns, return_inverse=True)
    centred: Floats = values - (np.bincount(place, values) / np.bincount(place))[place]
    return centred


def _interval(values: Sequence[float | None]) -> tuple[float | None, float | None]:
    defined = [v for v in values if v is not None]
    if not defined or len(values) - len(defined) > MOST_UNDEFINED * len(values):
        return None, None
    low, high = np.quantile(defined, [0.025, 0.975])
    return float(low), float(high)
