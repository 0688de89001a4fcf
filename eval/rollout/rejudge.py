"""The replies of an earlier evaluation, judged again by today's rules: no arm is asked."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

from eval.config import EvalConfig
from eval.records.arms import ALONE, CANNED, History, is_stepwise, slips_of
from eval.records.case import BLANK, Case
from eval.records.samples import ROLLOUTS_FILE
from eval.rollout.roll_out import CaseBatch, RolloutSteps, rows_of_step
from eval.rollout.rows import read_rows, refuse_other_weights, row_keys
from eval.scoring.verdict import Reply
from gatt.data.instruction import Entry
from gatt.errors import StaleError, StoreError
from gatt.generation.base import Generation
from gatt.runs.store import differences, read_meta

WORDS: Final = "words"
"""Key of the digest of the cases' words; it stands beside the settings and is not fingerprinted."""
RULES: Final = ("verifiers", "own_kinds", "cases", "false_triggers", "leaks", WORDS)
"""Settings that may differ: what judges. The words of the cases are compared apart."""

EarlierRow = Mapping[str, Any]


def read_earlier(
    config: EvalConfig,
    cases: Sequence[Case],
    settings: Mapping[str, Any],
    weights: Mapping[str, str],
) -> dict[str, EarlierRow] | None:
    """Return the rows of `config.replies_from` by key, complete and to the same words; None without it.

    `settings` are what the replies depend on, rules and words included; `weights` has the digest of each
    arm's adapter.

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
    if changed := differences(then, now):
        raise StoreError(
            f"{path}: replies of another evaluation{changed}: expected the same settings, whose rules "
            "alone may differ"
        )
    try:
        refuse_other_weights(path, weights)
    except StaleError as error:
        # Of another folder than that of this evaluation.
        raise StoreError(str(error)) from None
    if described.get(WORDS) != settings[WORDS]:
        raise StoreError(
            f"{path}: given to other dialogues, instructions, probes or announcements than today's cases "
            "have: expected the same words: evaluate anew"
        )
    rows: dict[str, EarlierRow] = {row["key"]: row for row in read_rows(path)}
    for arm, history, case in product(config.arms, config.histories, cases):
        if missing := [k for k in row_keys(arm, history, case, config) if k not in rows]:
            raise StoreError(
                f"{path}: {missing[0]}: no such reply: expected a finished evaluation, let it end first"
            )
    return rows


def _replies(
    case: Case, row: EarlierRow, arm: str, history: History, earlier: Mapping[str, EarlierRow]
) -> Iterator[Reply]:
    if "said" in row:
        turn = int(row["key"].rpartition("/")[2])
        read = _read(case, turn, row["said"]["text"], arm, history, earlier)
        said = Generation(**row["said"])
        yield Reply(case, turn, "turn", case.user_turn(turn), said, read)
    for sample in row["samples"]:
        if "said" not in row or sample["kind"] == "probe":
            # The number of tokens is not stored, and no rule needs it.
            word = sample.get("server_end", "")
            generation = Generation(sample["reply"], sample["finish"], 0, word)
            turn, kind, user = sample["turn"], sample["kind"], sample["user"]
            read = _read(case, turn, sample["reply"], arm, history, earlier)
            yield Reply(case, turn, kind, user, generation, read)


def _read(
    case: Case, turn: int, reply: str, arm: str, history: History, earlier: Mapping[str, EarlierRow]
) -> tuple[str, ...]:
    """Return the replies that the arm read in its history, as the roll-out gave them."""
    if arm == ALONE:
        return ()
    if arm == CANNED:
        return (reply,) * (turn - 1)
    own = case.dialogue.replies[: turn - 1]
    if not is_stepwise(arm, history):
        return own
    num_slips = slips_of(history)
    name = f"{arm}/{history}/{case.id}"
    said = [earlier[f"{name}/{t}"]["said"]["text"] for t in range(num_slips + 1, turn)]
    return (*own[:num_slips], *(text.strip() or BLANK for text in said))


def rows_judged_again(
    pieces: Sequence[CaseBatch],
    earlier: Mapping[str, EarlierRow],
    config: EvalConfig,
    pool: Sequence[Entry],
    done: Collection[str],
) -> RolloutSteps:
    """Yield the rows of all pieces, those of a piece together, without those whose keys are in `done`.

    `earlier` are the rows with the replies by key; `pool` the entries that count for false triggers.
    """
    for piece in pieces:
        arm, history = piece.arm, piece.history
        yield [
            row
            for case in piece.cases
            for key in row_keys(arm, history, case, config)
            if key not in done
            for row in rows_of_step(
                list(_replies(case, earlier[key], arm, history, earlier)),
                arm,
                history,
                pool,
                config,
                earlier[key].get("tokens", {}),
            )
        ]
