"""How replies fail: what was kept and not answered, answered and not kept, copied, repeated or cut."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from eval.metrics.curves import by_arm
from eval.metrics.table import joint
from eval.records.samples import Sample
from gatt.verifiers.text.copying import copy_of


@dataclass(frozen=True, kw_only=True)
class Failures:
    """The replies of an arm at the turns that expect something, over all judged turns."""

    arm: str
    history: str
    num_replies: int
    num_both: int
    num_kept_wrong: int
    """Keep the instruction, and do not answer."""
    num_right_unkept: int
    """Answer, and do not keep the instruction."""
    num_neither: int
    num_undecided: int
    """Neither passed nor failed. With the five numbers above, this is all replies."""
    num_copies: int
    """Copies of the user's message that do not answer it: a part of the wrong ones."""
    num_repeated: int
    """Word for word an earlier reply of the same history."""
    num_cut: int
    """By the limit of tokens."""


def failures(samples: Iterable[Sample]) -> list[Failures]:
    """Return how each arm's replies fail in each history; nothing where no turn expects an answer."""
    records = []
    for (arm, history), members in by_arm(samples).items():
        replies = [o.sample for o in joint(members)]
        if not replies:
            continue
        decided = [s for s in replies if s.joint != "undecided"]
        both = [(s.keeps, s.answers) for s in decided if "undecided" not in (s.keeps, s.answers)]
        # One failed half decides a reply whose other half is open: it is neither kind of near miss.
        num_open = len(decided) - len(both)
        records.append(
            Failures(
                arm=arm,
                history=history,
                num_replies=len(replies),
                num_both=both.count(("pass", "pass")),
                num_kept_wrong=both.count(("pass", "fail")),
                num_right_unkept=both.count(("fail", "pass")),
                num_neither=both.count(("fail", "fail")),
                num_undecided=len(replies) - len(decided) + num_open,
                num_copies=sum(
                    s.answers == "fail" and copy_of(s.reply, s.user) is not None for s in replies
                ),
                num_repeated=sum(s.is_repeated is True for s in replies),
                num_cut=sum(s.finish == "length" for s in replies),
            )
        )
    return records
