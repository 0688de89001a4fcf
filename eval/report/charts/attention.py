"""Pictures of attention: the map of one dialogue, and the instruction's share over turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from textwrap import fill
from typing import Any, Final

from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Outline

from eval.report.charts.curves import DASHES, MARKERS, TURNS, readable, spread
from eval.report.charts.drawing import (
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
from eval.report.data.selection import arm_name

Record = Mapping[str, Any]
Cell = tuple[float, float, float, float]
"""Left and right edge, row, and strength from 0 to 1."""

LEVELS: Final = 24
"""Strengths of colour of a map: cells of one strength are one outline, which keeps the page small."""
MOST_ROWS: Final = 24
"""Turns of a map; of more a selection is drawn."""
GAP: Final = 0.12
"""Part of a row that stays blank."""
FONT_POINTS: Final = 12
MAP_WIDTH: Final = 12.6
"""Inches, as `eval.report.charts.drawing.Shape`."""
TOLD_SHARE: Final = 0.055
"""Part of a map's width that the instruction has at least: a few words among a thousand would not show."""
MOST_TOLD: Final = 150
"""Characters of the instruction in a title."""
TITLE_COLUMNS: Final = 92
"""Characters of a line of a title over a map."""
MARKS: Final[Mapping[str, str]] = {"pass": "\u2713", "fail": "\u2717", "undecided": "?"}
"""Beside a turn: whether its reply keeps the instruction."""
PICTURES: Final[Mapping[str, str]] = {"map": "", "turns": "-turns"}
"""Name -> what its file's name ends in."""


def attention_svgs(data: Mapping[str, Any], arms: Sequence[str]) -> dict[str, Markup]:
    """Return both pictures as SVG elements of a page.

    Args:
        data: of `attention.json`.
        arms: all arms of the page in order, so that an arm looks the same everywhere.
    """
    return {name: Markup(_on_page(name, data, arms)) for name in PICTURES}


def _on_page(name: str, data: Mapping[str, Any], arms: Sequence[str]) -> str:
    with page_settings(Shape(0, 0, FONT_POINTS, has_labels=False), f"attention-{name}"):
        figure = draw(name, data, arms, STAND_INS)
        return inline(figure, f"attention-{name}", _title(name, data))


def save_attention_charts(path: Path, data: Mapping[str, Any]) -> list[Path]:
    """Write both pictures: the map as `path`, the turns beside it; return their places.

    Raises:
        ConfigError: a path that ends in none of .png, .svg, .pdf.
        StoreError: a file cannot be written.
    """
    written = []
    for name, ending in PICTURES.items():
        place = path.with_stem(path.stem + ending)
        with picture(place, Shape(0, 0, FONT_POINTS, has_labels=False)):
            figure = draw(name, data, data["arms"], LIGHT)
            figure.text(
                figure.axes[0].get_position().x0, 1 + 0.1 / figure.get_figheight(),
                fill(_title(name, data), TITLE_COLUMNS), va="bottom", weight="bold", size=FONT_POINTS + 1,
            )  # fmt: skip
            write_picture(place, figure)
        written.append(place)
    return written


def _title(name: str, data: Mapping[str, Any]) -> str:
    if name == "turns":
        return "Attention on the instruction over turns"
    told = str(data["maps"][0]["text"])
    told = told if len(told) <= MOST_TOLD else f"{told[:MOST_TOLD].rstrip()} …"
    title = f"Largest attention weight in any layer and head under the instruction “{told}”"
    if is_chosen(data):
        ours = arm_name(data["arms"][1])
        title += f" (of {data['num_dialogues']} dialogues the one that {ours} keeps most often)"
    return title


def is_chosen(data: Mapping[str, Any]) -> bool:
    """Whether the case of the map was chosen among several, by verdicts."""
    return data["num_dialogues"] > 1 and any(is_judged(record) for record in data["maps"])


def draw(name: str, data: Mapping[str, Any], arms: Sequence[str], paint: Palette) -> Figure:
    """Return one of `PICTURES` as a figure."""
    colours = {arm: paint.arms[list(arms).index(arm) % NUM_STYLES] for arm in data["arms"]}
    if name == "map":
        return _maps(data["maps"][: len(data["arms"])], colours, paint)
    return _turns(data["curves"], {a: list(arms).index(a) % NUM_STYLES for a in colours}, paint)


def _maps(maps: Sequence[Record], colours: Mapping[str, str], paint: Palette) -> Figure:
    num_rows = max(len(_thinned(record["rows"])) for record in maps)
    top, rows, below = 0.3, max(0.2, 0.36 - 0.008 * num_rows) * num_rows, 0.62
    height = top + rows + below
    figure = Figure(figsize=(MAP_WIDTH, height))
    for number, record in enumerate(maps):
        axes = figure.add_axes((0.055 + 0.485 * number, below / height, 0.44, rows / height))
        _map(axes, record, colours[record["arm"]], paint)
        if not number:
            axes.set_ylabel(
                "reply to turn (✓ kept)" if is_judged(record) else "reply to turn",
                color=paint.muted,
            )
    _scale(figure, list(colours.values()), height, paint)
    return figure


def is_judged(record: Record) -> bool:
    """Whether a map has a verdict beside any of its turns."""
    return any(row.get("status") for row in record["rows"])


def _thinned(rows: Sequence[Record]) -> Sequence[Record]:
    if len(rows) <= MOST_ROWS:
        return rows
    return [rows[round(n * (len(rows) - 1) / (MOST_ROWS - 1))] for n in range(MOST_ROWS)]


def _map(axes: Any, record: Record, colour: str, paint: Palette) -> None:
    """Draw one arm's map: a row a reply, a column a bin of what stood before it."""
    bins, rows = record["bins"], _thinned(record["rows"])
    told = [n for n, b in enumerate(bins) if b["part"] == "instruction"]
    wide = max(1.0, TOLD_SHARE * len(bins) / len(told))
    edges = [0.0, *accumulate(wide if n in told else 1.0 for n in range(len(bins)))]
    for number, row in enumerate(rows):
        weights = row["peak"]
        _draw_cells(
            axes, [(edges[n], edges[n + 1], number, w) for n, w in enumerate(weights)], colour
        )
        end = edges[len(weights)]
        axes.plot(
            [end, end], [number + GAP / 2, number + 1 - GAP / 2], color=paint.muted, linewidth=0.8
        )
    axes.set_xlim(-0.3, edges[-1] + 0.3)
    axes.set_ylim(len(rows), -0.12)
    first, last = edges[told[0]], edges[told[-1] + 1]
    for edge in (first, last):
        axes.plot([edge, edge], [-0.12, len(rows)], color=paint.ink, linewidth=1.1)
    axes.annotate(
        "instruction", (first, -0.12), xytext=(0, 4), textcoords="offset points", color=paint.ink
    )
    axes.set_title(arm_name(record["arm"]), loc="right", color=colour, weight="bold", pad=4)
    starts = {b["turn"]: n for n, b in reversed(list(enumerate(bins))) if b["part"] == "user"}
    step = -(-len(starts) // 10)
    shown = [turn for turn in sorted(starts) if (turn - 1) % step == 0]
    axes.set_xticks([edges[starts[t]] for t in shown], [str(t) for t in shown])
    labels = [f"{MARKS.get(row.get('status') or '', '')} {row['turn']}".strip() for row in rows]
    axes.set_yticks([n + 0.5 for n in range(len(rows))], labels)
    axes.set_xlabel(
        "read so far: user message of turn …", color=paint.muted, labelpad=2, loc="left"
    )
    _bare(axes, paint)


def _draw_cells(axes: Any, cells: Sequence[Cell], colour: str) -> None:
    """Draw cells; neighbours of one row and strength become one."""
    by_level: dict[int, list[list[float]]] = {}
    last: tuple[int, float] | None = None
    for left, right, row, strength in cells:
        level = round(min(1.0, strength) * LEVELS)
        boxes = by_level.setdefault(level, [])
        if last == (level, row) and boxes[-1][1] == left:
            boxes[-1][1] = right
        else:
            boxes.append([left, right, row])
        last = level, row
    for level, boxes in sorted(by_level.items()):
        if not level:
            continue
        outlines = [_box(a, b, r + GAP / 2, r + 1 - GAP / 2) for a, b, r in boxes]
        axes.add_patch(
            PathPatch(
                Outline.make_compound_path(*outlines),
                facecolor=colour,
                edgecolor="none",
                alpha=level / LEVELS,
                antialiased=False,
            )
        )


def _box(left: float, right: float, top: float, bottom: float) -> Outline:
    corners = [(left, top), (right, top), (right, bottom), (left, bottom), (0, 0)]
    lines = [Outline.MOVETO, *[Outline.LINETO] * 3, Outline.CLOSEPOLY]
    return Outline(corners, lines)


def _scale(figure: Figure, colours: Sequence[str], height: float, paint: Palette) -> None:
    """Draw what strength of colour stands for what weight, below the right map."""
    axes = figure.add_axes((0.815, 0.06 / height, 0.15, 0.13 * len(colours) / height))
    for row, colour in enumerate(colours):
        _draw_cells(axes, [(n, n + 1, row, (n + 1) / LEVELS) for n in range(LEVELS)], colour)
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
    top = max(100 * (r["high"] or r["value"]) for r in points) * 1.12
    ends: list[tuple[float, str, str]] = []
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
            markeredgecolor=paint.page, markeredgewidth=1.2, linewidth=2.2, clip_on=False,
        )  # fmt: skip
        ends.append((values[-1] / top, arm_name(arm), colour))
    for height, (_, name, colour) in zip(
        spread([end for end, _, _ in sorted(ends)], 0.085), sorted(ends), strict=True
    ):
        axes.annotate(
            name, (TURNS.position(turns[-1]), height * top), xytext=(12, 0),
            textcoords="offset points", va="center", color=colour, weight="bold",
            annotation_clip=False,
        )  # fmt: skip
    even = {r["turn"]: 100 * r["even"] for r in points}
    dots: dict[str, Any] = {"color": paint.muted, "linewidth": 1.4, "linestyle": (0, (1, 2))}
    axes.plot([TURNS.position(t) for t in turns], [even[t] for t in turns], **dots)
    axes.plot([0.6, 0.66], [0.965, 0.965], transform=axes.transAxes, **dots)
    axes.annotate(
        "if all tokens in sight got the same", (0.675, 0.965), xycoords="axes fraction", va="center",
        color=paint.muted, size=FONT_POINTS - 1.5,
        bbox={"facecolor": paint.page, "edgecolor": "none", "pad": 1.5},
    )  # fmt: skip
    axes.set_ylim(0, top)
    width = TURNS.position(turns[-1]) - TURNS.position(turns[0])
    labelled = readable(turns, 0.05 * width, TURNS)
    axes.set_xticks([TURNS.position(t) for t in labelled], [str(t) for t in labelled])
    axes.set_xlabel(TURNS.title, color=paint.muted)
    axes.set_ylabel("per cent of attention", color=paint.muted)
    axes.grid(axis="y", color=paint.grid, linewidth=1)
    axes.set_axisbelow(True)
    _bare(axes, paint)
    return figure


def _bare(axes: Any, paint: Palette) -> None:
    axes.tick_params(length=0, colors=paint.muted, pad=4)
    axes.patch.set_visible(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
