"""Which calls made the replies of a folder: an arm may be added later, on another machine or by other code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from eval.config import EvalConfig
from gatt.errors import StoreError
from gatt.runs.atomic_file import atomic_write_json
from gatt.runs.input_file import read_json
from gatt.runs.provenance import cores, provenance

FILE: Final = "calls.json"
AGAIN: Final = "judged_again"
"""In a call whose replies are an earlier run's: commit, time and command of what judged them."""
SAME: Final = ("commit", "hardware", "python", "versions")
"""Keys whose equality makes two calls one record."""


def head(config: EvalConfig) -> dict[str, Any]:
    """Return where the results of this process come from; short texts first, as the report shows them."""
    made_by = provenance()
    commit = made_by.pop("commit") or {}
    state = "" if commit.get("is_clean", True) else " with uncommitted changes"
    memory = f"{made_by['memory_gib']:.0f} GiB" if made_by["memory_gib"] else ""
    hardware = [*made_by["gpus"], made_by["cpu"], cores(made_by["num_cpus"]), memory]
    return {
        "name": config.output_dir.name,
        "model": config.engine.model,
        "seed": config.seed,
        "commit": f"{commit['id'][:12]}{state}" if commit.get("id") else "",
        "hardware": ", ".join(part for part in hardware if part),
        **made_by,
    }


def add_call(config: EvalConfig, arms: Sequence[str]) -> None:
    """Record that this process is about to make replies of some arms, or to judge them again."""
    calls, now = read_calls(config.output_dir), head(config)
    if config.replies_from is not None:
        again = {
            "name": now["name"],
            AGAIN: {key: now[key] for key in ("commit", "time", "command")},
        }
        made = read_calls(config.replies_from)
        recorded = {arm for call in made for arm in call["arms"]}
        unknown = {**now, **dict.fromkeys(SAME, ""), "arms": [a for a in arms if a not in recorded]}
        before = [
            call | {"arms": [a for a in call["arms"] if AGAIN not in call or a not in arms]}
            for call in calls
        ]
        made = [call | again | {"arms": [a for a in call["arms"] if a in arms]} for call in made]
        calls = [call for call in (*before, *made, unknown | again) if call["arms"]]
    elif calls and AGAIN not in calls[-1] and all(calls[-1].get(key) == now[key] for key in SAME):
        calls[-1]["arms"] = list(dict.fromkeys([*calls[-1]["arms"], *arms]))
    else:
        calls.append(now | {"arms": list(arms)})
    atomic_write_json(config.output_dir / FILE, calls)


def forget_calls(folder: Path) -> None:
    """Delete the record of calls of a folder without replies."""
    (folder / FILE).unlink(missing_ok=True)


def read_calls(folder: Path) -> list[dict[str, Any]]:
    """Return the calls that made the replies of a folder, in order; raises `StoreError` for a broken file."""
    path = folder / FILE
    if not path.exists():
        return []
    try:
        calls: list[dict[str, Any]] = read_json(path)
        if all(isinstance(call["arms"], list) for call in calls):
            return calls
    except (ValueError, KeyError, TypeError):
        pass
    raise StoreError(f"{path}: broken: expected a list of calls, each with its arms: delete it")


def run_head(config: EvalConfig) -> dict[str, Any]:
    """Return the head of `results.json`: that of the last call, with all calls if they differ.

    `counted_at` is the commit that computed the metrics, if the replies are of another commit.
    """
    asked = [c for c in read_calls(config.output_dir) if set(c["arms"]) & set(config.arms)]
    if not asked:
        return head(config)
    run = {key: value for key, value in asked[-1].items() if key != "arms"}
    if len(asked) > 1:
        run["calls"] = [{key: call.get(key) for key in ("arms", *SAME, AGAIN)} for call in asked]
    if (counted := head(config)["commit"]) != run["commit"]:
        run["counted_at"] = counted
    return run


def note_of_calls(run: Mapping[str, Any]) -> list[str]:
    """Return notes where arms come from other code or machines, or were judged again."""
    calls, notes = run.get("calls", []), []
    if again := [call for call in calls or [run] if call.get(AGAIN)]:
        whose = sorted({arm for call in again for arm in call.get("arms", [])}) or ["all arms"]
        notes.append(
            f"Replies of an earlier run ({', '.join(whose)}), judged again by the rules of commit "
            f"{again[-1][AGAIN]['commit'] or 'unknown'}; commit and machine of this run made them."
        )
    if calls:
        listed = "; ".join(
            f"{', '.join(call['arms'])}: commit {call['commit'] or 'unknown'}, {call['hardware']}"
            for call in calls
        )
        made = f"in {len(calls)} calls by other code or on other machines ({listed})"
        notes.append(f"The replies were made {made}.")
    return notes
