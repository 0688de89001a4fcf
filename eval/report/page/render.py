"""The HTML report: one file without any link to the outside."""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import yaml
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from eval.records.samples import Sample
from eval.report.charts.curves import drawn_arms, hero, panels
from eval.report.charts.drawing import GLYPHS, NUM_STYLES
from eval.report.charts.loss import loss_charts
from eval.report.data.selection import (
    Curves,
    arm_name,
    headline,
    history_name,
)
from eval.report.data.transcripts import Transcripts, examples, packed, verdict_of
from eval.report.data.worst import worst_replies
from eval.report.tables.rated import rated_section
from eval.report.tables.sections import rate_table, table_sections
from gatt.data.ratings import Rating
from gatt.runs.atomic_file import atomic_stream

MARKS: Final[Mapping[str, str]] = {"pass": "\u2713", "fail": "\u2717", "undecided": "?"}
"""Beside a reply: its verdict."""
STYLES = ("base.css", "results.css", "transcripts.css", "print.css")
SCRIPTS = ("store.js", "filters.js", "ratings.js", "turns.js", "cards.js", "moving.js")
"""One script, in this order: what is used stands before what uses it."""
FACTS = {"name": 80, "model": 80, "adapter": 80, "time": 10}
"""Keys of `run` that the head of the page shows, and their most characters: of the time the day."""


def render_report(
    results: Mapping[str, Any],
    samples: Iterable[Sample],
    path: Path,
    ratings: Sequence[Rating] = (),
) -> None:
    """Write the report as one self-contained HTML file, replacing an older one whole.

    `results` is the value of `results.json`, `samples` the replies that the transcripts show, in any order.
    `ratings` of replies by hand get a section.

    Raises:
        DataError: `results` breaks its contract (see `Curves.of`), or what the samples raise.
    """
    _write(report_text(results, samples, ratings), path)


def _write(page: str, path: Path) -> None:
    with atomic_stream(path) as stream:
        # A lone surrogate in a table has no UTF-8 form.
        stream.write(page.encode("utf-8", "backslashreplace"))


def report_text(
    results: Mapping[str, Any], samples: Iterable[Sample], ratings: Sequence[Rating] = ()
) -> str:
    """Return the whole page; see `render_report`."""
    curves = Curves.of(results)
    context = _context(results, curves, Transcripts(curves.arms, samples), ratings)
    return _environment(curves.arms).get_template("page.html.j2").render(context)


def _environment(arms: Sequence[str]) -> Environment:
    """Return what renders the templates of a page with these arms, in order."""
    environment = Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    places = {arm: index for index, arm in enumerate(arms)}
    environment.globals.update(
        arm_name=arm_name,
        is_arm=lambda arm: arm in places,
        arm_style=lambda arm: places.get(arm, 0) % NUM_STYLES,
        arm_glyph=lambda arm: GLYPHS[places.get(arm, 0) % len(GLYPHS)],
        history_name=history_name,
        verdict_of=verdict_of,
        css=Markup("\n".join(map(_text, STYLES))),
    )
    return environment


def _text(name: str) -> str:
    """Return a file of the page as it stands."""
    folder = "templates" if name.endswith(".j2") else "assets"
    return (files("eval.report.page") / folder / name).read_text(encoding="utf-8")


def _context(
    results: Mapping[str, Any],
    curves: Curves,
    transcripts: Transcripts,
    ratings: Sequence[Rating],
) -> dict[str, Any]:
    """Return what the templates show."""
    answer = headline(curves)
    sections = table_sections(curves, results, answer.turn)
    if rated := rated_section(ratings, transcripts.cases):
        sections.insert(0, rated)
    run = results.get("run") or {}
    script = "\n".join(map(_text, SCRIPTS))
    trainings = results.get("training") or []
    facts = {str(run.get(key) or ""): most for key, most in FACTS.items()}
    return {
        "answer": answer,
        "mark": MARKS,
        "facts": curves.runs or [text[:most] for text, most in facts.items() if text],
        "sizes": [(number, word) for word, number in transcripts.counts.items() if number],
        "curves": curves,
        "hero": hero(curves),
        "checks": results.get("checks") or [],
        "notes": results.get("notes") or [],
        "examples": examples(transcripts.cases, curves, answer),
        "worst": worst_replies(transcripts.cases, curves, answer),
        "loss": loss_charts(trainings, curves.arms),
        "trained": [t["arm"] for t in trainings],
        "panels": panels(curves),
        "drawn": drawn_arms(curves),
        "first_sections": [section for section in sections if section.is_first],
        "sections": [section for section in sections if not section.is_first],
        "triggers": results.get("false_triggers"),
        "rates": [table for m in curves.metrics if (table := rate_table(curves, m))],
        "runs": _runs(run, curves.runs),
        "cases": Markup(packed(transcripts.as_dict())) if transcripts.cases else None,
        "script": Markup(script),
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }


def _runs(run: Mapping[str, Any], names: Sequence[str] = ()) -> list[dict[str, str]]:
    """Return where each run comes from: its name, its command, and all else as YAML.

    With `names` the runs stand in `run` under their names.
    """
    runs = []
    for name, values in ({n: run[n] for n in names if n in run} or {"": run}).items():
        words = values.get("command") or ""
        command = words if isinstance(words, str) else shlex.join(map(str, words))
        rest = {key: value for key, value in values.items() if key != "command"}
        facts = yaml.safe_dump(rest, sort_keys=False, allow_unicode=True) if rest else ""
        runs.append({"name": name, "command": command, "facts": facts})
    return runs
