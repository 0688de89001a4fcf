"""The rates of an adapter out of a `results.json`, for the table and the metadata of a card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gatt.errors import DataError
from gatt.models.base_card import hub_id
from gatt.runs.input_file import read_json
from gatt.runs.store import read_records

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

RESULTS_FILE: Final = "results.json"
RESULTS_SCHEMA: Final = 3
"""The schema of `eval.report.data.selection`, which `gatt` does not import."""
METRICS: Final = {
    "adherence": "Adherence",
    "survival": "Survival",
    "probe_recall": "Probe recall",
    "task_completion": "Task completion",
    "false_trigger": "False triggers",
}
"""The metrics of a card and their names."""
SPLITS: Final = {
    "all": "all instructions",
    "train": "seen",
    "heldout_value": "unseen value",
    "heldout_family": "unseen family",
}
_BASE: Final = "base"
_WITHOUT_ADAPTER: Final = (_BASE, "base+reminder")


@dataclass(frozen=True)
class Evaluation:
    """The rates of one arm, and those of the base model where the run measured them too."""

    arm: str
    run: Mapping[str, Any]
    """The key `run` of `results.json`."""
    records: tuple[Mapping[str, Any], ...]
    """Records of its key `curves`: totals over families with a rate."""


def read_evaluation(folder: Path, arm: str | None = None) -> Evaluation:
    """Return the evaluation of an arm.

    Args:
        folder: of `gatt eval`.
        arm: None takes the only adapter, `gatt` of several, and the base model without any.

    Raises:
        DataError: no results, results of another schema, or no such arm.
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
    return Evaluation(arm, raw["run"], records)


def adapter_evaluation(folder: Path, arm: str | None, digest: str) -> Evaluation:
    """Return the evaluation of an adapter, for its card.

    Replies of a server do not name their weights; they are believed.

    Args:
        folder: of `gatt eval`.
        arm: see `read_evaluation`.
        digest: of the adapter, see `gatt.models.digest.adapter_digest`.

    Raises:
        DataError: see `read_evaluation`; or the arm has no adapter, or another one.
        StoreError: the roll-outs cannot be read.
    """
    evaluation = read_evaluation(folder, arm)
    arm = evaluation.arm
    if arm in _WITHOUT_ADAPTER:
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
    return evaluation


def eval_results(evaluation: Evaluation) -> list[EvalResult]:
    """Return the rates of the adapter's arm as the hub's `model-index` has them."""
    from huggingface_hub import EvalResult

    config = evaluation.run.get("config") or {}
    suite = Path(str(config.get("suite") or "")).stem
    source = config.get("source") or {}
    # A hub id is shown, a local path is not.
    on_hub = hub_id(str(source.get("path"))) if source.get("name") == "hub" else None
    dialogues = "cases" if config.get("cases") else on_hub or source.get("name") or "dialogues"
    found = []
    for record in evaluation.records:
        if record["arm"] == evaluation.arm:
            # The hub takes results of one dataset type and config for one data set.
            subset = f"{record['history']} history, {SPLITS[record['split']]}"
            metric, turn = record["metric"], record["turn"]
            details = {key: record.get(key) for key in ("low", "high", "num_dialogues")}
            found.append(
                EvalResult(
                    task_type="text-generation",
                    task_name="Keeping an instruction over many turns",
                    dataset_type=dialogues,
                    dataset_name=f"{f'gatt eval {suite}'.strip()}, {subset}",
                    dataset_config=subset,
                    metric_type=metric,
                    metric_name=f"{METRICS[metric]} at turn {turn}",
                    metric_value=round(record["rate"], 4),
                    metric_args={"turn": turn} | details,
                )
            )
    return found


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
