"""The lists of a `results.json` beside its curves: all are optional, none may be broken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatt.errors import DataError

Record = Mapping[str, Any]

KEYS: Mapping[str, tuple[str, ...]] = {
    "differences": (
        "arm", "baseline", "metric", "history", "split", "turn", "difference", "low", "high",
        "num_dialogues",
    ),
    "events": (
        "arm", "history", "split", "family", "event", "turns_since", "rate", "low", "high",
        "num_dialogues",
    ),
    "summaries": (
        "arm", "metric", "history", "split", "family", "name", "value", "low", "high",
        "num_dialogues",
    ),
    "agreement": (
        "arm", "history", "metric", "num_both", "num_missing", "agreement", "kappa", "kappa_low",
        "kappa_high", "base_rate_rules", "base_rate_judge", "both_pass", "both_fail", "only_rules",
        "only_judge",
    ),
    "limits": (
        "arm", "history", "num_cases", "num_cases_cut", "first_turn", "num_replies_without",
    ),
    "coverage": ("constraint", "num", "by"),
}  # fmt: skip
"""List -> what each of its records must have. More keys are fine: readers of tables have them."""


def records(results: Mapping[str, Any], name: str) -> list[Record]:
    """Return one list of the results, empty where a small or an old run has none.

    Raises:
        DataError: no list, or a record that is no object or lacks a key.
    """
    found = results.get(name) or []
    if not isinstance(found, list):
        raise DataError(f"results: {name!r} is {type(found).__name__}: expected a list of records")
    for number, record in enumerate(found, start=1):
        if not isinstance(record, Mapping):
            raise DataError(
                f"results, {name} record {number}: found {type(record).__name__}: expected an object"
            )
        missing = [key for key in KEYS[name] if key not in record]
        if missing:
            raise DataError(
                f"results, {name} record {number}: no {missing[0]!r}: expected "
                f"{', '.join(KEYS[name])}"
            )
    return list(found)
