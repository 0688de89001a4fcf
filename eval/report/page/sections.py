"""The charts of the page: the first one, and those of other measures, splits and histories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from eval.metrics.curves import ALL, CurvePoint
from eval.metrics.per_reply.since_switch import SINCE_SWITCH
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

METRIC_NOTES: Mapping[str, str] = {
    "adherence": "Share of replies that follow the instruction.",
    "survival": "Share of dialogues in which every reply asked so far followed the instruction.",
    "probe_recall": "Share of questions asked outside the history that are answered as the instruction says.",
    "task_completion": "Share of replies that still answer what the user asked.",
    "repetition": "Share of replies that the model gave before in the same dialogue, word for word; lower is "
    "better. Where it is high, adherence in its own history says little.",
    "false_trigger": "Share of replies that follow an instruction nobody gave; lower is better.",
    "score": "Mean of the scores that functions of the score file give ordinary replies; 100 % is a score "
    "of 1.",
    "probe_score": "Mean of the scores that functions of the score file give answers to a probe; 100 % is a "
    "score of 1.",
    "adherence_since_switch": "Share of replies that follow the instruction in force, by turns since it "
    "changed.",
    "leakage": "Share of replies that still satisfy the rules of the instruction that was replaced or "
    "cancelled, by turns since; lower is better. Some do by chance.",
    "probe_leakage": "Share of answers to a probe that still give what a cancelled instruction said, by turns "
    "since; lower is better.",
    "adherence_loose": "The same replies read with leniency: a first or last line, or asterisks, "
    "do not count against them.",
}
ByArm = dict[str, Sequence[CurvePoint]]


@dataclass(frozen=True)
class Panel:
    """One chart with its heading and the sentence under it."""

    title: str
    note: str
    svg: Markup
    is_first: bool
    """Whether it shows adherence or answers to a probe, which readers look at first."""


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
        raise DataError(
            f"no curve of {metric!r} to draw: "
            + (
                "no reply was decided in the page's main history and split"
                if metric in curves.metrics
                else f"expected one of {', '.join(curves.metrics)}"
            )
        )
    said = caption(curves, has_intervals=has_bands(len(drawn)))
    save_chart(path, drawn, curves.arms, f"{metric_name(metric)}: {said}", _axis(metric))


def _axis(metric: str) -> Axes:
    return SINCE_CHANGE if metric in SINCE_SWITCH else TURNS


def panels(curves: Curves) -> list[Panel]:
    """Return every curve of all families that the first chart does not show."""
    found = []
    for metric in curves.metrics:
        for history in curves.histories:
            splits = {curves.main_split: None}
            if metric == "false_trigger":
                splits = {ALL: None}
            elif metric == "adherence":
                splits |= dict.fromkeys(split for split in curves.splits if split != "none")
            for split in splits:
                wanted = {"metric": metric, "history": history, "split": split, "family": ALL}
                points = _decided(curves, **wanted)
                if wanted == curves.main or not points:
                    continue
                title = f"{metric_name(metric)}, {where_text(curves, history, split)}"
                name = f"panel-{metric}-{history}-{split}"
                svg = chart(points, curves.arms, PANEL, name, title, _axis(metric))
                is_first = metric in ("adherence", "probe_recall")
                note = METRIC_NOTES.get(metric, "")
                found.append(Panel(title, note, Markup(svg), is_first))
    return found
