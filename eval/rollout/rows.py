"""The rows of `rollouts.jsonl`: an interrupted evaluation resumes from them.

With reference history a row holds the replies of one arm to one case, and so do the rows of an arm
without history. With own history it holds the replies to one turn, and also the reply to a turn that is
not judged, because the next turns read it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from eval.cases.asked_turns import judged_turns, last_turn
from eval.config import EvalConfig
from eval.records.arms import History, is_stepwise, slips_of
from eval.records.case import Case
from eval.records.samples import Sample
from gatt.errors import DataError, StaleError
from gatt.generation.base import Generation
from gatt.runs.store import parsed_records
from gatt.runs.values import ShapeError, typed


def row_keys(arm: str, history: History, case: Case, config: EvalConfig) -> list[str]:
    """Return the keys of all rows of a case, in order."""
    last, name = last_turn(case, config, arm, history), f"{arm}/{history}/{case.id}"
    if not is_stepwise(arm, history):
        return [name] if last else []
    return [f"{name}/{turn}" for turn in range(1 + slips_of(history), last + 1)]


def turns_of_row(arm: str, history: History, case: Case, config: EvalConfig) -> int:
    """Return how many replies to ordinary turns a row of a case holds."""
    return 1 if is_stepwise(arm, history) else len(judged_turns(case, config, arm, history))


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of `rollouts.jsonl`; a torn last line is skipped.

    Raises:
        DataError: with the line, for broken JSON or a row that is none of an evaluation.
    """
    return (row for _, row in parsed_records(path, _checked, is_whole=False))


def _checked(_: int, row: dict[str, Any]) -> dict[str, Any]:
    try:
        if "said" in row:
            typed(Generation, row["said"])
            int(row["key"].rpartition("/")[2])
        _, _, _ = row["key"].split("/")[:3]
        for sample in row["samples"]:
            Sample.from_dict(sample)
    except (KeyError, TypeError, ValueError, AttributeError, ShapeError):
        raise DataError("no row of `gatt eval`: delete the line, and it is sampled again") from None
    return row


def refuse_other_weights(path: Path, weights: Mapping[str, str]) -> None:
    """Raise `StaleError`, with the arms, for rows of another adapter; `weights`: digest of each arm's."""
    others = {}
    for row in read_rows(path):
        arm = row["key"].partition("/")[0]
        if arm in weights and row.get("weights") != weights[arm]:
            others[arm] = row.get("weights")
    for arm, before in others.items():
        raise StaleError(
            f"{path}: arm {arm!r} was rolled out with other weights ({before}, now {weights[arm]}): "
            "expected the same adapter, choose another folder or delete it",
            tuple(others),
        )


def said_so_far(path: Path) -> dict[str, list[Generation]]:
    """Return the replies of own histories on disk: `arm/own/case` to those of its first turns."""
    by_turn: dict[str, dict[int, Generation]] = {}
    for row in read_rows(path):
        if "said" in row:
            name, _, turn = row["key"].rpartition("/")
            by_turn.setdefault(name, {})[int(turn)] = Generation(**row["said"])
    return {name: [said[turn] for turn in sorted(said)] for name, said in by_turn.items()}


def total_tokens(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the tokens that the engines of all calls computed together."""
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row.get("tokens", {}))
    return dict(total)
