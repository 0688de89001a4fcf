"""The picture of attention: the instruction's share over turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from eval.report.charts.curves import HERO_NARROW, Axes, Point, chart, save_chart

Record = Mapping[str, Any]

TITLE: Final = "Attention on the instruction over turns"


def attention_svg(data: Record, arms: Sequence[str]) -> Markup:
    """Return the picture as an SVG element of a page.

    Args:
        data: of `attention.json`.
        arms: all arms of the page in order, so that an arm looks the same everywhere.
    """
    points, axis = _share(data)
    return chart(points, arms, HERO_NARROW, "attention-turns", TITLE, axis)


def save_attention_chart(path: Path, data: Record) -> None:
    """Write the picture as a file; see `eval.report.charts.drawing.save_picture`."""
    points, axis = _share(data)
    save_chart(path, points, data["arms"], TITLE, axis)


def _share(data: Record) -> tuple[dict[str, list[Point]], Axes]:
    """Return the share of attention on the instruction, and axes as high as the highest interval."""
    records = [r for r in sorted(data["curves"], key=lambda r: r["turn"]) if r["metric"] == "mass"]
    points = {
        arm: [Point(r["turn"], r["value"], r["low"], r["high"]) for r in records if r["arm"] == arm]
        for arm in data["arms"]
    }
    return points, Axes(top=min(1.0, max(r["high"] or r["value"] for r in records)) or 1.0)
