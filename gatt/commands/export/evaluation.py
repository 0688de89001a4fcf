"""The rates of an adapter out of a `results.json`, for the table of a card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gatt.errors import DataError
from gatt.runs.input_file import read_json
from gatt.runs.store import read_records

RESULTS_FILE: Final = "results.json"
RESULTS_SCHEMA: Final = 3
"""The schema of `eval.report.data.selection`, which `gatt` does not import."""
METRICS: Final = ("adherence", "survival", "probe_recall", "task_completion", "false_trigger")
"""The metrics of a card."""
SPLITS: Final = {
    "all": "all instructions",
    "train": "seen",
    "heldout_value": "unseen value",
    "heldout_family": "unseen family",
}
_BASE: Final = "base"


@dataclass(frozen=True)
class Evaluation:
    """The rates of one arm, and those of the base model where the run measured them too."""

    arm: str
    run: Mapping[str, Any]
    """The key `run` of `results.json`."""
    records: tuple[Mapping[str, Any], ...]
    """Records of its key `curves`: totals over families with a rate."""


def read_evaluation(
    folder: Path, arm: str | None = None, adapter_digest: str | None = None
) -> Evaluation:
    """Return the evaluation of an arm.

    Args:
        folder: of `gatt eval`.
        arm: None takes the only adapter, `gatt` of several, and the base model without any.
        adapter_digest: of the adapter that the arm must be (`gatt.models.digest.adapter_digest`); replies
            of a server do not name their weights and are believed. None for any arm.

    Raises:
        DataError: no results, results of another schema, no such arm, or an arm without this adapter.
        StoreError: the roll-outs cannot be read.
    """
    path = folder / RESULTS_FILE
    try:
        raw = read_json(path)
        if raw["schema"] != RESULTS_SCHEMA:
            raise DataError(
                f"{path}: schema is {raw['schema']!r}: expected {RESULTS_SCHEMA}, evaluate again with this "
                "version"
            )
        adapters = list((raw["run"].get("config") or {}).get("adapters") or [_BASE])
        arm = arm or (adapters[0] if len(adapters) == 1 else "gatt")
        found = dict.fromkeys(record["arm"] for record in raw["curves"])
        records = _chosen(raw["curves"], arm)
    except OSError as error:
        raise DataError(
            f"{path}: cannot read: {error.strerror}: expected the output_dir of `gatt eval`"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DataError(f"{path}: broken: expected a file of `gatt eval`") from None
    if arm not in found:
        raise DataError(f"{path}: no arm {arm!r} (found: {', '.join(found)}): name one with arm")
    if adapter_digest is not None:
        _check_adapter(folder, arm, adapter_digest)
    return Evaluation(arm, raw["run"], records)


def _check_adapter(folder: Path, arm: str, digest: str) -> None:
    if arm in (_BASE, "base+reminder"):
        raise DataError(f"{folder}: arm {arm!r} has no adapter: expected the arm of this adapter")
    path = folder / "rollouts.jsonl"
    rows = read_records(path) if path.is_file() else ()
    first = next((row for row in rows if str(row.get("key")).startswith(f"{arm}/")), {})
    weights = str(first.get("weights", ""))
    if weights and weights != digest and not weights.startswith("served as"):
        raise DataError(
            f"{path}: arm {arm!r} is an adapter with digest {weights}, this one has {digest}: expected an "
            "evaluation of the same adapter"
        )


def _chosen(curves: list[Mapping[str, Any]], arm: str) -> tuple[Mapping[str, Any], ...]:
    found = [
        r
        for r in curves
        if r["arm"] in (arm, _BASE) and r["metric"] in METRICS and r["split"] in SPLITS
        and r["family"] == "all" and r["rate"] is not None
    ]  # fmt: skip
    # One split alone equals the total, and says more.
    if len({r["split"] for r in found} - {"all"}) == 1:
        found = [r for r in found if r["split"] != "all"]
    return tuple(found)
