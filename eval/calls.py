"""Which calls made the replies of a folder: an arm may be added on another machine, by other code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from eval.config import EvalConfig
from gatt.errors import StoreError
from gatt.provenance import provenance
from gatt.records import atomic_write_json

FILE: Final = "calls.json"
SAME: Final = ("commit", "hardware", "python", "versions")
"""What two calls share that may be told as one."""


def head(config: EvalConfig) -> dict[str, Any]:
    """Return where the results of this process come from; short texts first, as the report shows them."""
    found = provenance()
    commit = found.pop("commit") or {}
    state = "" if commit.get("is_clean", True) else " with uncommitted changes"
    memory = f"{found['memory_gib']:.0f} GiB" if found["memory_gib"] else ""
    hardware = [*found["gpus"], found["cpu"], f"{found['num_cpus']} cores", memory]
    return {
        "name": config.output_dir.name,
        "model": config.engine.model,
        "seed": config.seed,
        "commit": f"{commit['id'][:12]}{state}" if commit.get("id") else "",
        "hardware": ", ".join(part for part in hardware if part),
        **found,
    }


def add_call(config: EvalConfig, arms: Sequence[str]) -> None:
    """Write down that this process is about to make replies of some arms.

    Raises:
        StoreError: the file is broken or cannot be written.
    """
    calls = read_calls(config.output_dir)
    new = head(config) | {"arms": list(arms)}
    if calls and all(calls[-1].get(key) == new[key] for key in SAME):
        calls[-1]["arms"] = list(dict.fromkeys([*calls[-1]["arms"], *arms]))
    else:
        calls.append(new)
    write_calls(config.output_dir, calls)


def write_calls(folder: Path, calls: Sequence[Mapping[str, Any]]) -> None:
    """Write the calls that made the replies of a folder.

    Raises:
        StoreError: the file cannot be written.
    """
    atomic_write_json(folder / FILE, list(calls))


def read_calls(folder: Path) -> list[dict[str, Any]]:
    """Return the calls that made the replies of a folder, in order; none where no file says so.

    Raises:
        StoreError: the file is broken.
    """
    path = folder / FILE
    if not path.exists():
        return []
    try:
        found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        if all(isinstance(call["arms"], list) for call in found):
            return found
    except (ValueError, KeyError, TypeError):
        pass
    raise StoreError(f"{path}: broken: expected a list of calls, each with its arms: delete it")


def run_head(config: EvalConfig) -> dict[str, Any]:
    """Return the head of `results.json`: the last call's, with all calls where they differ."""
    asked = [c for c in read_calls(config.output_dir) if set(c["arms"]) & set(config.arms)]
    if not asked:
        return head(config)
    run = {key: value for key, value in asked[-1].items() if key != "arms"}
    # Of an arm that was added later nothing was judged again.
    run |= next(({"judged_again": c["judged_again"]} for c in asked if "judged_again" in c), {})
    if len(asked) > 1:
        run["calls"] = [{key: call.get(key) for key in ("arms", *SAME)} for call in asked]
    return run


def note_of_calls(run: Mapping[str, Any]) -> list[str]:
    """Return notes where arms come from other code or machines, or were judged again."""
    calls, notes = run.get("calls", []), []
    if again := run.get("judged_again"):
        notes.append(
            "Replies of an earlier run (its commit stands above) are judged again by the rules of commit "
            f"{again['commit'] or 'unknown'}."
        )
    if not calls:
        return notes
    told = "; ".join(
        f"{', '.join(call['arms'])}: commit {call['commit'] or 'unknown'}, {call['hardware']}"
        for call in calls
    )
    return [
        *notes,
        f"The replies were made in {len(calls)} calls by other code or on other machines ({told}).",
    ]
