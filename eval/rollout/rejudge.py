"""The replies of an earlier evaluation, judged again by today's rules: no arm is asked."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from eval.cases.asked_turns import has_probe, judged_turns
from eval.config import EvalConfig
from eval.records.case import Case
from eval.records.file_names import ROLLOUTS_FILE
from eval.records.reply import Reply
from eval.rollout.rows import read_rows, refuse_other_weights, row_keys, rows_of_step
from eval.rollout.workers import Piece, Row, Rows
from gatt.data.instruction import Entry
from gatt.errors import StoreError
from gatt.generation.base import Generation
from gatt.runs.store import differences, read_meta

log = logging.getLogger(__name__)

WORDS: Final = "words"
"""What stands beside the settings of a run, and is not fingerprinted: the words of its cases."""
RULES: Final = ("verifiers", "own_kinds", "cases", "false_triggers", "leaks", WORDS)
"""Settings of a run that may differ: what judges, and the cases, which hold it. Their words are compared."""


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
            settings: what decides the replies, rules and words included.
            weights: digest of each arm's adapter.

        Raises:
            StoreError: no finished evaluation there, one of other settings, weights or words, or a
                broken file.
        """
        folder = config.replies_from
        if folder is None:
            return None
        path = folder / ROLLOUTS_FILE
        if not path.is_file():
            raise StoreError(
                f"replies_from {folder}: no {ROLLOUTS_FILE}: expected the output_dir of a finished "
                "`gatt eval`"
            )
        described = read_meta(path).get("describe") or {}
        then, now = ({k: v for k, v in d.items() if k not in RULES} for d in (described, settings))
        if told := differences(then, now):
            raise StoreError(
                f"{path}: replies of another evaluation{told}: expected the same settings, whose rules "
                "alone may differ"
            )
        refuse_other_weights(path, weights)
        found = cls(path, {row["key"]: row for row in read_rows(path)})
        for arm in config.arms:
            for history in config.histories:
                for case in cases:
                    found._check(case, row_keys(arm, history, case, config), config)
        if WORDS not in described:
            log.warning(
                "%s: of an earlier version, which did not keep all words: messages of turns that are not "
                "judged, and replies that were read, are taken to be today's",
                path,
            )
        elif described[WORDS] != settings[WORDS]:
            raise StoreError(
                f"{path}: given to other dialogues or announcements than today's cases have: expected the "
                "same words: evaluate anew"
            )
        return found

    def _check(self, case: Case, keys: Sequence[str], config: EvalConfig) -> None:
        asked = _asked(case, config)
        for key in keys:
            row = self.rows.get(key)
            if row is None:
                raise StoreError(
                    f"{self.path}: no reply of {key}: expected a finished evaluation: let it end first"
                )
            turn = int(key.rpartition("/")[2]) if "said" in row else None
            wanted = {at for at in asked if turn is None or at[0] == turn}
            kept = {(sample["turn"], sample["kind"]) for sample in row["samples"]}
            if wanted != kept:
                at, kind = min(wanted ^ kept)
                where = "there, not by" if (at, kind) in kept else "not there, but by"
                raise StoreError(
                    f"{self.path}: {key}: a {kind} at turn {at} is asked {where} today's case: expected the "
                    "same of both: evaluate anew"
                )
            for sample in row["samples"]:
                self._check_words(key, case, sample)

    def _check_words(self, key: str, case: Case, sample: Mapping[str, Any]) -> None:
        turn, is_probe = sample["turn"], sample["kind"] == "probe"
        probe = case.probe_at(turn) if is_probe else None
        held = case.probed_at(turn) if is_probe else case.instruction_at(turn)
        told = (sample["instruction"] or {}).get("text")
        for what, then, now in (
            ("the user said", sample["user"], probe.question if probe else case.user_turn(turn)),
            ("the instruction was", told, held.text if held else None),
            ("people replied", sample["reference"], case.reference(turn)),
        ):
            if then != now:
                raise StoreError(
                    f"{self.path}: {key}, turn {turn}: {what} {then!r}, and it is {now!r} today: "
                    "expected the same words: evaluate anew"
                )


def _asked(case: Case, config: EvalConfig) -> set[tuple[int, str]]:
    probes = (turn for turn in config.probe_turns if has_probe(case, turn, config))
    turns = ((turn, "turn") for turn in judged_turns(case, config))
    return {*turns, *((turn, "probe") for turn in probes)}


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
    pieces: Sequence[Piece],
    earlier: EarlierReplies,
    config: EvalConfig,
    pool: Sequence[Entry],
    done: Collection[str],
) -> Rows:
    """Yield the rows of all pieces, those of a piece together.

    Args:
        pieces: what has still to be judged.
        earlier: has the replies.
        config: of the evaluation.
        pool: entries that count for false triggers.
        done: keys of rows that stand in the output folder already.
    """
    for piece in pieces:
        made: list[Row] = []
        for case in piece.cases:
            for key in row_keys(piece.arm, piece.history, case, config):
                if key not in done:
                    old = earlier.rows[key]
                    tokens = old.get("tokens", {})
                    replies = list(_replies(case, old))
                    made += rows_of_step(replies, piece.arm, piece.history, pool, config, tokens)
        yield made
