"""The replies of an earlier evaluation, judged again by today's rules: no arm is asked."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from eval.cases.asked_turns import has_probe, judged_turns
from eval.config import EvalConfig
from eval.records.case import Case, Reply
from eval.records.file_names import ROLLOUTS_FILE
from eval.rollout.rows import read_rows, refuse_other_weights, row_keys, rows_of_step
from eval.rollout.workers import Piece, Rows
from gatt.data.instruction import Entry
from gatt.errors import StoreError
from gatt.generation.base import Generation
from gatt.runs.store import differences, read_meta

WORDS: Final = "words"
"""Key of the digest of the cases' words; it stands beside the settings and is not fingerprinted."""
RULES: Final = ("verifiers", "own_kinds", "cases", "false_triggers", "leaks", WORDS)
"""Settings that may differ: what judges. The words of the cases are compared apart."""

Row = Mapping[str, Any]


def read_earlier(
    config: EvalConfig,
    cases: Sequence[Case],
    settings: Mapping[str, Any],
    weights: Mapping[str, str],
) -> dict[str, Row] | None:
    """Return the rows of `config.replies_from` by key, complete and to the same words; None without it.

    Args:
        config: of the evaluation.
        cases: its cases, with today's rules.
        settings: what the replies depend on, rules and words included.
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
    rows: dict[str, Row] = {row["key"]: row for row in read_rows(path)}
    for arm in config.arms:
        for history in config.histories:
            for case in cases:
                for key in row_keys(arm, history, case, config):
                    _check(f"{path}: {key}", case, rows.get(key), config)
    if described.get(WORDS) != settings[WORDS]:
        raise StoreError(
            f"{path}: given to other dialogues or announcements than today's cases have: expected the "
            "same words: evaluate anew"
        )
    return rows


def _turn_of(row: Row) -> int | None:
    """Return the turn of a row of an own history, None for a row of a whole case."""
    return int(row["key"].rpartition("/")[2]) if "said" in row else None


def _check(where: str, case: Case, row: Row | None, config: EvalConfig) -> None:
    """Refuse a row that is missing, or has not the replies that today's case asks for.

    Raises:
        StoreError: names the turn, and what differs.
    """
    if row is None:
        raise StoreError(
            f"{where}: no such reply: expected a finished evaluation, let it end first"
        )
    asked = [(turn, "turn") for turn in judged_turns(case, config)]
    asked += [(turn, "probe") for turn in config.probe_turns if has_probe(case, turn, config)]
    wanted = {at for at in asked if _turn_of(row) in (None, at[0])}
    kept = {(sample["turn"], sample["kind"]) for sample in row["samples"]}
    if wanted != kept:
        turn, kind = min(wanted ^ kept)
        there, today = ("asked", "not") if (turn, kind) in kept else ("not asked", "asked")
        raise StoreError(
            f"{where}: a {kind} at turn {turn} is {there} there and {today} by today's case: expected the "
            "same of both: evaluate anew"
        )
    for sample in row["samples"]:
        _check_words(where, case, sample)


def _check_words(where: str, case: Case, sample: Row) -> None:
    turn, is_probe = sample["turn"], sample["kind"] == "probe"
    probe = case.probe_at(turn) if is_probe else None
    held = case.probed_at(turn) if is_probe else case.instruction_at(turn)
    text = (sample["instruction"] or {}).get("text")
    for what, then, now in (
        ("the user said", sample["user"], probe.question if probe else case.user_turn(turn)),
        ("the instruction was", text, held.text if held else None),
        ("people replied", sample["reference"], case.reference(turn)),
    ):
        if then != now:
            raise StoreError(
                f"{where}, turn {turn}: {what} {then!r}, and it is {now!r} today: expected the same words: "
                "evaluate anew"
            )


def _replies(case: Case, row: Row) -> Iterator[Reply]:
    turn = _turn_of(row)
    if turn is not None:
        yield Reply(case, turn, "turn", case.user_turn(turn), Generation(**row["said"]))
    for sample in row["samples"]:
        if turn is None or sample["kind"] == "probe":
            # The number of tokens is not stored, and no rule needs it.
            generation = Generation(sample["reply"], sample["finish"], 0)
            yield Reply(case, sample["turn"], sample["kind"], sample["user"], generation)


def rows_judged_again(
    pieces: Sequence[Piece],
    earlier: Mapping[str, Row],
    config: EvalConfig,
    pool: Sequence[Entry],
    done: Collection[str],
) -> Rows:
    """Yield the rows of all pieces, those of a piece together.

    Args:
        pieces: what has still to be judged.
        earlier: the rows with the replies, by key.
        config: of the evaluation.
        pool: entries that count for false triggers.
        done: keys of the rows that the output folder has already.
    """
    for piece in pieces:
        arm, history = piece.arm, piece.history
        yield [
            row
            for case in piece.cases
            for key in row_keys(arm, history, case, config)
            if key not in done
            for row in rows_of_step(
                list(_replies(case, earlier[key])),
                arm,
                history,
                pool,
                config,
                earlier[key].get("tokens", {}),
            )
        ]
