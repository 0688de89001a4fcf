"""The loss of each training over its steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from eval.report.charts.curves import DASHES, HERO_NARROW
from eval.report.charts.drawing import ARMS, FONT_POINTS, GRID, MUTED, NUM_STYLES, inline

TITLE = "Loss over the steps of the training"
WIDE, NARROW = (7.6, 3.2), HERO_NARROW


def loss_charts(trainings: Sequence[Mapping[str, Any]], arms: Sequence[str]) -> list[Markup]:
    """Return the chart in its wide and its narrow form; nothing where no training has two logged steps.

    `arms` are all of the page in order, so that an arm looks the same everywhere.
    """
    drawn = {t["arm"]: t["loss"] for t in trainings if len(t["loss"]) > 1 and t["arm"] in arms}
    shapes = {"loss-wide": WIDE, "loss-narrow": NARROW} if drawn else {}
    return [
        Markup(inline(name, TITLE, partial(_figure, drawn, arms, shape)))
        for name, shape in shapes.items()
    ]


def _figure(
    by_arm: Mapping[str, Sequence[tuple[int, float]]],
    arms: Sequence[str],
    shape: tuple[float, float],
) -> Figure:
    figure = Figure(figsize=shape)
    em_x, em_y = (FONT_POINTS / 72 / size for size in shape)
    axes = figure.add_axes((3.4 * em_x, 3.3 * em_y, 1 - 4.3 * em_x, 1 - 4.2 * em_y))
    for arm, points in by_arm.items():
        style = list(arms).index(arm) % NUM_STYLES
        steps, losses = zip(*points, strict=True)
        axes.plot(steps, losses, color=ARMS[style], linestyle=DASHES[style], linewidth=2)
    axes.set_ylim(bottom=min(0.0, *(loss for points in by_arm.values() for _, loss in points)))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.set_xlabel("step", color=MUTED, labelpad=2)
    axes.tick_params(length=0, colors=MUTED, pad=6)
    axes.grid(axis="y", color=GRID, linewidth=1)
    axes.spines[:].set_visible(False)
    axes.set_axisbelow(True)
    return figure
