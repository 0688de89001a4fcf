"""Runs read from their folders, and several of them joined for one page."""

from __future__ import annotations

import logging
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from eval.config import RUN_MARK
from eval.metrics.curves import VACUOUS
from eval.metrics.paired import differences
from eval.records.file_names import RESULTS_FILE, ROLLOUTS_FILE, SAMPLES_FILES, samples_of_run
from eval.records.samples import Sample, read_samples
from eval.report.data.lists import LISTS, read_object, records
from eval.report.data.selection import HISTORY_NAMES, SCHEMA, SPLIT_NAMES, Curves, split_arm
from eval.report.page.attention import read_attention
from gatt.errors import DataError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Run:
    """One evaluation that stands on disk."""

    name: str
    folder: Path
    results: Mapping[str, Any]

    @property
    def samples_file(self) -> Path:
        """Where its replies are."""
        return samples_of_run(self.folder)


def read_runs(words: Sequence[str], *, needs_samples: bool = True) -> list[Run]:
    """Return the runs that the words name: a folder, or `NAME=FOLDER`.

    A run that is given without a name is named after its folder.

    Raises:
        DataError: a missing or broken file, or two runs of one name.
    """
    runs: list[Run] = []
    for word in words:
        run = _read_run(word, needs_samples)
        same = next((r for r in runs if r.name == run.name), None)
        if same is not None:
            raise DataError(
                f"{run.folder}: its name {run.name!r} is that of {same.folder} already: expected "
                f"different names, give one as NAME={run.folder}"
            )
        runs.append(run)
    return runs


def _read_run(word: str, needs_samples: bool) -> Run:
    name, equals, rest = word.partition("=")
    is_named = bool(equals) and bool(name) and not Path(word).exists()
    folder = Path(rest if is_named else word)
    if folder.name == RESULTS_FILE:
        folder = folder.parent
    path = folder / RESULTS_FILE
    try:
        found = read_object(path, SCHEMA, "gatt eval")
    except FileNotFoundError:
        raise DataError(f"{path}: {_missing(folder)}") from None
    if attention := read_attention(folder):
        found["attention"] = attention
    run = Run(name if is_named else folder.resolve().name, folder, found)
    if needs_samples and not run.samples_file.is_file():
        raise DataError(
            f"{run.samples_file}: no such file: expected the replies of the run, or "
            "--no-transcripts for a report without them"
        )
    return run


def _missing(folder: Path) -> str:
    if not folder.is_dir():
        return "no such folder: expected the output_dir of `gatt eval`"
    inner = sorted(p.parent for p in folder.glob(f"*/{RESULTS_FILE}"))
    hint = f", such as {inner[0]}" if inner else ""
    return f"no such file: expected the output_dir of `gatt eval`{hint}"


def joined(runs: Sequence[Run]) -> Mapping[str, Any]:
    """Return the results of all runs as those of one; the names of arms begin with that of their run.

    The results of a single run are returned unchanged. Attention is shown for a single run only.
    """
    if len(runs) == 1:
        return runs[0].results
    found: dict[str, Any] = {"schema": SCHEMA, "run": {}, "notes": []}
    for name in ("curves", *LISTS):
        found[name] = [_of_run(r, run.name) for run in runs for r in records(run.results, name)]
    for run in runs:
        found["run"][run.name] = run.results.get("run") or {}
        found["notes"] += [f"{run.name}: {note}" for note in run.results.get("notes") or []]
    left_out = _left_out(Curves.of(found), [run.name for run in runs])
    for note in left_out:
        log.warning("%s", note)
    found["notes"] = [*left_out, *found["notes"]]
    return found


def _left_out(curves: Curves, names: Sequence[str]) -> list[str]:
    """Return a note for each run without rates in the one history and split that the page shows."""
    shown = {
        split_arm(point.arm)[0]
        for point in curves.find(history=curves.main_history, split=curves.main_split)
        if point.metric not in VACUOUS.values()
    }
    what = f"{HISTORY_NAMES[curves.main_history]}, {SPLIT_NAMES[curves.main_split]}"
    return [
        f"{name} has no rates of {what}, which charts and tables of this page show: it is in none of them. "
        "Make a report of runs that have the same."
        for name in names
        if name not in shown
    ]


def samples_of(runs: Sequence[Run]) -> Iterator[Sample]:
    """Yield the replies of all runs, their arms named as `joined` names them.

    Raises:
        DataError: see `read_samples`.
    """
    for run in runs:
        samples = read_samples(run.samples_file)
        if len(runs) > 1:
            samples = (replace(s, arm=_arm_of_run(run.name, s.arm)) for s in samples)
        yield from samples


def differences_from(runs: Sequence[Run], baseline: str) -> list[dict[str, Any]]:
    """Return the paired differences of every other arm from one of them.

    Args:
        runs: one or several.
        baseline: an arm, as the page names it.

    Raises:
        DataError: no reply of that arm, or none that another arm has too; or see `read_samples`.
    """
    samples = list(samples_of(runs))
    arms = list(dict.fromkeys(sample.arm for sample in samples))
    if baseline not in arms:
        raise DataError(
            f"--baseline {baseline}: no reply of such an arm in "
            f"{', '.join(str(run.folder) for run in runs)}: expected one of {', '.join(arms)}"
        )
    found = [asdict(difference) for difference in differences(samples, baseline)]
    if not found:
        raise DataError(
            f"--baseline {baseline}: no other arm has decided replies to the same words: expected one of "
            f"{', '.join(arms)} that has"
        )
    return found


def differences_between(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return the paired differences of each arm from the arm of that name in the first run.

    Pairs are the replies of the same dialogue, instruction and turn: runs of other cases have none.

    Raises:
        DataError: see `read_samples`.
    """
    by_arm: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples_of(runs) if len(runs) > 1 else ():
        by_arm[sample.arm.rpartition(RUN_MARK)[2]].append(sample)
    return [
        asdict(difference)
        for arm, samples in by_arm.items()
        for difference in differences(samples, _arm_of_run(runs[0].name, arm))
    ]


def _arm_of_run(run: str, arm: str) -> str:
    return f"{run}{RUN_MARK}{arm}"


def _of_run(record: Mapping[str, Any], run: str) -> dict[str, Any]:
    """Return a record with its arms renamed."""
    arms = {k: _arm_of_run(run, record[k]) for k in ("arm", "baseline") if k in record}
    return {**record, **arms}


def refuse_own_files(targets: Iterable[Path | None], folders: Iterable[Path]) -> None:
    """Refuse to write over what runs consist of, or two things into one file.

    Args:
        targets: files that are to be written; None is none.
        folders: of the runs.

    Raises:
        DataError: naming the file.
    """
    own = {
        os.path.realpath(folder / name)
        for folder in folders
        for name in (RESULTS_FILE, ROLLOUTS_FILE, *SAMPLES_FILES)
    }
    seen: set[str] = set()
    for target in targets:
        if target is None:
            continue
        place = os.path.realpath(target)
        if place in own:
            raise DataError(f"{target}: a file of the run itself: expected another to write to")
        if place in seen:
            raise DataError(f"{target}: named twice: expected a file for each")
        seen.add(place)
