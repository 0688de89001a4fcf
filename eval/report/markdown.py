"""The tables of a run as GitHub Markdown, for a README or a model card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eval.metrics.curves import ALL
from eval.report.data.headline import NO_BREAK, headline, percent, rate_with_interval
from eval.report.data.lists import Record, records
from eval.report.data.selection import Curves, arm_name, metric_name, turn_name
from eval.report.page.sections import event_name, heat_maps
from eval.report.tables.comparisons import (
    SUMMARY_NAMES,
    agreement_rows,
    coverage_totals,
    difference_tables,
    summary_rows,
)
from eval.report.tables.probes import SOURCE, probe_table
from eval.report.tables.rates import caption, headline_tables, legend, texts

Lines = Iterator[str]


def markdown_tables(results: Mapping[str, Any]) -> str:
    """Return the verdict and the tables that the run has data for.

    Raises:
        DataError: see `Curves.of` and `records`.
    """
    curves = Curves.of(results)
    lines = [headline(curves).sentence, ""]
    for part in (_rates, _families, _probes):
        lines += part(curves)
    lines += _events(curves, records(results, "events"))
    lines += _summaries(curves, records(results, "summaries"))
    lines += _differences(curves, records(results, "differences"))
    lines += _agreement(records(results, "agreement"))
    lines += _limits(records(results, "limits"))
    lines += _coverage(records(results, "coverage"))
    return "\n".join(lines).replace(NO_BREAK, " ").rstrip() + "\n"


def _table(
    title: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    num_texts: int = 1,
    note: str = "",
) -> Lines:
    """Yield a table with its heading; behind `num_texts` columns of words stand numbers."""
    yield from (f"**{title}**{note and f' ({note})'}", "", _line(heads))
    yield _line(["---"] * num_texts + ["---:"] * (len(heads) - num_texts))
    yield from map(_line, rows)
    yield ""


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _rates(curves: Curves) -> Lines:
    tables = [t for t in headline_tables(curves) if t.metric != "probe_recall"]
    for table in tables:
        heads = ["arm", *(turn_name(table.metric, t) for t in table.turns), "half-life"]
        rows = [texts(row, " ") for row in table.rows]
        yield from _table(metric_name(table.metric), heads, rows, note=caption(curves))
    if tables:
        yield from (legend(curves), "")


def _families(curves: Curves) -> Lines:
    for heat in heat_maps(curves):
        if heat.history == curves.main_history:
            rows = [
                [family, *(percent(c.rate) if c else "" for c in cells)]
                for family, cells in heat.rows
            ]
            heads = ["family", *(f"turn {t}" for t in heat.turns)]
            title = f"Adherence of {arm_name(heat.arm)} by family"
            yield from _table(title, heads, rows, note="all instructions; per cent")


def _probes(curves: Curves) -> Lines:
    wanted = {"history": curves.main_history, "split": curves.main_split, "family": ALL}
    table = probe_table(curves, **wanted)
    if table is None:
        return
    rows = [
        [arm_name(arm), *(rate_with_interval(p) if p else "" for p in points)]
        for arm, points in table.ours
    ]
    rows += [
        [f"*{name}*", *("" if rate is None else f"*{percent(rate)} %*" for rate in rates)]
        for name, rates in table.published
    ]
    heads = ["", *(f"turn {t}" for t in table.turns)]
    yield from _table("Probe recall beside Llama 2's Table 30", heads, rows)
    yield from (SOURCE, "")


def _events(curves: Curves, events: Sequence[Record]) -> Lines:
    found = [
        e
        for e in events
        if (e["history"], e["split"], e["family"]) == (curves.main_history, ALL, ALL)
    ]
    since = sorted({e["turns_since"] for e in found})
    groups = dict.fromkeys((e["event"], e["arm"]) for e in found)
    rows = []
    for event, arm in groups:
        rates = {
            e["turns_since"]: e["rate"] for e in found if (e["event"], e["arm"]) == (event, arm)
        }
        cells = [percent(rates[t]) if t in rates else "" for t in since]
        rows.append([event_name(event), arm_name(arm), *cells])
    if rows:
        heads = ["event", "arm", *("at it" if t == 0 else f"{t} later" for t in since)]
        yield from _table("Adherence after an event", heads, rows, 2, "per cent")


def _summaries(curves: Curves, summaries: Sequence[Record]) -> Lines:
    rows = []
    for row in summary_rows(curves, summaries):
        cells = [" ".join(row.cells.get(name, ("", ""))) for name in SUMMARY_NAMES]
        rows.append([metric_name(row.metric), row.where, arm_name(row.arm), *cells])
    heads = ["metric", "instructions", "arm", *SUMMARY_NAMES.values()]
    if rows:
        yield from _table("Curves in one number, with 95 % interval", heads, rows, 3)


def _differences(curves: Curves, differences: Sequence[Record]) -> Lines:
    for metric, rows in difference_tables(curves, differences):
        heads = ["arm", "less", "instructions", "turn", "points", "95 %", "p", "p, adjusted",
                 "could see", "dialogues"]  # fmt: skip
        cells = [
            [arm_name(r.arm), arm_name(r.baseline), r.where,
             r.turn, r.text, r.interval,
             r.p_value, r.p_adjusted, r.detectable, str(r.num_dialogues)]
            for r in rows
        ]  # fmt: skip
        yield from _table(f"Paired differences of {metric_name(metric).lower()}", heads, cells, 3)


def _agreement(agreement: Sequence[Record]) -> Lines:
    heads = ["metric", "arm", "judged by both", "no verdict", "agreement", "kappa"]
    rows = [
        [metric_name(r["metric"]), arm_name(r["arm"]), str(r["num_both"]), str(r["num_missing"]),
         f"{percent(r['agreement'])} %", f"{r['kappa_text']} {r['kappa_interval']}".strip()]
        for r in agreement_rows(agreement)
    ]  # fmt: skip
    if rows:
        yield from _table("Judge model against rules", heads, rows, 2)


def _limits(limits: Sequence[Record]) -> Lines:
    heads = ["arm", "history", "cases", "reached the limit", "first at turn", "replies missing"]
    rows = [
        [arm_name(r["arm"]), r["history"], *(str("" if r[k] is None else r[k]) for k in
         ("num_cases", "num_cases_cut", "first_turn", "num_replies_without"))]
        for r in limits
    ]  # fmt: skip
    if rows:
        yield from _table("Context limit", heads, rows, 2)


def _coverage(coverage: Sequence[Record]) -> Lines:
    rows = [[by, str(num), f"{percent(share)} %"] for by, num, share in coverage_totals(coverage)]
    if rows:
        heads = ["judged by", "constraints", "share"]
        yield from _table("Who judges the imported constraints", heads, rows)
