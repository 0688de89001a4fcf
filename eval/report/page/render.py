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
from eval.report.charts.attention import MARKS, map_svgs, turns_svg
from eval.report.charts.curves import drawn_arms, hero, panels
from eval.report.charts.drawing import GLYPHS, NUM_STYLES
from eval.report.charts.loss import loss_charts
from eval.report.data.runs import Record
from eval.report.data.selection import (
    Curves,
    arm_name,
    bounds,
    headline,
    headline_turn,
    history_name,
    percent,
    signed,
)
from eval.report.data.transcripts import Transcripts, examples, packed, verdict_of
from eval.report.data.worst import worst_replies
from eval.report.tables.cells import Cell, Table, arm_cell, row
from eval.report.tables.rated import rated_section
from eval.report.tables.sections import rate_table, table_sections
from gatt.data.ratings import Rating
from gatt.runs.atomic_file import atomic_stream

HIDDEN: Final = "instruction"
"""What is hidden in the rows that the conclusion speaks of."""


def attention_section(data: Record, arms: Sequence[str]) -> dict[str, Any]:
    """Return the values of the section on attention; `arms` are all of the page, in order."""
    known = [*arms, *(arm for arm in data["arms"] if arm not in arms)]
    falls = data["unsighted"]["falls"]
    return {
        "data": data,
        "conclusion": conclusion(data),
        "maps": map_svgs(data, known),
        "svg": turns_svg(data, known),
        "falls": _fall_table(falls) if falls else None,
    }


def conclusion(data: Record) -> str:
    """Return what the study found in plain sentences: the shares of attention, and the causal check."""
    base, ours = data["arms"]
    said = []
    shares = {(r["arm"], r["turn"]): r["value"] for r in data["curves"] if r["metric"] == "mass"}
    if turns := {turn for arm, turn in shares if arm == ours and (base, turn) in shares}:
        turn = headline_turn(turns)
        one, other = (signed(shares[arm, turn], 1) for arm in (ours, base))
        said.append(
            f"At turn {turn}, {arm_name(ours)} pays {one} % of its attention to the instruction, the "
            f"{arm_name(base)} {other} %."
        )
    for fall in data["unsighted"]["falls"]:
        if (fall["arm"], fall["hidden"]) == (ours, HIDDEN) and fall["fall"] is not None:
            finding = "so its replies depend on it" if (fall["low"] or 0) > 0 else "no clear effect"
            interval = bounds(fall["low"], fall["high"])
            interval = interval and f"95 % interval of the fall {interval} points, "
            said.append(
                f"With the instruction hidden, {arm_name(ours)} follows it in {percent(fall['unsighted'])} of "
                f"100 last replies, with all tokens visible in {percent(fall['intact'])}: {finding} "
                f"({interval}{fall['num_pairs']} pairs)."
            )
    return " ".join(said)


def _fall_table(falls: Sequence[Record]) -> Table:
    heads = ("arm", "hidden", "kept, nothing hidden", "kept, hidden", "fall, points", "pairs",
             "other reply", "undecided")  # fmt: skip
    rows = tuple(
        row(arm_cell(f["arm"]), f["hidden"], f"{percent(f['intact'])} %",
            f"{percent(f['unsighted'])} %",
            Cell(signed(f["fall"], sign="+"), bounds(f["low"], f["high"])),
            f["num_pairs"], f"{f['num_changed']} of {f['num_replies']}", f["num_undecided"])
        for f in falls
    )  # fmt: skip
    return Table("With the instruction hidden", heads, rows, num_texts=2, is_folded=False)


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


def render_attention(data: Mapping[str, Any], path: Path) -> None:
    """Write the page of `gatt attend` alone, from the value of `attention.json`."""
    context = {"attention": attention_section(data, data["arms"]), "runs": _runs(data["run"])}
    template = _environment(data["arms"]).get_template("attention_page.html.j2")
    _write(template.render(context), path)


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
    attention = results.get("attention")
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
        "attention": attention and attention_section(attention, curves.arms),
        "cases": Markup(packed(transcripts.as_dict())) if transcripts.cases else None,
        "script": Markup(script),
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }


def _runs(run: Mapping[str, Any], names: Sequence[str] = ()) -> list[dict[str, str]]:
    """Return where each run comes from: its name, its command, and all else as YAML.

    With `names` the runs stand in `run` under their names.
    """
    found = []
    for name, values in ({n: run[n] for n in names if n in run} or {"": run}).items():
        words = values.get("command") or ""
        command = words if isinstance(words, str) else shlex.join(map(str, words))
        rest = {key: value for key, value in values.items() if key != "command"}
        facts = yaml.safe_dump(rest, sort_keys=False, allow_unicode=True) if rest else ""
        found.append({"name": name, "command": command, "facts": facts})
    return found
