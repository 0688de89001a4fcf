"""The section of a card with the rates of an adapter in an evaluation. No torch here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from gatt.errors import DataError
from gatt.runs.input_file import read_json
from gatt.runs.store import read_records

CARD: Final = "README.md"
RESULTS_SCHEMA: Final = 3
"""That of `eval.records.samples`, which `gatt` may not import."""
METRICS: Final = (
    "joint", "keeps", "answers", "told", "survival", "probe_recall", "false_trigger", "answers_plain",
)  # fmt: skip
SPLITS: Final = {
    "all": "all instructions", "train": "seen", "heldout_value": "unseen value",
    "heldout_family": "unseen family",
}  # fmt: skip
_RATES: Final = (
    "Per cent with 95 % interval, and the number of dialogues. Fewer false triggers are better. "
    "Rules judged whether the replies keep the instruction, and answer where a turn expects an answer."
)


def evaluation_of(folder: Path, adapter_digest: str) -> str:
    """Return the section with the rates of an adapter and of the base model.

    The replies in the folder say which arm has the digest of the adapter.

    Raises:
        DataError: no results, broken ones, or none of this adapter.
    """
    path, rollouts = folder / "results.json", folder / "rollouts.jsonl"
    try:
        raw = read_json(path)
        if raw["schema"] != RESULTS_SCHEMA:
            raise ValueError(f"schema {raw['schema']!r}, not {RESULTS_SCHEMA}")
        rows = read_records(rollouts) if rollouts.is_file() else ()
        keys = (str(row.get("key")) for row in rows if row.get("weights") == adapter_digest)
        table = _table(raw["curves"], next(keys, "").partition("/")[0])
        names = ("model", "seed", "commit", "hardware", "time")
        settings = "; ".join(
            f"{name}: {raw['run'][name]}" for name in names if raw["run"].get(name)
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        said = " ".join(str(error).split())
        raise DataError(f"{path}: broken ({said}): expected a folder of `gatt eval`") from None
    if not table:
        raise DataError(
            f"{rollouts}: no rates of an adapter with digest {adapter_digest}: expected an evaluation of "
            "the same adapter"
        )
    return f"## Evaluation\n\n`gatt eval`, {settings}.\n\n{table}\n\n{_RATES}"


def _table(curves: Sequence[Mapping[str, Any]], arm: str) -> str:
    """Return the totals over families of an arm and the base model; empty where there is no such arm."""
    records = [
        r
        for r in curves
        if r["arm"] in (arm, "base") and r["metric"] in METRICS and r["split"] in SPLITS
        and r["family"] == "all" and r["rate"] is not None
    ]  # fmt: skip
    if not any(r["arm"] == arm for r in records):
        return ""
    # One split alone equals the total, and says more.
    if len({r["split"] for r in records} - {"all"}) == 1:
        records = [r for r in records if r["split"] != "all"]
    turns = sorted({r["turn"] for r in records})
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
