"""Pictures of attention: the map of one dialogue, and the instruction's share over turns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from textwrap import fill, shorten
from typing import Any, Final

from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Outline

from eval.report.charts import drawing
from eval.report.charts.curves import HERO_NARROW, Axes, Point, chart, save_chart
from eval.report.charts.drawing import FONT_POINTS, INK, MUTED
from eval.report.data.runs import Record
from eval.report.data.selection import arm_name, few_turns

LEVELS: Final = 24
"""Strengths of colour of a map: cells of one strength are one outline, which keeps the page small."""
MOST_ROWS: Final = 24
"""Turns of a map; of more a selection is drawn."""
GAP: Final = 0.12
"""Part of a row that stays blank."""
MAP_WIDTH: Final = 6.3
"""Inches of one arm's map; its height follows from its rows."""
TOLD_SHARE: Final = 0.055
"""Part of a map's width that the instruction has at least; else a few words among a thousand would not show."""
MARKS: Final[Mapping[str, str]] = {"pass": "\u2713", "fail": "\u2717", "undecided": "?"}
"""Beside a turn: whether its reply keeps the instruction."""
TURNS_TITLE: Final = "Attention on the instruction over turns"


def map_svgs(data: Record, arms: Sequence[str]) -> list[Markup]:
    """Return the map of each arm as an SVG element of a page; for `data` and `arms` see `turns_svg`."""
    return [
        Markup(drawing.inline(f"attention-map-{n}", _title(data), partial(_maps, [record], arms)))
        for n, record in enumerate(_maps_of(data))
    ]


def turns_svg(data: Record, arms: Sequence[str]) -> Markup:
    """Return the share over turns of `attention.json` as an SVG element of a page.

    `arms` are all of the page in order, so that an arm looks the same everywhere.
    """
    points, axis = _share(data)
    return chart(points, arms, HERO_NARROW, "attention-turns", TURNS_TITLE, axis)


def save_attention_charts(path: Path, data: Record) -> list[Path]:
    """Write the maps of both arms as `path` and the share over turns beside it; return their places.

    Raises `ConfigError` for a path that ends in none of .png, .svg, .pdf.
    """

    def draw() -> Figure:
        figure = _maps(_maps_of(data), data["arms"])
        left, top = figure.axes[0].get_position().x0, 1 + 0.1 / figure.get_figheight()
        look: dict[str, Any] = {"va": "bottom", "weight": "bold", "size": FONT_POINTS + 1}
        figure.text(left, top, fill(_title(data), 92), **look)
        return figure

    drawing.save_picture(path, draw)
    beside = path.with_stem(f"{path.stem}-turns")
    points, axis = _share(data)
    save_chart(beside, points, data["arms"], TURNS_TITLE, axis)
    return [path, beside]


def _maps_of(data: Record) -> Sequence[Record]:
    # Published files of older versions hold a map by layer and head too.
    return list(data["maps"][: len(data["arms"])])


def _title(data: Record) -> str:
    told = shorten(data["maps"][0]["text"], 150, placeholder=" …")
    return f"Largest attention weight in any layer and head under the instruction “{told}”"


def _share(data: Record) -> tuple[dict[str, list[Point]], Axes]:
    """Return the share of attention on the instruction, and axes as high as the highest interval."""
    records = [r for r in sorted(data["curves"], key=lambda r: r["turn"]) if r["metric"] == "mass"]
    points = {
        arm: [Point(r["turn"], r["value"], r["low"], r["high"]) for r in records if r["arm"] == arm]
        for arm in data["arms"]
    }
    return points, Axes(top=min(1.0, max(r["high"] or r["value"] for r in records)) or 1.0)


def _maps(maps: Sequence[Record], arms: Sequence[str]) -> Figure:
    """Return the maps of some arms side by side."""
    num_rows = min(MOST_ROWS, max(len(record["rows"]) for record in maps))
    top, rows, below = 0.3, max(0.2, 0.36 - 0.008 * num_rows) * num_rows, 0.55
    width, height = MAP_WIDTH * len(maps), top + rows + below
    figure = Figure(figsize=(width, height))
    for number, record in enumerate(maps):
        left = (MAP_WIDTH * number + 0.68) / width
        axes = figure.add_axes((left, below / height, 5.5 / width, rows / height))
        place = list(arms).index(record["arm"]) % drawing.NUM_STYLES
        _draw_map(axes, record, drawing.ARMS[place])
    return figure


def _draw_map(axes: Any, record: Record, colour: str) -> None:
    """Draw one arm's map: a row a reply, a column a bin of what stood before it."""
    bins, all_rows = record["bins"], record["rows"]
    rows = [all_rows[number] for number in few_turns(range(len(all_rows)), MOST_ROWS)]
    told = [n for n, b in enumerate(bins) if b["part"] == "instruction"]
    wide = max(1.0, TOLD_SHARE * len(bins) / len(told))
    edges = [0.0, *accumulate(wide if n in told else 1.0 for n in range(len(bins)))]
    _draw_cells(axes, [row["peak"] for row in rows], edges, colour)
    axes.set_xlim(-0.3, edges[-1] + 0.3)
    axes.set_ylim(len(rows), -0.12)
    for edge in (edges[told[0]], edges[told[-1] + 1]):
        axes.plot([edge, edge], [-0.12, len(rows)], color=INK, linewidth=1.1)
    axes.set_title("instruction", loc="left", color=INK, pad=4, size=FONT_POINTS)
    axes.set_title(arm_name(record["arm"]), loc="right", color=colour, weight="bold", pad=4)
    starts = {b["turn"]: n for n, b in reversed(list(enumerate(bins))) if b["part"] == "user"}
    shown = sorted(starts)[:: -(-len(starts) // 10)]
    axes.set_xticks([edges[starts[t]] for t in shown], [str(t) for t in shown])
    labels = [f"{MARKS[row['status']]} {row['turn']}" for row in rows]
    axes.set_yticks([n + 0.5 for n in range(len(rows))], labels)
    axes.set_xlabel("read so far: user message of turn …", color=MUTED, loc="left")
    axes.set_ylabel("reply to turn (✓ kept)", color=MUTED)
    axes.tick_params(length=0, colors=MUTED, pad=4)
    axes.set_frame_on(False)


def _draw_cells(
    axes: Any, rows: Sequence[Sequence[float]], edges: Sequence[float], colour: str
) -> None:
    """Draw the weights and the end of each row, all cells of one strength as one outline."""
    by_level: dict[int, list[Outline]] = defaultdict(list)
    for number, weights in enumerate(rows):
        top, bottom = number + GAP / 2, number + 1 - GAP / 2
        for left, right, weight in zip(edges, edges[1:], weights, strict=False):
            corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
            by_level[round(min(1.0, weight) * LEVELS)].append(Outline(corners, closed=True))
        end = edges[len(weights)]
        axes.plot([end, end], [top, bottom], color=MUTED, linewidth=0.8)
    for level, outlines in sorted(by_level.items()):
        if level:
            shape = Outline.make_compound_path(*outlines)
            look = {"facecolor": colour, "edgecolor": "none", "alpha": level / LEVELS}
            axes.add_patch(PathPatch(shape, antialiased=False, **look))
