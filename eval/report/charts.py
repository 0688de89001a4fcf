"""Curves as inline SVG that follows the page's colours, light, dark and printed."""

from __future__ import annotations

import html
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib import rc_context
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from eval.metrics.curves import CurvePoint
from eval.report.headline import rate_with_interval
from eval.report.selection import arm_name

INK, MUTED, GRID = "#010101", "#020202", "#030303"
"""Stand-ins that matplotlib can draw with; the page's CSS variables replace them."""
CSS_COLOURS = {INK: "var(--ink)", MUTED: "var(--muted)", GRID: "var(--grid)"}
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "h")
DASHES = ("-", "-", (0, (5, 2)), "-", (0, (1, 1.5)), (0, (5, 2, 1, 2)), "-", (0, (3, 1)))
NUM_STYLES = len(MARKERS)


@dataclass(frozen=True)
class Shape:
    """Size and furniture of a chart."""

    width: float
    height: float
    """Both in inches of 72 points."""
    font_points: float
    has_labels: bool
    """Names the curves at their right end; else the page's legend does."""


HERO = Shape(9.6, 4.1, 11, has_labels=True)
HERO_NARROW = Shape(4.2, 3.6, 11, has_labels=True)
WIDE_PANEL = Shape(4.2, 2.9, 11, has_labels=True)
PANEL = Shape(3.6, 2.2, 10.5, has_labels=False)


def chart(
    by_arm: Mapping[str, Sequence[CurvePoint]],
    arms: Sequence[str],
    shape: Shape,
    name: str,
    title: str,
) -> str:
    """Return the curves of some arms as one SVG element.

    Args:
        by_arm: arm -> its points at rising turns; undecided ones leave a gap.
        arms: all arms of the run in order, so that an arm looks the same everywhere.
        shape: size and furniture.
        name: unique on the page; prefixes every id in the SVG.
        title: what a screen reader says.
    """
    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "font.size": shape.font_points,
        "font.family": "sans-serif",
        "text.color": INK,
        "text.parse_math": False,
        "path.simplify": False,
    }
    with rc_context(settings):
        figure = Figure(figsize=(shape.width, shape.height))
        FigureCanvasSVG(figure)
        axes = figure.add_axes((0, 0, 1, 1))
        turns = sorted({p.turn for points in by_arm.values() for p in points})
        _furnish(axes, turns, shape)
        tips: dict[str, str] = {}
        ends: list[tuple[float, str]] = []
        for arm, points in by_arm.items():
            measured = [p for p in points if p.rate is not None]
            if not measured:
                continue
            _draw(axes, measured, list(arms).index(arm) % NUM_STYLES, shape, f"{name}-{arm}", tips)
            ends.append((measured[-1].rate or 0.0, arm))
        if shape.has_labels:
            _label(axes, ends, arms, max(turns), shape)
        stream = io.StringIO()
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    return _inline(stream.getvalue(), name, title, tips)


def _position(turn: int) -> float:
    # Most is lost in the first turns; equal steps for doublings show it.
    return math.log2(turn)


def _furnish(axes: Any, turns: Sequence[int], shape: Shape) -> None:
    """Place the axes in the figure and draw grid, ticks and axis titles."""
    points = shape.font_points / 72
    left, bottom = 3.4 * points / shape.width, 3.3 * points / shape.height
    top = 1 - 0.9 * points / shape.height
    room = 9.2 * points if shape.has_labels else 1.2 * points
    axes.set_position((left, bottom, 1 - left - room / shape.width, top - bottom))
    axes.set_ylim(-0.03, 1.03)
    first, last = _position(turns[0]), _position(turns[-1])
    margin = 0.06 * (last - first) if last > first else 0.5
    axes.set_xlim(first - margin, last + margin)
    axes.set_yticks((0, 0.25, 0.5, 0.75, 1), ("0", "25", "50", "75", "100 %"))
    labelled = _readable(turns, (last - first) * 0.075 * (1 if shape.width > 5 else 1.6))
    axes.set_xticks([_position(t) for t in labelled], [str(t) for t in labelled])
    axes.set_xlabel("turn", color=MUTED, labelpad=2)
    axes.tick_params(length=0, colors=MUTED, pad=5)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.axhline(0.5, color=GRID, linewidth=1.6, zorder=1)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_axisbelow(True)


def _readable(turns: Sequence[int], gap: float) -> list[int]:
    """Return the turns whose tick labels do not collide; the last one always stays."""
    kept = [turns[-1]]
    for turn in reversed(turns[:-1]):
        if _position(kept[-1]) - _position(turn) >= gap:
            kept.append(turn)
    return kept[::-1]


def _draw(
    axes: Any,
    points: Sequence[CurvePoint],
    style: int,
    shape: Shape,
    name: str,
    tips: dict[str, str],
) -> None:
    """Draw one curve: band, line, and a marker with a tip for every point."""
    colour = _stand_in(style)
    xs = [_position(p.turn) for p in points]
    lows, highs = [p.low or 0.0 for p in points], [p.high or 0.0 for p in points]
    if len(points) > 1:
        axes.fill_between(xs, lows, highs, color=colour, alpha=0.14, linewidth=0, zorder=2)
    axes.vlines(xs, lows, highs, color=colour, alpha=0.45, linewidth=1.2, zorder=2)
    width = 2.4 if shape.width > 4 else 1.9
    rates = [p.rate for p in points]
    axes.plot(xs, rates, color=colour, linewidth=width, linestyle=DASHES[style], zorder=3)
    for x, point in zip(xs, points, strict=True):
        (marker,) = axes.plot(
            x,
            point.rate,
            color=colour,
            marker=MARKERS[style],
            markersize=3 * width,
            zorder=4,
            clip_on=False,
        )
        tip = f"tip-{re.sub(r'[^a-zA-Z0-9-]', '-', name)}-{point.turn}"
        marker.set_gid(tip)
        plural = "" if point.num_dialogues == 1 else "s"
        undecided = f", {point.num_undecided} undecided" if point.num_undecided else ""
        tips[tip] = (
            f"{arm_name(point.arm)}, turn {point.turn}: {rate_with_interval(point)}, "
            f"{point.num_dialogues} dialogue{plural}{undecided}"
        )


def _stand_in(style: int) -> str:
    return f"#0000{style + 16:02x}"


def _label(
    axes: Any, ends: list[tuple[float, str]], arms: Sequence[str], turn: int, shape: Shape
) -> None:
    """Write the arms at the right end of their curves, moved apart where they collide."""
    height = shape.height * axes.get_position().height
    gap = 1.35 * shape.font_points / 72 / height * 1.06
    ordered = sorted(ends, key=lambda end: (end[0], -list(arms).index(end[1])))
    heights = spread([rate for rate, _ in ordered], gap)
    for y, (_, arm) in zip(heights, ordered, strict=True):
        axes.annotate(
            arm_name(arm),
            (_position(turn), y),
            xytext=(14, 0),
            textcoords="offset points",
            va="center",
            color=_stand_in(list(arms).index(arm) % NUM_STYLES),
            weight="bold",
            annotation_clip=False,
        )


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Return rising heights moved apart to at least `gap`, kept within 0 to 1 if they fit."""
    placed: list[float] = []
    for height in heights:
        placed.append(max(height, placed[-1] + gap) if placed else height)
    ceiling = 1.0
    for index in range(len(placed) - 1, -1, -1):
        placed[index] = min(placed[index], ceiling)
        ceiling = placed[index] - gap
    return placed


def _inline(svg: str, name: str, title: str, tips: Mapping[str, str]) -> str:
    """Return matplotlib's file as an element of the page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' (?:width|height)="[\d.]+pt"', "", svg, count=2)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(url\(|xlink:href=")#', rf"\1#{name}-", svg)
    svg = re.sub(r"font: ([^'\";]*?)'[^;\"]*sans-serif", r"font: \1var(--sans)", svg)
    for stand_in, css in CSS_COLOURS.items():
        svg = svg.replace(stand_in, css)
    svg = re.sub(r"#0000([0-9a-f]{2})\b", lambda m: f"var(--arm-{int(m[1], 16) - 16})", svg)
    for tip, text in tips.items():
        place = f'<g id="{name}-{tip}">'
        svg = svg.replace(place, f"{place}<title>{html.escape(text)}</title>", 1)
    label = html.escape(title, quote=True)
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
