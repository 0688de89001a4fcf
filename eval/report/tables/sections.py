"""Every table of the report, in the order in which a reader asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from eval.metrics.curves import ALL
from eval.report.data.selection import HISTORY_NAMES, Curves, few_turns, percent
from eval.report.tables.comparisons import (
    difference_tables,
    event_tables,
    summary_tables,
    trust_tables,
)
from eval.report.tables.rates import turn_tables
from eval.report.tables.table import EMPTY, Cell, Table, arm_cell, rate_cell, row

KINDS_LEAD = (
    "Seen: instructions of the training data. Unseen value: another value of a family that was trained. "
    "Unseen family: a kind of instruction that was never trained. Brackets are 95 % intervals. “58/97, 3?”: 58 "
    "of 97 decided replies passed, 3 are undecided; “worst” is the rate if these had failed."
)
SOURCE = (
    "Published by Llama 2 (arXiv:2307.09288, Table 30): human evaluation, another and far larger "
    "model, its own probes, no intervals. A landmark, not a baseline."
)
EVENTS_LEAD = (
    "Share of replies that do what they should at the turn of an event and after it: keep the instruction, "
    "or drop it where the user took it back. The last event counts; 2 stands for 2 and 3 turns after it, 4 "
    "for 4 to 7, 8 for all later turns."
)
COMPARED_LEAD = (
    "Paired differences: the same replies of the same cases under both arms, in percentage points, with "
    "95 % intervals. Turn “all” is one test of all replies of a curve: look there first. “p, adjusted” "
    "allows for reading all turns of the curve (Holm). “Could see” is the smallest difference that this "
    "sample shows four times in five at the 5 % level. Half-life: the first turn with under half "
    "of the replies adhering. Area: the mean rate over the turns. Recovery: the share of misses after which "
    "the next judged turn adheres again."
)
TRUST_LEAD = (
    "Kappa is agreement beyond chance: 0 is chance, 1 is perfect. A judge without a verdict is missing, never "
    "a fail. From the context limit of the model on there is no reply, and none is counted."
)
PUBLISHED: Mapping[str, Mapping[int, float]] = {
    "Llama 2, baseline": {2: 1.0, 4: 0.1, 6: 0.0, 20: 0.0},
    "Llama 2, GAtt": {2: 1.0, 4: 1.0, 6: 1.0, 20: 1.0},
}
"""Row of Table 30 -> turn -> rate: answers to probes such as "What is your favorite hobby?"."""
MOST_PROBE_TURNS = 9
"""Columns beside those of the paper; the table of rates has all of ours."""


class Section(NamedTuple):
    """Tables that answer one question."""

    id: str
    """The anchor on the page."""
    title: str
    lead: str
    tables: list[Table]


def table_sections(curves: Curves, results: Mapping[str, Any], turn: int | None) -> list[Section]:
    """Return the tables that the run has data for, but for those of the rates over turns.

    Args:
        curves: of the run.
        results: its `results.json`.
        turn: of the headline, None without one.
    """

    def records(name: str) -> list[Mapping[str, Any]]:
        return results.get(name) or []

    kinds = turn_tables(curves, turn) if turn else []
    differences = difference_tables(curves, records("differences"), turn)
    summaries = summary_tables(curves, records("summaries"))
    events = event_tables(curves, records("events"))
    trust = trust_tables(*map(records, ("agreement", "limits", "coverage")))
    sections = [
        Section("kinds", f"What holds at turn {turn}", KINDS_LEAD, kinds),
        Section("probes", "Asked outright", SOURCE, probe_tables(curves, turn)),
        Section("events", "When the user pulls away", EVENTS_LEAD, events),
        Section("compared", "Arms compared", COMPARED_LEAD, [*differences, *summaries]),
        Section("trust", "How far to trust this", TRUST_LEAD, trust),
    ]
    return [section for section in sections if section.tables]


def probe_tables(curves: Curves, turn: int | None) -> list[Table]:
    """Return probe recall of every arm at our turns and the paper's, a table for each history.

    The turn of the headline is shown where it was asked. Without probes there is no table.
    """
    theirs = {turn for rates in PUBLISHED.values() for turn in rates}
    tables = []
    for history in curves.histories:
        wanted = {"history": history, "split": curves.main_split, "family": ALL}
        points = curves.find(metric="probe_recall", **wanted)
        own = sorted({p.turn for p in points} - theirs)
        turns = sorted(theirs | set(few_turns(own, MOST_PROBE_TURNS, turn)))
        rows = []
        for arm in curves.arms:
            by_turn = {p.turn: p for p in points if p.arm == arm}
            cells = (rate_cell(by_turn.get(t), has_counts=False) for t in turns)
            if by_turn:
                rows.append(row(arm_cell(arm), *cells))
        for name, rates in PUBLISHED.items():
            cells = (Cell(f"{percent(rates[t])} %") if t in rates else EMPTY for t in turns)
            rows.append(row(f"{name} (published)", *cells))
        title = "Probe recall beside Llama 2's Table 30"
        heads = ("arm", *(f"turn {t}" for t in turns))
        if points:
            note = HISTORY_NAMES[history]
            tables.append(Table(title, heads, tuple(rows), note, is_folded=False))
    return tables
