"""The HTML report: one file without any link to the outside."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from eval.metrics.curves import ALL
from eval.report.charts import HERO, HERO_NARROW, NUM_STYLES, PANEL, WIDE_PANEL, Shape, chart
from eval.report.headline import Headline, counts, headline, interval, percent
from eval.report.selection import (
    HISTORY_NAMES,
    SPLIT_NAMES,
    Curves,
    arm_name,
    metric_name,
)
from eval.report.tables import half_life_text, rate_table
from eval.report.transcripts import embeddable_json, transcript_data
from eval.samples import Sample
from gatt.errors import StoreError

GLYPHS = ("●", "■", "◆", "▲", "▼", "✚", "✖", "⬢")
"""The markers of `charts.MARKERS`, for legends in text."""
FACTS = ("name", "model", "adapter", "seed", "time", "commit", "hardware")
"""Keys of `run` that the head of the page shows, if they are there and short."""
MAX_FACT_LENGTH = 80
METRIC_NOTES: Mapping[str, str] = {
    "adherence": "Share of ordinary replies that follow the instruction.",
    "survival": "Share of dialogues in which every reply asked so far followed it.",
    "probe_recall": "Share of off-the-record questions answered in the sense of the instruction.",
    "false_trigger": "Share of replies that follow an instruction nobody gave, of those that "
    "ordinary replies do not satisfy; lower is better.",
}


@dataclass(frozen=True)
class Panel:
    """One chart with its heading and the sentence under it."""

    title: str
    note: str
    svg: Markup


def render_report(results: Mapping[str, Any], samples: Iterable[Sample], path: Path) -> None:
    """Write the report as one self-contained HTML file, replacing an older one whole.

    Args:
        results: the value of `results.json`.
        samples: the replies that the transcripts show; may be empty.
        path: of the file; its folder must exist.

    Raises:
        DataError: `results` breaks its contract (see `Curves.of`).
        StoreError: the file cannot be written.
    """
    page = report_html(results, samples)
    partial = path.with_name(path.name + ".partial")
    try:
        # A lone surrogate in a reply has no UTF-8 form; its JSON escape is plain text.
        partial.write_text(page, encoding="utf-8", errors="backslashreplace")
        os.replace(partial, path)
    except OSError as error:
        raise StoreError(f"{path}: cannot write the report: {error.strerror}") from None


def report_html(results: Mapping[str, Any], samples: Iterable[Sample]) -> str:
    """Return the page as text; see `render_report`."""
    curves = Curves.of(results)
    replies = list(samples)
    arms = curves.arms
    run = results.get("run") or {}
    script = _package_text("page.js")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["percent"] = percent
    environment.filters["interval"] = interval
    environment.filters["counts"] = counts
    environment.globals.update(
        arm_name=arm_name,
        metric_name=metric_name,
        history_names=HISTORY_NAMES,
        split_names=SPLIT_NAMES,
    )
    verdict = headline(curves)
    return environment.from_string(_package_text("page.html.j2")).render(
        verdict=verdict,
        facts=[(k, str(run[k])) for k in FACTS if 0 < len(str(run.get(k) or "")) < MAX_FACT_LENGTH],
        sizes=_sizes(replies),
        tiles=_tiles(curves, verdict),
        legend=[(i % NUM_STYLES, GLYPHS[i % NUM_STYLES], arm_name(a)) for i, a in enumerate(arms)],
        hero=_hero(curves),
        main_history=curves.main_history,
        main_split=curves.main_split,
        measures=_measure_panels(curves),
        families=_family_panels(curves),
        tables=[rate_table(curves, metric) for metric in curves.metrics],
        arm_styles={arm: index % NUM_STYLES for index, arm in enumerate(arms)},
        differences=results.get("differences") or [],
        notes=results.get("notes") or [],
        run=_flat(run),
        css=Markup(_package_text("page.css")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=Markup(embeddable_json(transcript_data(replies, arms))),
        has_transcripts=bool(replies),
    )


def _package_text(name: str) -> str:
    return (files("eval.report") / name).read_text(encoding="utf-8")


def _sizes(samples: Sequence[Sample]) -> list[tuple[int, str]]:
    """Return how much the run holds, for the head of the page."""
    kinds = [s.kind for s in samples]
    counts = [
        (len({s.dialogue for s in samples}), "dialogues"),
        (kinds.count("turn"), "replies"),
        (kinds.count("probe"), "probes"),
        (sum(s.status == "undecided" for s in samples), "undecided"),
    ]
    return [(number, word) for number, word in counts if number]


def _tiles(curves: Curves, verdict: Headline) -> list[dict[str, Any]]:
    """Return each arm's rate at the headline turn, with its half-life."""
    tiles = []
    for index, arm in enumerate(curves.arms):
        points = curves.find(
            arm=arm,
            metric="adherence",
            history=curves.main_history,
            split=curves.main_split,
            family=ALL,
        )
        point = next((p for p in points if p.turn == verdict.turn), None)
        if point is not None:
            half = half_life_text(points)
            tiles.append({"style": index % NUM_STYLES, "point": point, "half_life": half})
    return tiles


def _svg(curves: Curves, shape: Shape, name: str, title: str, **wanted: object) -> Markup | None:
    """Return the chart of all arms for the wanted points, None if nothing was decided."""
    by_arm = {arm: curves.find(arm=arm, **wanted) for arm in curves.arms}
    by_arm = {a: points for a, points in by_arm.items() if any(p.rate is not None for p in points)}
    if not by_arm:
        return None
    return Markup(chart(by_arm, curves.arms, shape, name, title))


def _hero(curves: Curves) -> list[Markup]:
    """Return the first chart in its wide and its narrow form."""
    wanted = {
        "metric": "adherence",
        "history": curves.main_history,
        "split": curves.main_split,
        "family": ALL,
    }
    title = (
        "Adherence over turns for each arm, with 95 % intervals; the rates table has the numbers"
    )
    shapes = (("hero-wide", HERO), ("hero-narrow", HERO_NARROW))
    return [svg for name, shape in shapes if (svg := _svg(curves, shape, name, title, **wanted))]


def _measure_panels(curves: Curves) -> list[Panel]:
    """Return the total of every metric and history but the one of the first chart."""
    panels = []
    for metric in curves.metrics:
        for history in curves.histories:
            if (metric, history) == ("adherence", curves.main_history):
                continue
            split = ALL if metric == "false_trigger" else curves.main_split
            name = f"measure-{metric}-{history}"
            title = metric_name(metric)
            if len(curves.histories) > 1:
                title += f", {HISTORY_NAMES.get(history, history)}"
            svg = _svg(
                curves,
                WIDE_PANEL,
                name,
                title,
                metric=metric,
                history=history,
                split=split,
                family=ALL,
            )
            if svg is not None:
                panels.append(Panel(title, METRIC_NOTES.get(metric, ""), svg))
    return panels


def _family_panels(curves: Curves) -> list[tuple[str, list[Panel]]]:
    """Return adherence by family and split, under one heading a history."""
    sections = []
    for history in curves.histories:
        panels = []
        for number, (split, family) in enumerate(
            (s, f) for s in curves.splits for f in (ALL, *curves.families)
        ):
            title = "all families" if family == ALL else family
            svg = _svg(
                curves,
                PANEL,
                f"family-{history}-{number}",
                f"Adherence, {title}, {SPLIT_NAMES.get(split, split)}",
                metric="adherence",
                history=history,
                split=split,
                family=family,
            )
            if svg is not None:
                panels.append(Panel(title, SPLIT_NAMES.get(split, split), svg))
        if panels:
            sections.append((HISTORY_NAMES.get(history, history), panels))
    return sections


def _flat(value: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Return a nested mapping as dotted keys and printable values."""
    rows: list[tuple[str, str]] = []
    for key, item in value.items():
        if isinstance(item, Mapping) and item:
            rows += _flat(item, f"{prefix}{key}.")
        else:
            text = (
                item if isinstance(item, str) else json.dumps(item, ensure_ascii=False, default=str)
            )
            rows.append((f"{prefix}{key}", text))
    return rows
