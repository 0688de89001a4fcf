"""Replies to other cases, or of other adapters, than those of an evaluation now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from eval.records.samples import RESULTS_FILE, ROLLOUTS_FILE
from eval.rollout.rejudge import WORDS
from eval.scoring.judge.run import JUDGEMENTS_FILE
from gatt.errors import StaleError
from gatt.runs.set_aside import copy_aside, keep_lines
from gatt.runs.store import meta_path, read_meta, take_lock

_INPUTS: Final = {"cases", WORDS, "false_triggers"}
"""Keys of the description of the rows that follow from dialogues and catalogue, not from settings."""


def refuse_other_cases(path: Path, described: Mapping[str, Any]) -> None:
    """Refuse to resume after rows of other cases, where no setting is another one.

    Args:
        path: of the rows.
        described: settings and digests, as the store describes the rows.

    Raises:
        StaleError: with the file.
        StoreError: the store's description is broken.
    """
    if not path.exists() or not path.stat().st_size or not meta_path(path).exists():
        return
    before = read_meta(path).get("describe") or {}
    # As it is read back from a file.
    now = json.loads(json.dumps(described))
    changed = {key for key in {**before, **now} if before.get(key) != now.get(key)}
    if changed and changed <= _INPUTS:
        raise StaleError(
            f"{path}: belongs to other cases, since dialogues or catalogue changed: choose another folder or "
            "delete it"
        )


def renew(folder: Path, arms: tuple[str, ...]) -> str:
    """Set aside the replies of some arms, or of all where none is named; return a line on them.

    Copies of the rows, the judge's verdicts and `results.json` stay under other names.

    Raises:
        StoreError: the folder is in use, or cannot be written.
    """
    path, judged = folder / ROLLOUTS_FILE, folder / JUDGEMENTS_FILE
    lock = take_lock(path)
    try:
        files = (file for file in (path, judged, folder / RESULTS_FILE) if file.exists())
        copies = [copy_aside(file).name for file in files]
        keep_lines(path, lambda row: bool(arms) and row["key"].partition("/")[0] not in arms)
        if judged.exists():
            keep_lines(judged, lambda row: bool(arms) and json.loads(row["key"])[1] not in arms)
    finally:
        lock.release()
    names = ", ".join(arms)
    what = f"the adapter of {names} changed: {names}" if arms else "the cases changed: every arm"
    return f"{what} replies anew; as it was: {', '.join(copies)}"
