"""The evaluation of one arm out of a `results.json`: for the table and the metadata of a card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gatt.errors import DataError
from gatt.runs.input_file import read_text
from gatt.runs.nesting import parse_json
from gatt.runs.store import read_records

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

RESULTS_FILE: Final = "results.json"
RESULTS_SCHEMA: Final = 3
"""That of `eval.report.data.selection`, which this side does not import."""
ROLLOUTS_FILE: Final = "rollouts.jsonl"
METRICS: Final = {
    "adherence": "Adherence",
    "survival": "Survival",
    "probe_recall": "Probe recall",
    "task_completion": "Task completion",
    "false_trigger": "False triggers",
}
"""What a card tells, in this order."""
SPLITS: Final = {
    "all": "all instructions",
    "train": "seen",
    "heldout_value": "unseen value",
    "heldout_family": "unseen family",
}
TURNS: Final = (1, 2, 4, 6, 8, 20, 40, 50)
"""Turns that a card tells of, those of the paper's Table 30 among them; the last measured one comes too."""
_KEYS: Final = ("arm", "metric", "history", "split", "family", "turn", "rate", "low", "high")
_BASE: Final = "base"
_WITHOUT_ADAPTER: Final = (_BASE, "base+reminder")


@dataclass(frozen=True)
class Evaluation:
    """The rates of one arm, and of the base model where it was measured beside it."""

    arm: str
    run: Mapping[str, Any]
    """Where they come from, as `results.json` says."""
    records: tuple[Mapping[str, Any], ...]
    """Records of `curves`: totals over families at the turns of a card, each with a rate."""

    @property
    def histories(self) -> tuple[str, ...]:
        """The histories, `reference` before `own`."""
        return tuple(sorted({r["history"] for r in self.records}, reverse=True))

    @property
    def turns(self) -> tuple[int, ...]:
        """The turns, rising."""
        return tuple(sorted({r["turn"] for r in self.records}))

    def rows(self, history: str) -> Iterator[tuple[str, str, str, Mapping[int, Mapping[str, Any]]]]:
        """Yield metric, split, arm and the records by turn, ours before the base model's."""
        measured = {r["split"] for r in self.records} - {"all"}
        # One split alone is the total as well, and says more.
        splits = [s for s in SPLITS if s != "all" or len(measured) != 1]
        for metric in METRICS:
            for split in splits:
                for arm in dict.fromkeys((self.arm, _BASE)):
                    wanted = (arm, metric, history, split)
                    by_turn = {
                        r["turn"]: r
                        for r in self.records
                        if (r["arm"], r["metric"], r["history"], r["split"]) == wanted
                    }
                    if by_turn:
                        yield metric, split, arm, by_turn


def read_evaluation(folder: Path, arm: str | None = None) -> Evaluation:
    """Return the evaluation of an arm.

    Args:
        folder: of `gatt eval`, or its `results.json`.
        arm: which one; None takes the only adapter there is, or `gatt`.

    Raises:
        DataError: no results there, results of another form, or no such arm in them.
    """
    path = folder if folder.name == RESULTS_FILE else folder / RESULTS_FILE
    try:
        raw = parse_json(read_text(path))
        run = raw["run"]
        curves = [record for record in raw["curves"] if all(key in record for key in _KEYS)]
        names = list((run.get("config") or {}).get("adapters") or {})
    except OSError as error:
        raise DataError(
            f"{path}: cannot read: {error.strerror}: expected what `gatt eval` leaves in its output_dir"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DataError(f"{path}: broken: expected what `gatt eval` wrote") from None
    if raw.get("schema") != RESULTS_SCHEMA:
        raise DataError(
            f"{path}: schema is {raw.get('schema')!r}: expected {RESULTS_SCHEMA}, evaluate again with this "
            "version"
        )
    arm = arm or _only_arm(names, path)
    if arm not in {r["arm"] for r in curves}:
        found = ", ".join(dict.fromkeys(r["arm"] for r in curves)) or "none"
        raise DataError(f"{path}: no arm {arm!r} in it (found: {found}): name one with arm")
    measured = [
        r
        for r in curves
        if r["arm"] in (arm, _BASE)
        and r["metric"] in METRICS
        and r["split"] in SPLITS
        and r["family"] == "all"
        and r["rate"] is not None
    ]
    last = max((r["turn"] for r in measured), default=0)
    return Evaluation(arm, run, tuple(r for r in measured if r["turn"] in (*TURNS, last)))


def _only_arm(names: list[str], path: Path) -> str:
    if len(names) == 1:
        return names[0]
    if "gatt" in names:
        return "gatt"
    found = ", ".join(names) or "none"
    raise DataError(f"{path}: arms of adapters in it: {found}: name the one that is meant with arm")


def adapter_evaluation(folder: Path, arm: str | None = None) -> Evaluation:
    """Return the evaluation of an adapter's arm, for its card; see `read_evaluation`.

    Raises:
        DataError: the arm has no adapter, too.
    """
    if arm in _WITHOUT_ADAPTER:
        raise DataError(
            f"{folder}: arm {arm!r} has no adapter: its rates would stand on the card as this model's"
        )
    return read_evaluation(folder, arm)


def refuse_other_adapter(folder: Path, arm: str, digest: str) -> None:
    """Refuse an evaluation whose replies were made with other weights.

    Roll-outs that are not there, or came from a server, do not say.

    Args:
        folder: of `gatt eval`, or its `results.json`.
        arm: of the adapter in it.
        digest: of the adapter, see `gatt.models.digest.adapter_digest`.

    Raises:
        DataError: it speaks of another adapter.
        StoreError: the roll-outs cannot be read.
    """
    path = (folder.parent if folder.name == RESULTS_FILE else folder) / ROLLOUTS_FILE
    if not path.is_file():
        return
    for row in read_records(path):
        if str(row.get("key", "")).startswith(f"{arm}/"):
            weights = str(row.get("weights", ""))
            if weights and weights != digest and not weights.startswith("served as"):
                raise DataError(
                    f"{path}: arm {arm!r} is an adapter with digest {weights}, this one has {digest}: "
                    "expected an evaluation of the same adapter"
                )
            return


def eval_results(evaluation: Evaluation) -> list[EvalResult]:
    """Return the rates of our arm as the hub's `model-index` has them."""
    from huggingface_hub import EvalResult

    found = []
    source, dialogues = _data_set(evaluation.run)
    for history in evaluation.histories:
        for metric, split, arm, by_turn in evaluation.rows(history):
            if arm != evaluation.arm:
                continue
            for turn, record in sorted(by_turn.items()):
                details = {key: record.get(key) for key in ("low", "high", "num_dialogues")}
                found.append(
                    EvalResult(
                        task_type="text-generation",
                        task_name="Keeping an instruction over many turns",
                        dataset_type=source,
                        dataset_name=f"{dialogues}, {history} history, {SPLITS[split]}",
                        dataset_args={"history": history, "instructions": split},
                        # Results of one type and config are taken for one data set.
                        dataset_config=f"{history} history, {SPLITS[split]}",
                        metric_type=metric,
                        metric_name=f"{METRICS[metric]} at turn {turn}",
                        metric_value=round(float(record["rate"]), 4),
                        metric_args={"turn": turn} | {k: _rounded(v) for k, v in details.items()},
                    )
                )
    return found


def _data_set(run: Mapping[str, Any]) -> tuple[str, str]:
    """Return the identifier and the name of what was evaluated on."""
    config = run.get("config") or {}
    source = config.get("source") or {}
    identifier = str(source.get("name") or "dialogues")
    if config.get("cases"):
        identifier = "cases"
    elif source.get("path"):
        # A hub id stays one; of a local file the name is enough.
        path = str(source["path"])
        identifier = path if source.get("name") == "hub" and path[0] not in "./~" else identifier
    suite = Path(str(config["suite"])).stem if config.get("suite") else ""
    return identifier, f"gatt eval {suite}".strip()


def _rounded(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value
