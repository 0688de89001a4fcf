"""The HTML report: one file without any link to the outside."""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from eval.config import REMINDER
from eval.records.samples import Sample
from eval.report.charts.drawing import NUM_STYLES, glyph_of
from eval.report.data.headline import Headline, headline
from eval.report.data.selection import (
    BOUND_NOTE,
    HISTORY_NAMES,
    SPLIT_NAMES,
    Curves,
    arm_name,
    split_arm,
)
from eval.report.page.attention import attention_section
from eval.report.page.examples import RULE, examples
from eval.report.page.sections import hero, hero_has_bands, panels
from eval.report.page.transcripts import Transcripts, packed
from eval.report.tables.rates import rate_table
from eval.report.tables.sections import table_sections
from gatt.runs.atomic_file import atomic_stream

STYLES = ("base.css", "results.css", "transcripts.css", "print.css")
SCRIPTS = ("store.js", "filters.js", "turns.js", "cards.js", "moving.js")
"""One script, in this order: what is used stands before what uses it."""
FACTS = ("name", "model", "adapter", "time")
"""Keys of `run` that the head of the page shows, if they are there and short."""
MAX_FACT_LENGTH = 80


def render_report(results: Mapping[str, Any], samples: Iterable[Sample], path: Path) -> None:
    """Write the report as one self-contained HTML file, replacing an older one whole.

    Args:
        results: the value of `results.json`.
        samples: the replies that the transcripts show, in any order; may be empty.
        path: of the file; its folder is made.

    Raises:
        DataError: `results` breaks its contract (see `Curves.of` and `records`),
            or what the samples raise.
        StoreError: the file cannot be written.
    """
    with atomic_stream(path) as stream:
        for piece in report_pieces(results, samples):
            # A lone surrogate in a table has no UTF-8 form.
            stream.write(piece.encode("utf-8", "backslashreplace"))


def render_attention(data: Mapping[str, Any], path: Path) -> None:
    """Write the page of `gatt attend` alone, for dialogues that are no evaluation.

    Args:
        data: the value of `attention.json`.
        path: of the file; its folder is made.

    Raises:
        StoreError: the file cannot be written.
    """
    context = {"attention": attention_section(data, data["arms"]), "runs": run_facts(data["run"])}
    template = page_environment(data["arms"]).get_template("attention_page.html.j2")
    with atomic_stream(path) as stream:
        stream.write(template.render(context).encode("utf-8", "backslashreplace"))


def report_pieces(results: Mapping[str, Any], samples: Iterable[Sample]) -> Iterator[str]:
    """Yield the page from its beginning to its end; see `render_report`."""
    curves = Curves.of(results)
    context = _context(results, curves, Transcripts(curves.arms, samples))
    yield from page_environment(curves.arms).get_template("page.html.j2").generate(context)


def page_environment(arms: Sequence[str]) -> Environment:
    """Return what renders the templates of the page.

    Args:
        arms: all arms of the page, in order.
    """
    environment = Environment(
        loader=FunctionLoader(page_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    styles = {arm: index % NUM_STYLES for index, arm in enumerate(arms)}
    glyphs = {arm: glyph_of(index) for index, arm in enumerate(arms)}
    environment.globals.update(
        arm_name=arm_name,
        is_arm=lambda arm: arm in styles,
        arm_style=lambda arm: styles.get(arm, 0),
        arm_glyph=lambda arm: glyphs.get(arm, glyph_of(0)),
        history_names=HISTORY_NAMES,
        split_names=SPLIT_NAMES,
        css=Markup("\n".join(map(page_text, STYLES))),
    )
    return environment


def page_text(name: str) -> str:
    """Return a file of the page as it stands."""
    folder = "templates" if name.endswith(".j2") else "assets"
    return (files("eval.report.page") / folder / name).read_text(encoding="utf-8")


def _context(
    results: Mapping[str, Any], curves: Curves, transcripts: Transcripts
) -> dict[str, Any]:
    """Return what the templates show."""
    answer = headline(curves)
    run = results.get("run") or {}
    script = "\n".join(map(page_text, SCRIPTS))
    attention = results.get("attention")
    sizes = {
        "dialogues": transcripts.num_dialogues,
        "replies": transcripts.num_replies,
        "probes": transcripts.num_probes,
        "undecided": transcripts.num_undecided,
    }
    shown = examples(transcripts.cases, curves, answer)
    has_base = bool(shown) and len(shown[0].replies) > 1
    return {
        "answer": answer,
        "facts": _facts(run, curves),
        "sizes": [(number, word) for word, number in sizes.items() if number],
        "curves": curves,
        "hero": hero(curves),
        "hero_has_bands": hero_has_bands(curves),
        "notes": shown_notes(results.get("notes") or [], curves, answer),
        "examples": shown,
        "example_rule": RULE.format(
            ours=arm_name(answer.points[0].arm) if shown else "",
            theirs=" and the base model breaks" * has_base,
        ),
        "panels": panels(curves),
        "sections": table_sections(curves, results, answer),
        "triggers": results.get("false_triggers"),
        "rates": [table for m in curves.metrics if (table := rate_table(curves, m))],
        "runs": run_facts(run, curves.runs),
        "attention": attention and attention_section(attention, curves.arms),
        "index": Markup(packed(transcripts.index())) if transcripts.cases else None,
        "chunks": (Markup(packed(chunk)) for chunk in transcripts.chunks()),
        "script": Markup(script),
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }


def shown_notes(notes: Sequence[str], curves: Curves, answer: Headline) -> list[str]:
    """Return the notes without the one that calls the reminder an upper bound where it is at 0 %."""
    points = curves.find(turn=answer.turn, **curves.main)
    rates = [p.rate for p in points if split_arm(p.arm)[1] == REMINDER and p.rate is not None]
    is_bound = not rates or max(rates) >= 0.005
    return [note for note in notes if is_bound or not note.endswith(BOUND_NOTE)]


def _facts(run: Mapping[str, Any], curves: Curves) -> list[str]:
    if curves.runs:
        return list(curves.runs)
    texts = [str(run.get(key) or "") for key in FACTS]
    # Of the time the day is enough here; the whole of it stands below.
    texts = [t[:10] if k == "time" else t for k, t in zip(FACTS, texts, strict=True)]
    return [text for text in texts if 0 < len(text) < MAX_FACT_LENGTH]


def run_facts(run: Mapping[str, Any], names: Sequence[str] = ()) -> list[dict[str, str]]:
    """Return where each run comes from: its name, its command, and all else as YAML.

    Args:
        run: of `results.json`; with `names` those of several runs.
        names: of the runs, where there are several.
    """
    found = []
    for name, values in ({n: run[n] for n in names if n in run} or {"": run}).items():
        words = values.get("command") or ""
        command = words if isinstance(words, str) else shlex.join(map(str, words))
        rest = {key: value for key, value in values.items() if key != "command"}
        facts = yaml.safe_dump(rest, sort_keys=False, allow_unicode=True) if rest else ""
        found.append({"name": name, "command": command, "facts": facts})
    return found
