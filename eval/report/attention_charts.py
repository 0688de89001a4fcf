"""Pictures of attention: the map of one dialogue, the instruction's share over turns, layers and heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Outline

from eval.report.charts import DASHES, MARKERS, TURNS, readable
from eval.report.drawing import (
    LIGHT,
    NUM_STYLES,
    STAND_INS,
    Palette,
    Shape,
    inline,
    page_settings,
    picture,
    write_picture,
)
from eval.report.selection import arm_name

Record = Mapping[str, Any]

LEVELS: Final = 24
"""Strengths of colour of a map: cells of one strength are one outline, which keeps the page small."""
MOST_ROWS: Final = 24
"""Turns of a map; of more a selection is drawn."""
GAP: Final = 0.12
"""Part of a row that stays blank."""
PAGE_POINTS: Final = 12
MAP_WIDTH: Final = 12.6
"""Inches, as `eval.report.drawing.Shape`."""


def attention_svgs(data: Mapping[str, Any], arms: Sequence[str]) -> dict[str, Markup]:
    """Return the three pictures as SVG elements of a page.

    Args:
        data: of `attention.json`.
        arms: all arms of the page in order, so that an arm looks the same everywhere.
    """
    return {
        name: Markup(_on_page(name, data, arms, title)) for name, (_, title) in PICTURES.items()
    }


def _on_page(name: str, data: Mapping[str, Any], arms: Sequence[str], title: str) -> str:
    with page_settings(Shape(0, 0, PAGE_POINTS, has_labels=False), f"attention-{name}"):
        return inline(draw(name, data, arms, STAND_INS), f"attention-{name}", title)


def save_attention_charts(path: Path, data: Mapping[str, Any]) -> list[Path]:
    """Write the three pictures: the map as `path`, the others beside it; return their places.

    Raises:
        ConfigError: a path that ends in none of .png, .svg, .pdf.
        StoreError: a file cannot be written.
    """
    written = []
    for name, (ending, title) in PICTURES.items():
        place = path.with_stem(path.stem + ending)
        with picture(place, Shape(0, 0, PAGE_POINTS, has_labels=False)):
            figure = draw(name, data, data["arms"], LIGHT)
            figure.suptitle(
                title, x=figure.axes[0].get_position().x0, y=1.0 + 0.16 / figure.get_figheight(),
                ha="left", va="bottom", color=LIGHT.ink, weight="bold",
            )  # fmt: skip
            write_picture(place, figure)
        written.append(place)
    return written


PICTURES: Final[Mapping[str, tuple[str, str]]] = {
    "map": ("", "Where the replies of each turn look: largest weight in any layer and head"),
    "turns": ("-turns", "Attention on the instruction over turns"),
    "heads": ("-heads", "Attention on the instruction, GAtt less base model, by layer and head"),
}
"""Name -> what its file's name ends in, and what it shows."""


def draw(name: str, data: Mapping[str, Any], arms: Sequence[str], paint: Palette) -> Figure:
    """Return one of `PICTURES` as a figure."""
    colours = {arm: paint.arms[list(arms).index(arm) % NUM_STYLES] for arm in data["arms"]}
    if name == "map":
        return _maps(data["maps"][: len(data["arms"])], colours, paint)
    if name == "turns":
        return _turns(data["curves"], {a: list(arms).index(a) % NUM_STYLES for a in colours}, paint)
    return _heads(data["heads"], colours, paint)


def _maps(maps: Sequence[Record], colours: Mapping[str, str], paint: Palette) -> Figure:
    rows = max(len(_thinned(record["rows"])) for record in maps)
    height = 1.25 + 0.27 * rows
    figure = Figure(figsize=(MAP_WIDTH, height))
    for number, record in enumerate(maps):
        bottom, width = 0.62 / height, 0.44
        axes = figure.add_axes(
            (0.055 + number * (width + 0.045), bottom, width, 1 - bottom - 0.62 / height)
        )
        _map(axes, record, colours[record["arm"]], paint)
        if not number:
            axes.set_ylabel("reply to turn", color=paint.muted)
    _scale(figure, list(colours.values()), height, paint)
    return figure


def _thinned(rows: Sequence[Record]) -> Sequence[Record]:
    if len(rows) <= MOST_ROWS:
        return rows
    return [rows[round(n * (len(rows) - 1) / (MOST_ROWS - 1))] for n in range(MOST_ROWS)]


def _map(axes: Any, record: Record, colour: str, paint: Palette) -> None:
    """Draw one arm's map: a row a reply, a column a bin of what stood before it."""
    bins, rows = record["bins"], _thinned(record["rows"])
    cells = [
        (column, number, weight)
        for number, row in enumerate(rows)
        for column, weight in enumerate(row["peak"])
    ]
    _draw_cells(axes, cells, colour)
    for number, row in enumerate(rows):
        end = len(row["peak"])
        axes.plot(
            [end, end], [number + GAP / 2, number + 1 - GAP / 2], color=paint.muted, linewidth=0.8
        )
    told = [n for n, b in enumerate(bins) if b["part"] == "instruction"]
    axes.set_xlim(-0.3, len(bins) + 0.3)
    axes.set_ylim(len(rows), -0.35)
    for edge in (told[0], told[-1] + 1):
        axes.plot([edge, edge], [-0.35, len(rows)], color=paint.ink, linewidth=1)
    axes.annotate(
        "instruction",
        ((told[0] + told[-1] + 1) / 2, -0.35),
        xytext=(0, 3),
        textcoords="offset points",
        ha="left" if told[0] < 4 else "center",
        color=paint.ink,
    )
    axes.set_title(arm_name(record["arm"]), loc="right", color=colour, weight="bold", pad=4)
    starts = {b["turn"]: n for n, b in reversed(list(enumerate(bins))) if b["part"] == "user"}
    step = -(-len(starts) // 10)
    shown = [turn for turn in sorted(starts) if (turn - 1) % step == 0]
    axes.set_xticks([starts[t] for t in shown], [str(t) for t in shown], ha="left")
    axes.set_yticks([n + 0.5 for n in range(len(rows))], [str(row["turn"]) for row in rows])
    axes.set_xlabel("context: the user's message of turn …", color=paint.muted, labelpad=3)
    _bare(axes, paint)


def _draw_cells(axes: Any, cells: Sequence[tuple[int, int, float]], colour: str) -> None:
    """Draw cells (column, row, strength from 0 to 1); neighbours of one strength become one."""
    by_level: dict[int, list[list[int]]] = {}
    last: tuple[int, int] | None = None
    for column, row, strength in cells:
        level = round(min(1.0, strength) * LEVELS)
        boxes = by_level.setdefault(level, [])
        if last == (level, row) and boxes[-1][1] == column:
            boxes[-1][1] = column + 1
        else:
            boxes.append([column, column + 1, row])
        last = level, row
    for level, boxes in sorted(by_level.items()):
        if not level:
            continue
        outlines = [
            Outline(
                [(a, r + GAP / 2), (b, r + GAP / 2), (b, r + 1 - GAP / 2), (a, r + 1 - GAP / 2), (0, 0)],
                [Outline.MOVETO, Outline.LINETO, Outline.LINETO, Outline.LINETO, Outline.CLOSEPOLY],
            )
            for a, b, r in boxes
        ]  # fmt: skip
        axes.add_patch(
            PathPatch(
                Outline.make_compound_path(*outlines),
                facecolor=colour,
                edgecolor="none",
                alpha=level / LEVELS,
                antialiased=False,
            )
        )


def _scale(figure: Figure, colours: Sequence[str], height: float, paint: Palette) -> None:
    """Draw what strength of colour stands for what weight, below the right map."""
    axes = figure.add_axes((0.83, 0.08 / height, 0.15, 0.13 * len(colours) / height))
    for row, colour in enumerate(colours):
        _draw_cells(axes, [(n, row, (n + 1) / LEVELS) for n in range(LEVELS)], colour)
    axes.set_xlim(0, LEVELS)
    axes.set_ylim(len(colours), 0)
    axes.set_axis_off()
    for at, text, side in ((0, "0  ", "right"), (LEVELS, "  1", "left")):
        axes.annotate(
            text, (at, len(colours) / 2), ha=side, va="center", color=paint.muted,
            annotation_clip=False,
        )  # fmt: skip


def _turns(records: Sequence[Record], styles: Mapping[str, int], paint: Palette) -> Figure:
    figure = Figure(figsize=(7.6, 3.7))
    axes = figure.add_axes((0.09, 0.15, 0.74, 0.8))
    points = [r for r in records if r["metric"] == "mass"]
    turns = sorted({r["turn"] for r in points})
    last = 0.0
    for arm, style in styles.items():
        mine = [r for r in points if r["arm"] == arm]
        xs, colour = [TURNS.position(r["turn"]) for r in mine], paint.arms[style]
        values = [100 * r["value"] for r in mine]
        if all(r["low"] is not None for r in mine):
            lows, highs = ([100 * max(0.0, r[end]) for r in mine] for end in ("low", "high"))
            if len(mine) > 1:
                axes.fill_between(xs, lows, highs, color=colour, alpha=0.15, linewidth=0)
            else:
                axes.vlines(xs, lows, highs, color=colour, alpha=0.45, linewidth=2)
        axes.plot(
            xs, values, color=colour, linestyle=DASHES[style], marker=MARKERS[style], markersize=7,
            markeredgecolor=paint.page, markeredgewidth=1.2, linewidth=2.2,
        )  # fmt: skip
        axes.annotate(
            arm_name(arm), (xs[-1], values[-1]), xytext=(10, 0), textcoords="offset points",
            va="center", color=colour, weight="bold", annotation_clip=False,
        )  # fmt: skip
        last = max(last, *values)
    even = {r["turn"]: 100 * r["even"] for r in points}
    axes.plot(
        [TURNS.position(t) for t in turns], [even[t] for t in turns], color=paint.muted,
        linewidth=1.3, linestyle=(0, (1, 2)),
    )  # fmt: skip
    axes.annotate(
        "if all tokens got the same", (TURNS.position(turns[0]), even[turns[0]]), xytext=(8, 4),
        textcoords="offset points", color=paint.muted, size=PAGE_POINTS - 2,
    )  # fmt: skip
    axes.set_ylim(0, None)
    width = TURNS.position(turns[-1]) - TURNS.position(turns[0])
    labelled = readable(turns, 0.05 * width, TURNS)
    axes.set_xticks([TURNS.position(t) for t in labelled], [str(t) for t in labelled])
    axes.set_xlabel("turn", color=paint.muted)
    axes.set_ylabel("per cent of attention", color=paint.muted)
    axes.grid(axis="y", color=paint.grid, linewidth=1)
    axes.set_axisbelow(True)
    _bare(axes, paint)
    return figure


def _heads(records: Sequence[Record], colours: Mapping[str, str], paint: Palette) -> Figure:
    base, ours = (
        next(r["mass"] for r in records if r["arm"] == arm and r["turn"] is None) for arm in colours
    )
    change = [
        [b - a for a, b in zip(row, other, strict=True)]
        for row, other in zip(base, ours, strict=True)
    ]
    num_layers, num_heads = len(change), len(change[0])
    most = max(abs(value) for row in change for value in row) or 1.0
    height = 1.15 + 0.22 * num_heads
    figure = Figure(figsize=(max(5.0, 1.3 + 0.24 * num_layers), height))
    axes = figure.add_axes((0.09, 0.62 / height, 0.88, 1 - 1.0 / height))
    for colour, sign in zip(colours.values(), (-1, 1), strict=True):
        cells = [
            (layer, head, max(0.0, sign * change[layer][head] / most))
            for head in range(num_heads)
            for layer in range(num_layers)
        ]
        _draw_cells(axes, cells, colour)
    axes.set_xlim(0, num_layers)
    axes.set_ylim(num_heads, 0)
    for ticks, num in ((axes.set_xticks, num_layers), (axes.set_yticks, num_heads)):
        shown = range(0, num, -(-num // 16))
        ticks([n + 0.5 for n in shown], [str(n) for n in shown])
    axes.set_xlabel("layer", color=paint.muted)
    axes.set_ylabel("head", color=paint.muted)
    names = [arm_name(arm) for arm in colours]
    for at, side, name, colour in zip(
        (0, 1), ("left", "right"), names, colours.values(), strict=True
    ):
        axes.annotate(
            f"{name} looks more, up to {100 * most:.1f} points", (at, 1), xytext=(0, 6),
            xycoords="axes fraction", textcoords="offset points", ha=side, color=colour,
            weight="bold",
        )  # fmt: skip
    _bare(axes, paint)
    return figure


def _bare(axes: Any, paint: Palette) -> None:
    axes.tick_params(length=0, colors=paint.muted, pad=4)
    axes.patch.set_visible(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
