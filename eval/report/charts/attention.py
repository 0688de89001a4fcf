"""Pictures of attention: the map of one dialogue, and the instruction's share over turns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from textwrap import fill
from typing import Any, Final

from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Outline

from eval.metrics.curves import ALL, CurvePoint
from eval.report.charts.curves import HERO_NARROW, Axes, chart, save_chart
from eval.report.charts.drawing import ARMS, INK, MUTED, NUM_STYLES, Shape, inline, save_picture
from eval.report.data.selection import arm_name, few_turns

Record = Mapping[str, Any]
Cell = tuple[float, float, float, float]
"""Left and right edge, row, and strength from 0 to 1."""

LEVELS: Final = 24
"""Strengths of colour of a map: cells of one strength are one outline, which keeps the page small."""
MOST_ROWS: Final = 24
"""Turns of a map; of more a selection is drawn."""
GAP: Final = 0.12
"""Part of a row that stays blank."""
MAP: Final = Shape(6.3, 0, 12)
"""Of the map of one arm; its height follows from its rows."""
TOLD_SHARE: Final = 0.055
"""Part of a map's width that the instruction has at least; else a few words among a thousand would not show."""
MOST_TOLD: Final = 150
"""Characters of the instruction in a title."""
TITLE_COLUMNS: Final = 92
"""Characters of a line of a title over both maps."""
MARKS: Final[Mapping[str, str]] = {"pass": "\u2713", "fail": "\u2717", "undecided": "?"}
"""Beside a turn: whether its reply keeps the instruction."""
TURNS_TITLE: Final = "Attention on the instruction over turns"


def attention_svgs(data: Record, arms: Sequence[str]) -> dict[str, list[Markup]]:
    """Return the pictures as SVG elements of a page: a map for each arm, and the curves.

    Args:
        data: of `attention.json`.
        arms: all arms of the page in order, so that an arm looks the same everywhere.
    """
    maps = [
        Markup(
            inline(
                MAP,
                f"attention-map-{number}",
                _title(data),
                partial(_maps, [record], arms),
            )
        )
        for number, record in enumerate(_maps_of(data))
    ]
    drawn = chart(_share(data), arms, HERO_NARROW, "attention-turns", TURNS_TITLE, _axes(data))
    return {"maps": maps, "turns": [Markup(drawn)]}


def save_attention_charts(path: Path, data: Record) -> list[Path]:
    """Write the maps of both arms as `path` and the curves beside it; return their places.

    Raises:
        ConfigError: a path that ends in none of .png, .svg, .pdf.
        StoreError: a file cannot be written.
    """

    def draw() -> Figure:
        figure = _maps(_maps_of(data), data["arms"])
        figure.text(
            figure.axes[0].get_position().x0, 1 + 0.1 / figure.get_figheight(),
            fill(_title(data), TITLE_COLUMNS), va="bottom", weight="bold", size=MAP.font_points + 1,
        )  # fmt: skip
        return figure

    save_picture(path, MAP, draw)
    beside = path.with_stem(f"{path.stem}-turns")
    save_chart(beside, _share(data), data["arms"], TURNS_TITLE, _axes(data))
    return [path, beside]


def _maps_of(data: Record) -> Sequence[Record]:
    # Published files of older versions hold a map by layer and head too.
    found: Sequence[Record] = data["maps"][: len(data["arms"])]
    return found


def _title(data: Record) -> str:
    told = str(data["maps"][0]["text"])
    told = told if len(told) <= MOST_TOLD else f"{told[:MOST_TOLD].rstrip()} …"
    return f"Largest attention weight in any layer and head under the instruction “{told}”"


def _share(data: Record) -> dict[str, list[CurvePoint]]:
    """Return the share of attention on the instruction as the points of a chart."""
    records = [r for r in sorted(data["curves"], key=lambda r: r["turn"]) if r["metric"] == "mass"]
    return {
        arm: [_point(r, data["history"]) for r in records if r["arm"] == arm]
        for arm in data["arms"]
    }


def _point(record: Record, history: str) -> CurvePoint:
    low, high = record["low"], record["high"]
    return CurvePoint(
        arm=record["arm"], metric="mass", history=history, split=ALL, family=ALL, turn=record["turn"],
        rate=record["value"], low=record["value"] if low is None else max(0.0, low),
        high=record["value"] if high is None else high, num_dialogues=record["num_dialogues"],
        num_passed=0, num_decided=0, num_undecided=0, pessimistic=0.0, optimistic=0.0, num_instructions=0,
    )  # fmt: skip


def _axes(data: Record) -> Axes:
    """Return axes as high as the highest interval."""
    top = max(r["high"] or r["value"] for r in data["curves"] if r["metric"] == "mass")
    return Axes(top=min(1.0, top) or 1.0)


def _maps(maps: Sequence[Record], arms: Sequence[str]) -> Figure:
    """Return the maps of some arms side by side."""
    num_rows = min(MOST_ROWS, max(len(record["rows"]) for record in maps))
    top, rows, below = 0.3, max(0.2, 0.36 - 0.008 * num_rows) * num_rows, 0.55
    width, height = MAP.width * len(maps), top + rows + below
    figure = Figure(figsize=(width, height))
    for number, record in enumerate(maps):
        left = (MAP.width * number + 0.68) / width
        axes = figure.add_axes((left, below / height, 5.5 / width, rows / height))
        colour = ARMS[list(arms).index(record["arm"]) % NUM_STYLES]
        _map(axes, record, colour)
        axes.set_ylabel("reply to turn (✓ kept)", color=MUTED)
    return figure


def _map(axes: Any, record: Record, colour: str) -> None:
    """Draw one arm's map: a row a reply, a column a bin of what stood before it."""
    bins, all_rows = record["bins"], record["rows"]
    rows = [all_rows[number] for number in few_turns(range(len(all_rows)), MOST_ROWS)]
    told = [n for n, b in enumerate(bins) if b["part"] == "instruction"]
    wide = max(1.0, TOLD_SHARE * len(bins) / len(told))
    edges = [0.0, *accumulate(wide if n in told else 1.0 for n in range(len(bins)))]
    for number, row in enumerate(rows):
        weights = row["peak"]
        _draw_cells(
            axes, [(edges[n], edges[n + 1], number, w) for n, w in enumerate(weights)], colour
        )
        end = edges[len(weights)]
        axes.plot([end, end], [number + GAP / 2, number + 1 - GAP / 2], color=MUTED, linewidth=0.8)
    axes.set_xlim(-0.3, edges[-1] + 0.3)
    axes.set_ylim(len(rows), -0.12)
    first, last = edges[told[0]], edges[told[-1] + 1]
    for edge in (first, last):
        axes.plot([edge, edge], [-0.12, len(rows)], color=INK, linewidth=1.1)
    axes.set_title("instruction", loc="left", color=INK, pad=4, size=MAP.font_points)
    axes.set_title(arm_name(record["arm"]), loc="right", color=colour, weight="bold", pad=4)
    starts = {b["turn"]: n for n, b in reversed(list(enumerate(bins))) if b["part"] == "user"}
    step = -(-len(starts) // 10)
    shown = [turn for turn in sorted(starts) if (turn - 1) % step == 0]
    axes.set_xticks([edges[starts[t]] for t in shown], [str(t) for t in shown])
    labels = [f"{MARKS[row['status']]} {row['turn']}" for row in rows]
    axes.set_yticks([n + 0.5 for n in range(len(rows))], labels)
    axes.set_xlabel("read so far: user message of turn …", color=MUTED, loc="left")
    axes.tick_params(length=0, colors=MUTED, pad=4)
    axes.set_frame_on(False)


def _draw_cells(axes: Any, cells: Sequence[Cell], colour: str) -> None:
    """Draw cells, all of one strength as one outline."""
    by_level: dict[int, list[Outline]] = defaultdict(list)
    for left, right, row, strength in cells:
        top, bottom = row + GAP / 2, row + 1 - GAP / 2
        corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
        by_level[round(min(1.0, strength) * LEVELS)].append(Outline(corners, closed=True))
    for level, outlines in sorted(by_level.items()):
        if level:
            shape = Outline.make_compound_path(*outlines)
            axes.add_patch(
                PathPatch(
                    shape,
                    facecolor=colour,
                    edgecolor="none",
                    alpha=level / LEVELS,
                    antialiased=False,
                )
            )
