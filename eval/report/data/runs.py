"""Runs read from their folders, and several of them joined for one page."""

from __future__ import annotations

import logging
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from eval.config import RUN_MARK
from eval.metrics.paired import differences
from eval.metrics.table import VACUOUS
from eval.records.samples import (
    RESULTS_FILE,
    RESULTS_SCHEMA,
    ROLLOUTS_FILE,
    SAMPLES_FILES,
    Sample,
    read_samples,
    samples_of_run,
)
from eval.report.data.selection import Curves, split_arm
from gatt.errors import DataError
from gatt.runs.input_file import read_json

log = logging.getLogger(__name__)

Record = Mapping[str, Any]
"""One of a list of `results.json`."""
LISTS: Final = ("differences", "agreement", "limits", "retention", "failures", "parts", "training")
"""Lists of a `results.json` beside the curves; all are optional."""
ARMS: Final = ("arm", "baseline")
"""Keys of their records that name an arm."""


@dataclass(frozen=True)
class Run:
    """One evaluation that stands on disk."""

    name: str
    folder: Path
    results: Mapping[str, Any]


def read_runs(
    words: Sequence[str], evaluation_of: Callable[[Path], Path] = lambda folder: folder
) -> list[Run]:
    """Return the runs that the words name: `NAME=FOLDER`, or a folder, whose name is then taken.

    `evaluation_of` returns the folder of the evaluation of a given folder.

    Raises:
        DataError: a missing or broken file, or two runs of one name; or what `evaluation_of` raises.
    """
    runs: dict[str, Run] = {}
    for word in words:
        name, equals, rest = word.partition("=")
        is_named = bool(equals and name) and not Path(word).exists()
        folder = Path(rest if is_named else word)
        evaluation = evaluation_of(folder)
        results = _read(evaluation / RESULTS_FILE, RESULTS_SCHEMA, "gatt eval")
        name = name if is_named else folder.resolve().name
        if name in runs:
            raise DataError(
                f"{folder}: its name {name!r} is that of {runs[name].folder} already: expected "
                f"different names, give one as NAME={folder}"
            )
        runs[name] = Run(name, evaluation, results)
    return list(runs.values())


def _read(path: Path, schema: int, command: str) -> dict[str, Any]:
    try:
        content = read_json(path)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: {why}: expected a file that `{command}` wrote") from None
    version = content.get("schema") if isinstance(content, dict) else None
    if version != schema:
        raise DataError(
            f"{path}: schema is {version!r}: expected {schema}, make it again with `{command}`"
        )
    return dict(_renamed(content)) if schema == RESULTS_SCHEMA else dict(content)


EARLIER_NAMES: Final = {"adherence": "keeps", "vacuous_adherence": "vacuous_keeps",
                        "adherence_loose": "keeps_loose",
                        "adherence_since_switch": "keeps_since_switch"}  # fmt: skip
"""Metrics of 0.1.0, whose finished runs a report still reads, and what they are called now."""


def _renamed(results: dict[str, Any]) -> dict[str, Any]:
    """Return the results with today's names of the metrics."""
    lists = {
        name: [
            record | {"metric": EARLIER_NAMES.get(record["metric"], record["metric"])}
            for record in results.get(name) or []
        ]
        for name in ("curves", "differences", "agreement")
    }
    return results | {name: records for name, records in lists.items() if name in results}


def joined(runs: Sequence[Run]) -> Mapping[str, Any]:
    """Return the results of all runs as those of one; the names of arms begin with that of their run.

    The results of a single run are returned unchanged.
    """
    if len(runs) == 1:
        return runs[0].results
    all_results: dict[str, Any] = {"schema": RESULTS_SCHEMA, "run": {}, "checks": [], "notes": []}
    for name in ("curves", *LISTS):
        all_results[name] = [
            record | {k: f"{run.name}{RUN_MARK}{record[k]}" for k in ARMS if k in record}
            for run in runs
            for record in run.results.get(name) or []
        ]
    for run in runs:
        all_results["run"][run.name] = run.results.get("run") or {}
        for name in ("checks", "notes"):
            all_results[name] += [f"{run.name}: {line}" for line in run.results.get(name) or []]
    curves = Curves.of(all_results)
    main = curves.find(history=curves.main_history, split=curves.main_split)
    shown = {split_arm(p.arm)[0] for p in main if p.metric not in VACUOUS.values()}
    for name in (run.name for run in runs if run.name not in shown):
        note = (
            f"{name} has no rates of {curves.caption}, which charts and tables of this page show: it is in "
            "none of them. Make a report of runs that have the same."
        )
        log.warning("%s", note)
        all_results["notes"].insert(0, note)
    return all_results


def samples_of(runs: Sequence[Run]) -> Iterator[Sample]:
    """Yield the replies of all runs, their arms named as `joined` names them."""
    for run in runs:
        samples = read_samples(samples_of_run(run.folder))
        if len(runs) > 1:
            samples = (replace(s, arm=f"{run.name}{RUN_MARK}{s.arm}") for s in samples)
        yield from samples


def compared(runs: Sequence[Run], baseline: str | None = None) -> list[dict[str, Any]]:
    """Return the paired differences of all arms from one of them, as the page names it.

    Without a baseline each arm is compared with the arm of its name in the first run. Pairs are the
    replies of the same dialogue, instruction and turn: runs of other cases have none.

    Raises:
        DataError: no reply of the baseline, or none that another arm has too; or see `read_samples`.
    """
    groups: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples_of(runs):
        of_first = f"{runs[0].name}{RUN_MARK}{split_arm(sample.arm)[1]}"
        groups[of_first if baseline is None else baseline].append(sample)
    records = [asdict(d) for first, samples in groups.items() for d in differences(samples, first)]
    if baseline is not None and not records:
        arms = ", ".join(dict.fromkeys(sample.arm for sample in groups[baseline]))
        raise DataError(
            f"--baseline {baseline}: no decided replies of this arm and another one to the same words: "
            f"expected one of {arms}"
        )
    return records


def refuse_own_files(targets: Iterable[Path | None], folders: Iterable[Path]) -> None:
    """Raise `DataError` for a target that is a file of a run, or that two things would be written to."""
    names = (RESULTS_FILE, ROLLOUTS_FILE, *SAMPLES_FILES)
    taken = {os.path.realpath(folder / name) for folder in folders for name in names}
    for target in filter(None, targets):
        place = os.path.realpath(target)
        if place in taken:
            raise DataError(
                f"{target}: a file of the run itself, or named twice: expected another to write to"
            )
        taken.add(place)
