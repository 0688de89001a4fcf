"""What all drawings share: colours, and the way from a figure to the page or to a file."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

from matplotlib import rc_context
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from gatt.errors import ConfigError
from gatt.runs.atomic_file import atomic_stream

FONT_POINTS: Final = 12
"""One point is one pixel on the page where the chart stands at its own width."""
NUM_STYLES: Final = 8
"""Arms that a chart can tell apart by colour; those behind them have the same, and hollow markers."""
GLYPHS = ("●", "■", "◆", "▲", "▼", "✚", "✖", "⬢", "○", "□", "◇", "△", "▽", "✢", "✕", "⬡")
"""The markers of `curves.MARKERS`, full and hollow, for legends in text."""

INK, MUTED, GRID, PAGE = "#17191d", "#5c626b", "#e6e6e0", "#fdfdfb"
ARMS = (
    "#c4480c", "#0067a8", "#0a7a5f", "#a8467f", "#8d6200", "#137aa8", "#5b5f66", "#7448bd",
)  # fmt: skip
"""Colours of a chart: those of the page by day, whose CSS variables replace them on the page."""
CSS_COLOURS = {
    INK: "var(--ink)", MUTED: "var(--muted)", GRID: "var(--grid)", PAGE: "var(--page)",
    **{colour: f"var(--arm-{number})" for number, colour in enumerate(ARMS)},
}  # fmt: skip

PICTURES: Mapping[str, dict[str, None]] = {
    ".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None},
}  # fmt: skip
"""Endings of pictures that stand alone, and what keeps the time out of them."""


def inline(name: str, title: str, draw: Callable[[], Figure]) -> str:
    """Return a figure as an SVG element of the page.

    `name` is unique on the page and prefixes every id in the SVG; a screen reader says `title`.
    """
    stream = io.StringIO()
    with _settings(name, {"svg.fonttype": "none"}):
        figure = draw()
        FigureCanvasSVG(figure)
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    svg = stream.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' (?:width|height)="[\d.]+pt"', "", svg, count=2)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(url\(|xlink:href=")#', rf"\1#{name}-", svg)
    svg = re.sub(r"(font(?:-family)?: [^'\";]*?)'[^;\"]*sans-serif", r"\1var(--sans)", svg)
    for colour, css in CSS_COLOURS.items():
        svg = svg.replace(colour, css)
    label = html.escape(title, quote=True)
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def save_picture(path: Path, draw: Callable[[], Figure]) -> None:
    """Write a figure as a picture file without outer margins; see `refuse_other_endings`."""
    refuse_other_endings(path)
    stream = io.BytesIO()
    with _settings(path.stem):
        draw().savefig(
            stream, format=path.suffix[1:], dpi=144, facecolor=PAGE,
            metadata=PICTURES[path.suffix], bbox_inches="tight", pad_inches=0.15,
        )  # fmt: skip
    with atomic_stream(path) as file:
        file.write(stream.getvalue())


def refuse_other_endings(path: Path) -> None:
    """Raise a ConfigError for a picture that ends in none of `PICTURES`."""
    if path.suffix not in PICTURES:
        raise ConfigError(
            f"chart {path}: expected a name that ends in one of {', '.join(PICTURES)}"
        )


def _settings(salt: str, extra: Mapping[str, Any] | None = None) -> AbstractContextManager[Any]:
    """Return matplotlib's settings for a chart; the salt fixes the ids in an SVG."""
    settings: AbstractContextManager[Any] = rc_context(
        {
            "font.size": FONT_POINTS,
            "font.family": "sans-serif",
            "text.color": INK,
            "text.parse_math": False,
            "path.simplify": False,
            "svg.hashsalt": salt,
            **(extra or {}),
        }
    )
    return settings
