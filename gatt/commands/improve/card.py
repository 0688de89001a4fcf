"""The card of a round: pairs by reason, what improved, what got worse. No torch here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from gatt.commands.improve.rounds import AFTER, Round
from gatt.commands.templates import filled
from gatt.runs.atomic_file import atomic_write_text
from gatt.runs.input_file import read_json

CARD: Final = "README.md"
COUNTS: Final = "pairs.json"
_REFERENCES: Final = {
    "init_adapter": "the model with the adapter that the round started from",
    "base": "the model without an adapter",
}
_OF_HISTORY: Final = ("turns", "targets", "pairs")


def changes_of(round_: Round) -> list[Mapping[str, Any]]:
    """Return what a finished round changed, as its evaluation says; empty where it has none."""
    stage = round_.stage("eval")
    changes: list[Mapping[str, Any]] = stage.module.changes(stage.config, AFTER) if stage else []
    return changes


def write_round_card(round_: Round, changes: Sequence[Mapping[str, Any]]) -> None:
    """Write `README.md` in the folder of a finished round.

    Raises:
        DataError: its counts or its training record cannot be read.
        StoreError: the card cannot be written.
    """
    pairs, train = round_.stage("pairs"), round_.stage("train")
    # Every round has both.
    assert pairs is not None
    assert train is not None
    counts = read_json(pairs.config.output_dir / COUNTS)
    text = filled(
        "improve/card.md.j2",
        round=round_, counts=counts, pairs=pairs.config,
        histories=[(name, *(of[k] for k in _OF_HISTORY)) for name, of in counts["by_history"].items()],
        rejected=_most_first(counts["rejected"]), no_pair=_most_first(counts["no_pair"]),
        refused=_most_first(counts["refused"]),
        groups={
            name: [_row(change) for change in changes if change["outcome"] == name]
            for name in ("improved", "got worse", "unclear")
        },
        reference=_REFERENCES[train.config.preference.reference],
        is_measured=round_.stage("eval") is not None,
    )  # fmt: skip
    atomic_write_text(round_.folder / CARD, text)


def _most_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _row(change: Mapping[str, Any]) -> tuple[str, ...]:
    points = (f"{100 * change[name]:+.0f}" for name in ("difference", "low", "high"))
    difference, low, high = points
    turn = "all turns" if change["turn"] is None else f"turn {change['turn']}"
    num = f"{change['num_dialogues']} dialogues, {change['num_pairs']} replies"
    return change["metric"], change["history"], turn, f"{difference} [{low}, {high}]", num


def summary_of(changes: Sequence[Mapping[str, Any]]) -> str:
    """Return one line on what changed."""
    if not changes:
        return "not measured: the run has no stage eval"
    parts = []
    for outcome in ("improved", "got worse"):
        rows = [_row(change) for change in changes if change["outcome"] == outcome]
        said = "; ".join(
            f"{metric}, {history}, {turn}: {by}" for metric, history, turn, by, _ in rows
        )
        parts.append(f"{outcome}: {said or 'nothing that the interval shows'}")
    return "; ".join(parts)
