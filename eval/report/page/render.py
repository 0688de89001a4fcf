"""The HTML report: one file without any link to the outside."""

from __future__ import annotations

import base64
import hashlib
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from eval.metrics.curves import ALL
from eval.records.samples import Sample
from eval.report.charts.drawing import NUM_STYLES, glyph_of
from eval.report.data.headline import bounds, counts, headline, interval, percent
from eval.report.data.lists import records
from eval.report.data.selection import (
    HISTORY_NAMES,
    SPLIT_NAMES,
    Curves,
    arm_name,
    metric_name,
    turn_name,
)
from eval.report.page.attention import attention_section
from eval.report.page.compressed import packed
from eval.report.page.sections import (
    HEAT_INK_FROM,
    event_panels,
    heat_maps,
    hero,
    hero_has_bands,
    measure_panels,
    probe_sections,
    split_panels,
    tiles,
)
from eval.report.page.transcripts import Transcripts
from eval.report.tables.comparisons import (
    SUMMARY_NAMES,
    agreement_rows,
    coverage_totals,
    difference_tables,
    summary_rows,
)
from eval.report.tables.probes import SOURCE
from eval.report.tables.rates import rate_table
from gatt.runs.atomic_file import atomic_stream

STYLES = ("base.css", "results.css", "transcripts.css", "print.css")
SCRIPTS = ("store.js", "filters.js", "cards.js", "turns.js", "moving.js")
"""One script, in this order: what is used stands before what uses it."""
FACTS = ("name", "model", "adapter", "time")
"""Keys of `run` that the head of the page shows, if they are there and short."""
MAX_FACT_LENGTH = 80


def render_report(results: Mapping[str, Any], samples: Iterable[Sample], path: Path) -> None:
    """Write the report as one self-contained HTML file, replacing an older one whole.

    Samples are taken one by one and the page is written piece by piece: memory
    does not grow with the length of the replies.

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


def report_html(results: Mapping[str, Any], samples: Iterable[Sample]) -> str:
    """Return the page as text; see `render_report`."""
    return "".join(report_pieces(results, samples))


def report_pieces(results: Mapping[str, Any], samples: Iterable[Sample]) -> Iterator[str]:
    """Yield the page from its beginning to its end; see `render_report`."""
    curves = Curves.of(results)
    with Transcripts(curves.arms) as transcripts:
        for sample in samples:
            transcripts.add(sample)
        context = _context(results, curves) | _transcript_context(transcripts)
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
    environment.filters.update(percent=percent, interval=interval, counts=counts)
    styles = {arm: index % NUM_STYLES for index, arm in enumerate(arms)}
    glyphs = {arm: glyph_of(index) for index, arm in enumerate(arms)}
    environment.globals.update(
        arm_name=arm_name,
        is_arm=lambda arm: arm in styles,
        arm_style=lambda arm: styles.get(arm, 0),
        arm_glyph=lambda arm: glyphs.get(arm, glyph_of(0)),
        bounds=bounds,
        metric_name=metric_name,
        turn_name=turn_name,
        history_names=HISTORY_NAMES,
        split_names=SPLIT_NAMES,
        summary_names=SUMMARY_NAMES,
        heat_ink_from=HEAT_INK_FROM,
        ALL=ALL,
    )
    return environment


def page_text(name: str) -> str:
    """Return a file of the page as it stands."""
    folder = "templates" if name.endswith(".j2") else "assets"
    return (files("eval.report.page") / folder / name).read_text(encoding="utf-8")


def _context(results: Mapping[str, Any], curves: Curves) -> dict[str, Any]:
    """Return what the templates show of the results."""
    verdict = headline(curves)
    run = results.get("run") or {}
    script = "\n".join(map(page_text, SCRIPTS))
    attention = results.get("attention")
    return {
        "verdict": verdict,
        "facts": _facts(run, curves),
        "curves": curves,
        "hero": hero(curves),
        "hero_has_bands": hero_has_bands(curves),
        "tiles": tiles(curves, verdict),
        "notes": results.get("notes") or [],
        "heat_maps": heat_maps(curves),
        "splits": split_panels(curves),
        "measures": measure_panels(curves),
        "probes": probe_sections(curves),
        "probe_source": SOURCE,
        "events": event_panels(curves, records(results, "events")),
        "differences": difference_tables(curves, records(results, "differences")),
        "summaries": summary_rows(curves, records(results, "summaries")),
        "agreement": agreement_rows(records(results, "agreement")),
        "limits": records(results, "limits"),
        "coverage": records(results, "coverage"),
        "coverage_totals": coverage_totals(records(results, "coverage")),
        "triggers": results.get("false_triggers"),
        "tables": [rate_table(curves, metric) for metric in curves.metrics],
        "runs": run_groups(run, curves.runs),
        "attention": attention and attention_section(attention, curves.arms),
        "css": Markup("\n".join(map(page_text, STYLES))),
        "script": Markup(script),
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }


def _transcript_context(transcripts: Transcripts) -> dict[str, Any]:
    sizes = [
        (transcripts.num_dialogues, "dialogues"),
        (transcripts.num_replies, "replies"),
        (transcripts.num_probes, "probes"),
        (transcripts.num_undecided, "undecided"),
    ]
    return {
        "sizes": [(number, word) for number, word in sizes if number],
        "index": Markup(packed(transcripts.index())) if len(transcripts) else None,
        "chunks": (Markup(packed(chunk)) for chunk in transcripts.chunks()),
    }


def _facts(run: Mapping[str, Any], curves: Curves) -> list[str]:
    if curves.runs:
        return list(curves.runs)
    texts = [str(run.get(key) or "") for key in FACTS]
    # Of the time the day is enough here; the whole of it stands below.
    texts = [t[:10] if k == "time" else t for k, t in zip(FACTS, texts, strict=True)]
    return [text for text in texts if 0 < len(text) < MAX_FACT_LENGTH]


def run_groups(run: Mapping[str, Any], names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return where each run comes from: its command, and its facts in groups of dotted keys.

    Args:
        run: of `results.json`; with `names` those of several runs.
        names: of the runs, where there are several.
    """
    named = {name: run[name] for name in names if name in run} or {"": run}
    found = []
    for name, values in named.items():
        words = values.get("command") or ""
        command = words if isinstance(words, str) else shlex.join(map(str, words))
        plain = {k: v for k, v in values.items() if not isinstance(v, Mapping) and k != "command"}
        groups = [("this run", _flat(plain))]
        groups += [(k, _flat(v)) for k, v in values.items() if isinstance(v, Mapping) and v]
        found.append({"name": name, "command": command, "groups": groups})
    return found


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
