"""The sections of the page that curves make: charts as panels, and the heat maps."""

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
    SINCE_EVENT,
    TURNS,
    Axis,
    chart,
    save_chart,
)
from eval.report.charts.drawing import Shape, has_bands
from eval.report.data.headline import Headline
from eval.report.data.lists import Record
from eval.report.data.selection import HISTORY_NAMES, SPLIT_NAMES, Curves, few_turns, metric_name
from eval.report.tables.probes import PUBLISHED, ProbeTable, probe_table
from eval.report.tables.rates import caption, half_life_text
from gatt.errors import DataError

MOST_HEAT_TURNS = 24
"""Columns of a heat map; all turns stand in the table of rates."""
HEAT_INK_FROM = 0.65
"""The rate from which a cell has the ink of the full end: its colours are such that here, light and dark,
black and white can be read equally well."""
METRIC_NOTES: Mapping[str, str] = {
    "survival": "Share of dialogues in which every reply asked so far followed the instruction.",
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
    "cancelled, by turns since, under its family; lower is better. Some do by chance. Of a combination "
    "one part is enough, where its rules can be told apart.",
    "probe_leakage": "Share of answers to a probe that still give what a cancelled instruction said, by turns "
    "since; lower is better.",
    "adherence_loose": "The same replies read with leniency: a first or last line, or asterisks, "
    "do not count against them.",
}
EVENT_NOTES: Mapping[str, str] = {
    "topic_jump": "The user changes the subject.",
    "other_language": "The user writes in another language.",
    "quoted_instruction": "The user quotes a text with an instruction in it.",
    "asks_to_drop": "The user asks to drop the rule.",
    "replace": "The instruction is replaced by another one.",
    "add": "A further instruction is added.",
    "cancel": "The instruction is taken back: here a reply that follows it fails.",
}


@dataclass(frozen=True)
class Panel:
    """One chart with its heading and the sentence under it."""

    title: str
    note: str
    svg: Markup


@dataclass(frozen=True)
class HeatMap:
    """Adherence of one arm: families as rows, turns as columns."""

    arm: str
    history: str
    turns: tuple[int, ...]
    is_thinned: bool
    """Whether there are turns that it leaves out."""
    rows: tuple[tuple[str, tuple[CurvePoint | None, ...]], ...]


@dataclass(frozen=True)
class Probes:
    """Probe recall of one history: chart and table."""

    history: str
    svg: Markup
    table: ProbeTable


def tiles(curves: Curves, verdict: Headline) -> list[dict[str, Any]]:
    """Return each arm's rate at the headline turn, with its half-life."""
    found = []
    for arm in curves.arms:
        points = curves.find(arm=arm, **main_curve(curves))
        point = next((p for p in points if p.turn == verdict.turn), None)
        if point is not None:
            found.append({"point": point, "half_life": half_life_text(points)})
    return found


def main_curve(curves: Curves) -> dict[str, object]:
    """Return the fields of the curve that the verdict speaks of."""
    return {
        "metric": "adherence",
        "history": curves.main_history,
        "split": curves.main_split,
        "family": ALL,
    }


def _svg(
    arms: Sequence[str],
    by_arm: Mapping[str, Sequence[CurvePoint]],
    shape: Shape,
    name: str,
    title: str,
    axis: Axis = TURNS,
    published: Mapping[str, Mapping[int, float]] | None = None,
) -> Markup | None:
    """Return the chart of the points, None if nothing was decided."""
    drawn = _measured(by_arm)
    if not drawn:
        return None
    return Markup(chart(drawn, arms, shape, name, title, axis=axis, published=published))


def _measured(by_arm: Mapping[str, Sequence[CurvePoint]]) -> dict[str, Sequence[CurvePoint]]:
    """Return the arms for which something was decided."""
    return {a: points for a, points in by_arm.items() if any(p.rate is not None for p in points)}


def _by_arm(curves: Curves, **wanted: object) -> dict[str, Sequence[CurvePoint]]:
    return {arm: curves.find(arm=arm, **wanted) for arm in curves.arms}


def hero(curves: Curves) -> list[Markup]:
    """Return the first chart in its wide and its narrow form, nothing if nothing was decided."""
    points = _by_arm(curves, **main_curve(curves))
    title = "Adherence over turns for each arm; the table of rates has all of them with intervals"
    shapes = (("hero-wide", HERO), ("hero-narrow", HERO_NARROW))
    drawn = (_svg(curves.arms, points, shape, name, title) for name, shape in shapes)
    return [svg for svg in drawn if svg is not None]


def hero_has_bands(curves: Curves) -> bool:
    """Whether the first chart shows intervals: see `has_bands`."""
    return has_bands(len(_measured(_by_arm(curves, **main_curve(curves)))))


def save_main_chart(path: Path, results: Mapping[str, Any], metric: str) -> None:
    """Write the curve of a metric, in the page's main history and split, as a picture that stands alone.

    Raises:
        ConfigError: an ending that is no picture's.
        DataError: no such curve.
        StoreError: the file cannot be written.
    """
    curves = Curves.of(results)
    drawn = _measured(_by_arm(curves, **main_curve(curves) | {"metric": metric}))
    if not drawn and metric in curves.metrics:
        raise DataError(
            f"no curve of {metric!r} to draw: no reply was decided in the page's main history and split"
        )
    if not drawn:
        raise DataError(
            f"no curve of {metric!r} to draw: expected one of {', '.join(curves.metrics)}"
        )
    said = caption(curves, has_intervals=has_bands(len(drawn)))
    title = f"{metric_name(metric)}: {said}"
    save_chart(path, drawn, curves.arms, title, axis=_axis(metric))


def _axis(metric: str) -> Axis:
    return SINCE_CHANGE if metric in SINCE_SWITCH else TURNS


def heat_maps(curves: Curves) -> list[HeatMap]:
    """Return adherence by family and turn, a map for each history and arm."""
    found = []
    for history in curves.histories:
        points = curves.find(metric="adherence", history=history, split=ALL)
        points = tuple(p for p in points if p.family != "none")
        turns = sorted({p.turn for p in points})
        shown = few_turns(turns, MOST_HEAT_TURNS)
        for arm in curves.arms:
            cells = {(p.family, p.turn): p for p in points if p.arm == arm}
            families = [
                f for f in (*curves.families, ALL) if any(f == family for family, _ in cells)
            ]
            if len(families) < 2:
                continue
            if len(families) == 2:
                families = families[:1]
            rows = tuple((f, tuple(cells.get((f, t)) for t in shown)) for f in families)
            found.append(HeatMap(arm, history, tuple(shown), len(shown) < len(turns), rows))
    return found


def split_panels(curves: Curves) -> list[Panel]:
    """Return adherence by split; nothing where there is only one."""
    panels = []
    for history in curves.histories:
        drawn = []
        for split in curves.splits:
            title = _titled(SPLIT_NAMES.get(split, split).capitalize(), history, curves)
            points = _by_arm(curves, metric="adherence", history=history, split=split, family=ALL)
            svg = _svg(
                curves.arms, points, PANEL, f"split-{history}-{split}", f"Adherence, {title}"
            )
            if svg is not None:
                drawn.append(Panel(title, _num_dialogues(points), svg))
        panels += drawn if len(drawn) > 1 else []
    return panels


def measure_panels(curves: Curves) -> list[Panel]:
    """Return the total of every metric and history that no other section shows."""
    panels = []
    for metric in curves.metrics:
        for history in curves.histories:
            if metric == "probe_recall" or (metric, history) == ("adherence", curves.main_history):
                continue
            split = ALL if metric == "false_trigger" else curves.main_split
            points = _by_arm(curves, metric=metric, history=history, split=split, family=ALL)
            title = _titled(metric_name(metric), history, curves)
            svg = _svg(
                curves.arms, points, PANEL, f"measure-{metric}-{history}", title, _axis(metric)
            )
            if svg is not None:
                note = METRIC_NOTES.get(metric, "Share of replies that follow the instruction.")
                panels.append(Panel(title, note, svg))
    return panels


def probe_sections(curves: Curves) -> list[Probes]:
    """Return probe recall beside the published figures, for each history."""
    found = []
    for history in curves.histories:
        wanted = {"history": history, "split": curves.main_split, "family": ALL}
        table = probe_table(curves, **wanted)
        svg = _svg(
            curves.arms,
            _by_arm(curves, metric="probe_recall", **wanted),
            PANEL,
            f"probes-{history}",
            "Probe recall over turns, with the published figures of Llama 2 as dotted lines",
            published=PUBLISHED,
        )
        if table and svg:
            found.append(Probes(history, svg, table))
    return found


def event_panels(curves: Curves, events: Sequence[Record]) -> list[Panel]:
    """Return for each event how the arms do at its turn and after it."""
    totals = [e for e in events if e["split"] == ALL and e["family"] == ALL]
    panels = []
    for history in curves.histories:
        known = dict.fromkeys(e["event"] for e in totals if e["history"] == history)
        # By number: in a file of cases an event may have any name.
        for number, event in enumerate(known):
            by_arm: dict[str, list[CurvePoint]] = {arm: [] for arm in curves.arms}
            for record in totals:
                if (record["history"], record["event"]) == (history, event):
                    by_arm.setdefault(record["arm"], []).append(_event_point(record))
            for points in by_arm.values():
                points.sort(key=lambda p: p.turn)
            arms = list(dict.fromkeys((*curves.arms, *by_arm)))
            title = _titled(event_name(event), history, curves)
            svg = _svg(
                arms, by_arm, PANEL, f"event-{history}-{number}", f"After {title}", SINCE_EVENT
            )
            if svg is not None:
                panels.append(Panel(title, EVENT_NOTES.get(event, ""), svg))
    return panels


def event_name(event: str) -> str:
    """Return what readers call an event."""
    return event.replace("_", " ").capitalize()


def _event_point(record: Record) -> CurvePoint:
    rate = record["rate"]
    return CurvePoint(
        arm=record["arm"],
        metric="adherence",
        history=record["history"],
        split=record["split"],
        family=record["family"],
        turn=record["turns_since"],
        rate=rate,
        low=record["low"],
        high=record["high"],
        num_dialogues=record["num_dialogues"],
        num_passed=record.get("num_passed", 0),
        num_decided=record.get("num_decided", 0),
        num_undecided=record.get("num_undecided", 0),
        pessimistic=record.get("pessimistic", rate or 0.0),
        optimistic=record.get("optimistic", rate or 0.0),
    )


def _titled(title: str, history: str, curves: Curves) -> str:
    """Return a heading that names the history where there are several."""
    if len(curves.histories) == 1:
        return title
    return f"{title}, {HISTORY_NAMES.get(history, history)}"


def _num_dialogues(by_arm: Mapping[str, Sequence[CurvePoint]]) -> str:
    most = max((p.num_dialogues for points in by_arm.values() for p in points), default=0)
    return f"{most} dialogue{'' if most == 1 else 's'}"
