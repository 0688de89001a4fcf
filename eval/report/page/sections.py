"""The charts of the page: the first one, and those of other measures, splits and histories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from eval.metrics.curves import ALL, SINCE_SWITCH, CurvePoint
from eval.report.charts.curves import (
    HERO,
    HERO_NARROW,
    PANEL,
    SINCE_CHANGE,
    TURNS,
    Axes,
    chart,
    save_chart,
)
from eval.report.charts.drawing import Shape, has_bands
from eval.report.data.selection import Curves, metric_name
from eval.report.tables.rates import caption, where_text
from gatt.errors import DataError

DRAWN = ("adherence", "probe_recall", *SINCE_SWITCH)
"""Metrics with charts; all are in the tables."""
ByArm = dict[str, Sequence[CurvePoint]]


@dataclass(frozen=True)
class Panel:
    """One chart with its heading."""

    title: str
    svg: Markup


def _decided(curves: Curves, **wanted: object) -> ByArm:
    """Return the points of the arms for which something was decided."""
    found = {arm: curves.find(arm=arm, **wanted) for arm in curves.arms}
    return {arm: points for arm, points in found.items() if any(p.rate is not None for p in points)}


def hero(curves: Curves) -> list[Markup]:
    """Return the first chart in its wide and its narrow form, nothing if nothing was decided."""
    points = _decided(curves, **curves.main)
    title = "Adherence over turns for each arm; the table of rates has all of them with intervals"
    shapes: dict[str, Shape] = {"hero-wide": HERO, "hero-narrow": HERO_NARROW}
    return [
        Markup(chart(points, curves.arms, shape, name, title))
        for name, shape in shapes.items()
        if points
    ]


def hero_has_bands(curves: Curves) -> bool:
    """Whether the first chart shows intervals: see `has_bands`."""
    return has_bands(len(_decided(curves, **curves.main)))


def save_main_chart(path: Path, results: Mapping[str, Any], metric: str) -> None:
    """Write the curve of a metric, in the page's main history and split, as a picture that stands alone.

    Raises:
        ConfigError: an ending that is no picture's.
        DataError: no such curve.
        StoreError: the file cannot be written.
    """
    curves = Curves.of(results)
    drawn = _decided(curves, **curves.main | {"metric": metric})
    if not drawn:
        known = f"expected one of {', '.join(curves.metrics)}"
        if metric in curves.metrics:
            known = "no reply was decided in the page's main history and split"
        raise DataError(f"no curve of {metric!r} to draw: {known}")
    said = caption(curves, has_intervals=has_bands(len(drawn)))
    save_chart(path, drawn, curves.arms, f"{metric_name(metric)}: {said}", _axis(metric))


def _axis(metric: str) -> Axes:
    return SINCE_CHANGE if metric in SINCE_SWITCH else TURNS


def panels(curves: Curves) -> list[Panel]:
    """Return the curves of `DRAWN` metrics over all families, but for that of the first chart."""
    found = []
    for metric in [metric for metric in DRAWN if metric in curves.metrics]:
        for history in curves.histories:
            splits = [curves.main_split, *(curves.splits if metric == "adherence" else ())]
            for split in dict.fromkeys(splits):
                wanted = {"metric": metric, "history": history, "split": split, "family": ALL}
                points = _decided(curves, **wanted)
                if points and wanted != curves.main:
                    title = f"{metric_name(metric)}, {where_text(curves, history, split)}"
                    name = f"panel-{metric}-{history}-{split}"
                    svg = chart(points, curves.arms, PANEL, name, title, _axis(metric))
                    found.append(Panel(title, Markup(svg)))
    return found
