"""Replies rated by hand, beside what the rules say of them."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from eval.metrics.intervals import wilson_interval
from eval.report.data.selection import NO_BREAK, interval_text, percent
from eval.report.data.transcripts import Transcript, verdict_of
from eval.report.tables.cells import Cell, Section, Table, arm_cell, row
from gatt.data.ratings import Rating
from gatt.verifiers.base import Status

log = logging.getLogger(__name__)

LEAD = (
    "Thumbs of a reader, each for one reply. Where rules and reader differ often, look at these replies first: "
    "the rules judge what the instruction and the turn ask for, not whether one would send the reply."
)


def rated_section(ratings: Sequence[Rating], cases: Sequence[Transcript]) -> Section | None:
    """Return how many replies of each arm were rated good, in all and by the verdict of the rules.

    A rating whose reply has other words on the page, since a later evaluation replaced it, is left out; a
    line of the log counts these.
    """
    ratings = _of_these_replies(ratings, cases)
    if not ratings:
        return None
    statuses: dict[tuple[str, str, int], Status] = {
        (case.anchor, arm, reply.turn): verdict_of(reply)
        for case in cases
        for arm, replies in case.samples.items()
        for reply in replies
        # Without an instruction a pass is a false trigger, which says nothing of a reply.
        if reply.kind == "turn" and reply.instruction
    }
    rows = []
    for arm in dict.fromkeys(rating.arm for rating in ratings):
        of_arm = [rating for rating in ratings if rating.arm == arm]
        judged = [(r, statuses.get((r.case, r.arm, r.turn))) for r in of_arm]
        by_status = [
            _good([rating for rating, status in judged if status == wanted])
            for wanted in ("pass", "fail")
        ]
        rows.append(row(arm_cell(arm), _good(of_arm), *by_status))
    heads = ("arm", "rated good", "of the rules' passes", "of their fails")
    table = Table("Good replies", heads, tuple(rows), is_folded=False)
    return Section("rated", "Rated by hand", LEAD, [table], is_first=True)


def _of_these_replies(ratings: Sequence[Rating], cases: Sequence[Transcript]) -> list[Rating]:
    texts = {
        (case.anchor, arm, reply.turn): reply.reply
        for case in cases
        for arm, replies in case.samples.items()
        for reply in replies
        if reply.kind == "turn"
    }
    kept = [r for r in ratings if texts.get((r.case, r.arm, r.turn), r.reply) == r.reply]
    if len(kept) < len(ratings):
        log.warning(
            "%d of %d ratings are left out: a later evaluation has replaced their replies",
            len(ratings) - len(kept),
            len(ratings),
        )
    return kept


def _good(ratings: Sequence[Rating]) -> Cell:
    if not ratings:
        return Cell("–")
    num, total = sum(rating.rating == "up" for rating in ratings), len(ratings)
    interval = interval_text(*wilson_interval(num, total)).replace(" ", NO_BREAK)
    return Cell(f"{percent(num / total)}{NO_BREAK}%", interval, f"{num}/{total}")
