"""What cards have in common: file, tags, and the section with the rates of a `results.json`. No torch here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from gatt.errors import DataError
from gatt.runs.input_file import read_json
from gatt.runs.store import read_records

CARD: Final = "README.md"
TAGS: Final = ("ghost-attention", "gatt")
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
_REMINDED: Final = re.compile(r"base\+reminder(_\d+)?")
_RATES: Final = (
    "Per cent with 95 % interval, and the number of dialogues. Fewer false triggers are better. "
    "Rules judged whether the replies keep the instruction, not whether they are good."
)
Record = Mapping[str, Any]


def evaluation_of(
    folder: Path, arm: str | None = None, adapter_digest: str | None = None
) -> tuple[str, Record]:
    """Return the section of a card with the rates of an arm and of the base model, and the run.

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
        run = raw["run"]
        adapters = list((run.get("config") or {}).get("adapters") or [_BASE])
        arm = arm or (adapters[0] if len(adapters) == 1 else "gatt")
        found = dict.fromkeys(record["arm"] for record in raw["curves"])
        section = (
            f"## Evaluation\n\n`gatt eval`, {_told(run)}.\n\n{_table(_chosen(raw['curves'], arm))}"
        )
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
    return f"{section}\n\n{_RATES}", run


def _check_adapter(folder: Path, arm: str, digest: str) -> None:
    if arm == _BASE or _REMINDED.fullmatch(arm):
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


def _chosen(curves: Sequence[Record], arm: str) -> list[Record]:
    """Return the totals over families of an arm and the base model."""
    found = [
        r
        for r in curves
        if r["arm"] in (arm, _BASE) and r["metric"] in METRICS and r["split"] in SPLITS
        and r["family"] == "all" and r["rate"] is not None
    ]  # fmt: skip
    # One split alone equals the total, and says more.
    if len({r["split"] for r in found} - {"all"}) == 1:
        found = [r for r in found if r["split"] != "all"]
    return found


def _told(run: Record) -> str:
    config = run.get("config") or {}
    parts = {key: run.get(key) for key in ("model", "seed", "commit", "hardware", "time")} | {
        "suite": config.get("suite"),
        "dialogues": (config.get("source") or {}).get("name"),
        "cases of a split": config.get("num_dialogues"),
        **(config.get("sampling") or {}),
    }
    return "; ".join(f"{name}: {value}" for name, value in parts.items() if value not in (None, ""))


def _table(records: Sequence[Record]) -> str:
    turns = sorted({record["turn"] for record in records})
    lines: dict[tuple[str, ...], dict[int, str]] = {}
    for r in records:
        bounds = "" if r["low"] is None else f" [{100 * r['low']:.0f}, {100 * r['high']:.0f}]"
        cells = lines.setdefault((r["history"], r["metric"], SPLITS[r["split"]], r["arm"]), {})
        cells[r["turn"]] = f"{100 * r['rate']:.0f}{bounds} ({r.get('num_dialogues', '?')})"
    rows = [
        ("history", "metric", "instructions", "arm", *(f"turn {turn}" for turn in turns)),
        (*["---"] * 4, *["---:"] * len(turns)),
        *((*names, *(cells.get(turn, "") for turn in turns)) for names, cells in sorted(lines.items())),
    ]  # fmt: skip
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
