"""Curves over turns: on the page, in its colours, and as pictures that stand alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from markupsafe import Markup
from matplotlib.figure import Figure

from eval.metrics.curves import ALL, CurvePoint
from eval.metrics.table import is_since_switch, metric_of
from eval.report.charts.drawing import (
    ARMS,
    FONT_POINTS,
    GRID,
    INK,
    MUTED,
    NUM_STYLES,
    PAGE,
    inline,
    save_picture,
)
from eval.report.data.selection import Curves, arm_name, is_main_arm, metric_name
from gatt.errors import DataError

MARKERS = ("o", "s", "D", "^", "v", "P", "X", "h")
DASHES = ("-", "-", (0, (5, 2)), "-", (0, (1, 1.5)), (0, (5, 2, 1, 2)), "-", (0, (3, 1)))

HERO, HERO_NARROW, PANEL, PICTURE = (15.4, 5.1), (4.7, 3.6), (4.9, 3.2), (9.6, 4.2)
"""Width and height of charts, in inches of 72 points."""
MANY_POINTS: Final = 12
"""From here on a curve has small markers, or they would hide it."""


class Point(NamedTuple):
    """What a chart reads of a point."""

    turn: int
    rate: float | None
    low: float | None
    high: float | None


ByArm = Mapping[str, Sequence[CurvePoint | Point]]
"""Arm -> its points at rising turns; undecided ones leave a gap."""


@dataclass(frozen=True)
class Axes:
    """What the axes count."""

    title: str = "turn, log scale"
    shift: int = 0
    """Added before the logarithm; 1 where the turns begin at 0."""
    top: float = 1.0
    """The highest rate that is drawn."""

    @classmethod
    def of(cls, metric: str) -> Axes:
        """Return the axes of a metric."""
        return cls("turns since the change, log scale", 1) if is_since_switch(metric) else cls()

    def position(self, turn: int) -> float:
        """Return the place of a turn: equal steps for doublings, as most is lost early on."""
        return math.log2(turn + self.shift)


def hero(curves: Curves) -> list[Markup]:
    """Return the first chart in its wide and its narrow form, nothing if nothing was decided."""
    decided = _decided(curves, **curves.main)
    points = {arm: decided[arm] for arm in drawn_arms(curves)}
    title = f"{metric_name(curves.main_metric)} over turns for each arm; the tables have intervals"
    shapes = {"hero-wide": HERO, "hero-narrow": HERO_NARROW}
    return [chart(points, curves.arms, s, name, title) for name, s in shapes.items() if points]


def drawn_arms(curves: Curves) -> list[str]:
    """Return the arms of the first chart; the tables have the windows of the history and the canned string."""
    decided = _decided(curves, **curves.main)
    return [arm for arm in decided if is_main_arm(arm)] or list(decided)


def panels(curves: Curves) -> list[tuple[str, Markup]]:
    """Return title and chart of the metrics that are drawn over all families, but for those of the hero."""
    charts = []
    for metric in [name for name in curves.metrics if (of := metric_of(name)) and of.is_drawn]:
        for history in curves.histories:
            of_all = curves.splits if metric == curves.main_metric else ()
            splits = [curves.main_split, *of_all]
            for split in dict.fromkeys(splits):
                wanted = {"metric": metric, "history": history, "split": split, "family": ALL}
                points = _decided(curves, **wanted)
                if points and wanted != curves.main:
                    title = f"{metric_name(metric)}, {curves.where(history, split)}"
                    name = f"panel-{metric}-{history}-{split}"
                    svg = chart(points, curves.arms, PANEL, name, title, Axes.of(metric))
                    charts.append((title, svg))
    return charts


def save_main_chart(path: Path, curves: Curves, metric: str) -> None:
    """Write the curve of a metric, in the page's main history and split, as a picture.

    Raises:
        ConfigError: an ending that is no picture's.
        DataError: no such curve.
    """
    drawn = _decided(curves, **curves.main | {"metric": metric})
    if not drawn:
        raise DataError(
            f"no curve of {metric!r} to draw: expected one of {', '.join(curves.metrics)} with decided "
            "replies in the page's main history and split"
        )
    title = f"{metric_name(metric)}: {curves.caption}; per cent"
    save_chart(path, drawn, curves.arms, title, Axes.of(metric))


def _decided(curves: Curves, **wanted: object) -> dict[str, Sequence[CurvePoint]]:
    """Return the points of the arms for which something was decided."""
    points_of = {arm: curves.find(arm=arm, **wanted) for arm in curves.arms}
    return {
        arm: points for arm, points in points_of.items() if any(p.rate is not None for p in points)
    }


def chart(
    by_arm: ByArm,
    arms: Sequence[str],
    shape: tuple[float, float],
    name: str,
    title: str,
    axis: Axes | None = None,
) -> Markup:
    """Return the curves of some arms as one SVG element.

    `arms` are all of the run in order, so that an arm looks the same everywhere. `name` is unique on the
    page and prefixes every id in the SVG; a screen reader says `title`. Without `axis` the axis counts
    turns.
    """
    return Markup(inline(name, title, lambda: _figure(by_arm, arms, shape, axis or Axes())))


def save_chart(path: Path, by_arm: ByArm, arms: Sequence[str], title: str, axis: Axes) -> None:
    """Write curves, at least one point, as a picture that stands alone; see `save_picture`."""

    def draw() -> Figure:
        figure = _figure(by_arm, arms, PICTURE, axis)
        (axes,) = figure.axes
        axes.patch.set_visible(False)
        axes.set_title(title, loc="left", color=INK, weight="bold", pad=12)
        axes.legend(frameon=False, labelcolor="linecolor", loc="upper left", bbox_to_anchor=(1, 1))
        return figure

    save_picture(path, draw)


def _figure(by_arm: ByArm, arms: Sequence[str], shape: tuple[float, float], axis: Axes) -> Figure:
    figure = Figure(figsize=shape)
    axes = figure.add_axes((0, 0, 1, 1))
    _furnish(axes, sorted({p.turn for points in by_arm.values() for p in points}), shape, axis)
    for arm, points in by_arm.items():
        measured = [p for p in points if p.rate is not None]
        if measured:
            # The bands of more arms than there are colours would hide each other.
            has_band = len(by_arm) <= NUM_STYLES
            _draw(axes, arm, measured, list(arms).index(arm), axis, has_band)
    return figure


def _furnish(axes: Any, turns: Sequence[int], shape: tuple[float, float], axis: Axes) -> None:
    """Place the axes in the figure and draw grid, ticks and axis titles."""
    em_x, em_y = (FONT_POINTS / 72 / size for size in shape)
    axes.set_position((3.4 * em_x, 3.3 * em_y, 1 - 4.3 * em_x, 1 - 4.2 * em_y))
    axes.set_ylim(-0.03 * axis.top, 1.03 * axis.top)
    first, last = axis.position(turns[0]), axis.position(turns[-1])
    margin = 0.03 * (last - first) if last > first else 0.5
    axes.set_xlim(first - margin, last + margin)
    if axis.top == 1:
        axes.set_yticks((0, 0.25, 0.5, 0.75, 1), ("0", "25", "50", "75", "100 %"))
    else:
        axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
    gap = (last - first) * (0.05 if shape[0] > 5 else 0.11)
    # Those whose labels do not collide; the last one always stays.
    labelled = [turns[-1]]
    for turn in reversed(turns[:-1]):
        if axis.position(labelled[-1]) - axis.position(turn) >= gap:
            labelled.append(turn)
    labelled.reverse()
    axes.set_xticks([axis.position(t) for t in labelled], [str(t) for t in labelled])
    axes.set_xlabel(axis.title, color=MUTED, labelpad=2)
    axes.tick_params(length=0, colors=MUTED, pad=6)
    axes.grid(axis="y", color=GRID, linewidth=1)
    axes.spines[:].set_visible(False)
    axes.set_axisbelow(True)


def _draw(
    axes: Any,
    arm: str,
    points: Sequence[CurvePoint | Point],
    place: int,
    axis: Axes,
    has_band: bool,
) -> None:
    """Draw one curve: band, line and markers."""
    is_hollow, style = place // NUM_STYLES % 2 == 1, place % NUM_STYLES
    colour = ARMS[style]
    xs = [axis.position(p.turn) for p in points]
    lows = [p.rate if p.low is None else p.low for p in points]
    highs = [p.rate if p.high is None else p.high for p in points]
    if len(points) > 1 and has_band:
        axes.fill_between(xs, lows, highs, color=colour, alpha=0.13, linewidth=0, zorder=2)
    elif has_band:
        axes.vlines(xs, lows, highs, color=colour, alpha=0.45, linewidth=2, zorder=2)
    few = len(points) <= MANY_POINTS
    axes.plot(
        xs, [p.rate for p in points], color=colour, linewidth=2.2, linestyle=DASHES[style],
        label=arm_name(arm), marker=MARKERS[style], markersize=8.5 if few else 5,
        markerfacecolor=PAGE if is_hollow else colour,
        markeredgecolor=PAGE if few and not is_hollow else colour,
        markeredgewidth=1.5 if few or is_hollow else 0, zorder=4, clip_on=False,
    )  # fmt: skip
