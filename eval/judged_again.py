"""The replies of an earlier evaluation, judged again by today's rules: no model is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from eval.calls import head, read_calls, write_calls
from eval.case import Case
from eval.config import EvalConfig
from eval.results import ROLLOUTS_FILE
from eval.rollout import Reply
from eval.rollout_rows import refuse_other_weights, row_keys, rows_of_step
from eval.switches import told_where_shown
from eval.work import Piece, Row, Rows
from gatt.errors import StoreError
from gatt.generation.base import Generation
from gatt.instruction import Entry
from gatt.models import load_tokenizer
from gatt.records import differences, read_meta, read_records

RULES: Final = ("verifiers", "cases", "false_triggers", "leaks")
"""Settings of a run that may differ: what judges, and the cases, which hold it and are compared one by one."""


@dataclass(frozen=True)
class EarlierReplies:
    """The rows of a finished evaluation, by key."""

    path: Path
    rows: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(
        cls,
        config: EvalConfig,
        cases: Sequence[Case],
        settings: Mapping[str, Any],
        weights: Mapping[str, str],
    ) -> EarlierReplies | None:
        """Return the replies of `config.replies_from`, all there and to the same words; None without it.

        Args:
            config: of the evaluation.
            cases: its cases, with today's rules.
            settings: what decides the replies, rules included.
            weights: digest of each arm's adapter.

        Raises:
            StoreError: no finished evaluation there, one of other settings, weights or words, or a
                broken file.
        """
        if config.replies_from is None:
            return None
        path = config.replies_from / ROLLOUTS_FILE
        if not path.is_file():
            raise StoreError(
                f"replies_from {config.replies_from}: no {ROLLOUTS_FILE}: expected the output_dir of a "
                "finished `gatt eval`"
            )
        described = read_meta(path).get("describe") or {}
        then, now = ({k: v for k, v in d.items() if k not in RULES} for d in (described, settings))
        if told := differences(then, now):
            raise StoreError(
                f"{path}: replies of another evaluation{told}: expected the same settings, whose rules "
                "alone may differ"
            )
        refuse_other_weights(path, weights)
        found = cls(path, {row["key"]: row for row in read_records(path)})
        for arm in config.arms:
            for history in config.histories:
                for case in cases:
                    found._check(case, row_keys(arm, history, case, config))
        return found

    def _check(self, case: Case, keys: Sequence[str]) -> None:
        for key in keys:
            if key not in self.rows:
                raise StoreError(
                    f"{self.path}: no reply of {key}: expected a finished evaluation: let it end first"
                )
            for sample in self.rows[key]["samples"]:
                turn, is_probe = sample["turn"], sample["kind"] == "probe"
                probe = case.probe_at(turn) if is_probe else None
                held = case.held_at(turn) if is_probe else case.instruction_at(turn)
                asked = probe.question if probe else "" if is_probe else case.user_turn(turn)
                told = (sample["instruction"] or {}).get("text")
                for what, then, now in (
                    ("the user said", sample["user"], asked),
                    ("the instruction was", told, held.text if held else None),
                ):
                    if then != now:
                        raise StoreError(
                            f"{self.path}: {key}, turn {turn}: {what} {then!r}, and is {now!r} today: "
                            "expected the same words: evaluate anew"
                        )


def _replies(case: Case, row: Mapping[str, Any]) -> Iterator[Reply]:
    said = row.get("said")
    if said is not None:
        turn = int(row["key"].rpartition("/")[2])
        yield Reply(case, turn, "turn", case.user_turn(turn), Generation(**said))
    for sample in row["samples"]:
        if said is None or sample["kind"] == "probe":
            # How many tokens they had is not kept, and decides nothing here.
            generation = Generation(sample["reply"], sample["finish"], 0)
            yield Reply(case, sample["turn"], sample["kind"], sample["user"], generation)


def rows_judged_again(
    pieces: Sequence[Piece], earlier: EarlierReplies, config: EvalConfig, pool: Sequence[Entry]
) -> Rows:
    """Yield the rows of all pieces, those of a piece together.

    Args:
        pieces: what has still to be judged.
        earlier: has the replies.
        config: of the evaluation.
        pool: entries that count for false triggers.

    Raises:
        ModelError: the tokenizer cannot be loaded, where a change of the instruction asks for it.
    """
    for piece in pieces:
        cases: Sequence[Case] = piece.cases
        if any(case.switches for case in cases) and config.engine.server is None:
            cases = told_where_shown(cases, load_tokenizer(config.engine.model))
        made: list[Row] = []
        for case in cases:
            for key in row_keys(piece.arm, piece.history, case, config):
                old = earlier.rows[key]
                tokens = old.get("tokens", {})
                replies = list(_replies(case, old))
                made += rows_of_step(replies, piece.arm, piece.history, pool, config, tokens)
        yield made


def take_over_calls(folder: Path, config: EvalConfig) -> None:
    """Write down who made the replies, and whose rules judge them now.

    Raises:
        StoreError: a file that is broken or cannot be written.
    """
    now = head(config)
    write_calls(
        config.output_dir,
        [
            {**call, "name": now["name"], "judged_again": {k: now[k] for k in ("commit", "time")}}
            for call in read_calls(folder)
        ],
    )
