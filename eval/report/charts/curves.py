"""Curves as inline SVG that follows the page's colours, light, dark and printed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from eval.metrics.curves import CurvePoint
from eval.report.charts.drawing import (
    ARMS,
    GRID,
    INK,
    MUTED,
    NUM_STYLES,
    PAGE,
    Shape,
    has_bands,
    inline,
    save_picture,
)
from eval.report.data.selection import arm_name

MARKERS = ("o", "s", "D", "^", "v", "P", "X", "h")
DASHES = ("-", "-", (0, (5, 2)), "-", (0, (1, 1.5)), (0, (5, 2, 1, 2)), "-", (0, (3, 1)))


# One point is one pixel on the page where the chart stands at its own width.
HERO = Shape(15.4, 5.1, 13)
HERO_NARROW = Shape(4.7, 3.6, 12)
PANEL = Shape(4.9, 3.2, 12)
PICTURE = Shape(9.6, 4.2, 12)
MANY_POINTS = 12
"""From here on a curve has small markers, or they would hide it."""


@dataclass(frozen=True)
class Axes:
    """What the axes count."""

    title: str = "turn, log scale"
    shift: int = 0
    """Added before the logarithm; 1 where the turns begin at 0."""
    top: float = 1.0
    """The highest rate that is drawn."""

    def position(self, turn: int) -> float:
        """Return the place of a turn: equal steps for doublings, as most is lost early on."""
        return math.log2(turn + self.shift)


TURNS = Axes()
SINCE_CHANGE = Axes("turns since the change, log scale", 1)

ByArm = Mapping[str, Sequence[CurvePoint]]
"""Arm -> its points at rising turns; undecided ones leave a gap."""


def chart(
    by_arm: ByArm, arms: Sequence[str], shape: Shape, name: str, title: str, axis: Axes = TURNS
) -> str:
    """Return the curves of some arms as one SVG element.

    Args:
        by_arm: what is drawn.
        arms: all arms of the run in order, so that an arm looks the same everywhere.
        shape: size and furniture.
        name: unique on the page; prefixes every id in the SVG.
        title: what a screen reader says.
        axis: what the axes count.
    """
    return inline(shape, name, title, lambda: _figure(by_arm, arms, shape, axis))


def save_chart(
    path: Path, by_arm: ByArm, arms: Sequence[str], title: str, axis: Axes = TURNS
) -> None:
    """Write curves as a picture that stands alone, for a README or a model card.

    Args:
        path: ends in .png, .svg or .pdf.
        by_arm: what is drawn, at least one point.
        arms: all arms of the run in order.
        title: above the curves.
        axis: what the axes count.

    Raises:
        ConfigError: another ending.
        StoreError: the file cannot be written.
    """

    def draw() -> Figure:
        figure = _figure(by_arm, arms, PICTURE, axis)
        (axes,) = figure.axes
        axes.patch.set_visible(False)
        axes.set_title(title, loc="left", color=INK, weight="bold", pad=12)
        axes.legend(frameon=False, labelcolor="linecolor", loc="upper left", bbox_to_anchor=(1, 1))
        return figure

    save_picture(path, PICTURE, draw)


def _figure(by_arm: ByArm, arms: Sequence[str], shape: Shape, axis: Axes) -> Figure:
    figure = Figure(figsize=(shape.width, shape.height))
    axes = figure.add_axes((0, 0, 1, 1))
    _furnish(axes, sorted({p.turn for points in by_arm.values() for p in points}), shape, axis)
    for arm, points in by_arm.items():
        measured = [p for p in points if p.rate is not None]
        if measured:
            _draw(axes, measured, list(arms).index(arm), axis, has_bands(len(by_arm)))
    return figure


def _furnish(axes: Any, turns: Sequence[int], shape: Shape, axis: Axes) -> None:
    """Place the axes in the figure and draw grid, ticks and axis titles."""
    points = shape.font_points / 72
    left, bottom = 3.4 * points / shape.width, 3.3 * points / shape.height
    top = 1 - 0.9 * points / shape.height
    axes.set_position((left, bottom, 1 - left - 0.9 * points / shape.width, top - bottom))
    axes.set_ylim(-0.03 * axis.top, 1.03 * axis.top)
    first, last = axis.position(turns[0]), axis.position(turns[-1])
    margin = 0.03 * (last - first) if last > first else 0.5
    axes.set_xlim(first - margin, last + margin)
    if axis.top == 1:
        axes.set_yticks((0, 0.25, 0.5, 0.75, 1), ("0", "25", "50", "75", "100 %"))
    else:
        axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
    labelled = readable(turns, (last - first) * (0.05 if shape.width > 5 else 0.11), axis)
    axes.set_xticks([axis.position(t) for t in labelled], [str(t) for t in labelled])
    axes.set_xlabel(axis.title, color=MUTED, labelpad=2)
    axes.tick_params(length=0, colors=MUTED, pad=6)
    axes.grid(axis="y", color=GRID, linewidth=1)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_axisbelow(True)


def readable(turns: Sequence[int], gap: float, axis: Axes) -> list[int]:
    """Return the turns whose tick labels do not collide; the last one always stays."""
    kept = [turns[-1]]
    for turn in reversed(turns[:-1]):
        if axis.position(kept[-1]) - axis.position(turn) >= gap:
            kept.append(turn)
    return kept[::-1]


def _draw(axes: Any, points: Sequence[CurvePoint], style: int, axis: Axes, has_band: bool) -> None:
    """Draw one curve: band, line and markers."""
    is_hollow, style = style // NUM_STYLES % 2 == 1, style % NUM_STYLES
    colour = ARMS[style]
    xs = [axis.position(p.turn) for p in points]
    rates = [p.rate for p in points]
    lows, highs = [p.low or 0.0 for p in points], [p.high or 0.0 for p in points]
    if len(points) > 1 and has_band:
        axes.fill_between(xs, lows, highs, color=colour, alpha=0.13, linewidth=0, zorder=2)
    elif has_band:
        axes.vlines(xs, lows, highs, color=colour, alpha=0.45, linewidth=2, zorder=2)
    few = len(points) <= MANY_POINTS
    axes.plot(
        xs, rates, color=colour, linewidth=2.2, linestyle=DASHES[style], label=arm_name(points[0].arm),
        marker=MARKERS[style], markersize=8.5 if few else 5,
        markerfacecolor=PAGE if is_hollow else colour,
        markeredgecolor=PAGE if few and not is_hollow else colour,
        markeredgewidth=1.5 if few or is_hollow else 0, zorder=4, clip_on=False,
    )  # fmt: skip
