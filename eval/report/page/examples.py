"""Three dialogues for the top of the page, at the turn of the headline, chosen by a rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eval.records.samples import Sample
from eval.report.data.headline import Headline
from eval.report.data.selection import Curves
from eval.report.page.transcripts import Case

NUM_EXAMPLES = 3
RULE = (
    "Chosen by a rule, not by hand: in the order of the file, the first two dialogues of different kinds that "
    "{ours} keeps{theirs}, then the first that it breaks."
)


@dataclass(frozen=True)
class Example:
    """One dialogue at one turn: what was asked, and what each arm said."""

    anchor: str
    instruction: str
    user: str
    replies: tuple[Sample, ...]


def examples(cases: Sequence[Case], curves: Curves, answer: Headline) -> list[Example]:
    """Return up to `NUM_EXAMPLES` cases of the headline's history and split, those it keeps first.

    Only cases with a reply of the headline's first arm, and of its base model, at its turn are taken.
    What is missing of one kind the next cases fill.
    """
    arms = [point.arm for point in answer.points]
    arms = [*arms[:1], *(a for a in arms[1:] if a.endswith("base"))][:2]
    candidates = []
    for case in cases if arms else ():
        is_main = curves.main_split in ("all", case.first.split)
        replies = [reply for arm in arms if (reply := _reply(case, arm, answer.turn))]
        if case.first.instruction and case.history == curves.main_history and is_main:
            candidates += [(case, replies)] if len(replies) == len(arms) else []
    kept = [c for c in candidates if [r.status for r in c[1]] in (["pass"], ["pass", "fail"])]
    broken = [c for c in candidates if c[1][0].status == "fail"]
    families: dict[str, tuple[Case, list[Sample]]] = {}
    for candidate in kept:
        families.setdefault(candidate[0].first.family, candidate)
    chosen = [*list(families.values())[: NUM_EXAMPLES - 1], *broken[:1]]
    chosen += [c for c in (*kept, *candidates) if c not in chosen][: NUM_EXAMPLES - len(chosen)]
    return [_example(case, replies) for case, replies in chosen]


def _reply(case: Case, arm: str, turn: int | None) -> Sample | None:
    replies = case.samples.get(arm, ())
    return next((s for s in replies if s.turn == turn and s.kind == "turn"), None)


def _example(case: Case, replies: Sequence[Sample]) -> Example:
    # Of the instruction that counts at this turn: in some cases the user changes it.
    given = replies[0].instruction or case.first.instruction
    assert given is not None  # only cases with an instruction are candidates
    return Example(case.anchor, given.text, replies[0].user, tuple(reversed(replies)))
