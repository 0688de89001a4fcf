"""Every table of the report, in the order in which a reader asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eval.report.data.headline import Headline
from eval.report.data.lists import LISTS, records
from eval.report.data.selection import Curves
from eval.report.tables.comparisons import (
    difference_tables,
    event_table,
    summary_table,
    trust_tables,
)
from eval.report.tables.probes import SOURCE, probe_tables
from eval.report.tables.rates import turn_tables
from eval.report.tables.table import Section

KINDS_LEAD = (
    "Seen: instructions of the training data. Unseen value: another value of a family that was trained. "
    "Unseen family: a kind of instruction that was never trained. Brackets are 95 % intervals. “58/97, 3?”: 58 "
    "of 97 decided replies passed, 3 are undecided; “worst” is the rate if these had failed."
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


def table_sections(curves: Curves, results: Mapping[str, Any], answer: Headline) -> list[Section]:
    """Return the tables that the run has data for, but for those of the rates over turns.

    Raises:
        DataError: see `records`.
    """
    turn = answer.turn
    lists = {name: records(results, name) for name in LISTS}
    kinds = turn_tables(curves, turn) if turn else []
    events = event_table(curves, lists["events"])
    compared = [
        *difference_tables(curves, lists["differences"], turn),
        summary_table(curves, lists["summaries"]),
    ]
    trust = trust_tables(lists["agreement"], lists["limits"], lists["coverage"])
    sections = [
        Section("kinds", f"What holds at turn {turn}", KINDS_LEAD, tuple(kinds)),
        Section("probes", "Asked outright", SOURCE, tuple(probe_tables(curves, turn))),
        Section("events", "When the user pulls away", EVENTS_LEAD, (events,) if events else ()),
        Section("compared", "Arms compared", COMPARED_LEAD, tuple(filter(None, compared))),
        Section("trust", "How far to trust this", TRUST_LEAD, tuple(trust)),
    ]
    return [section for section in sections if section.tables]
