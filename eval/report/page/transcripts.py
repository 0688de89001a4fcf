"""Replies on their way into the page: examples, an index for its filters, and the texts.

A case is a dialogue under an instruction; its arms stand together.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from eval.records.samples import Sample
from eval.report.data.selection import Curves, Headline, arm_name
from gatt.verifiers.base import Verdict

JUDGE_DISAGREES, TASK_FAILED, LOOSE_DIFFERS = 1, 2, 4
"""Bits of a reply's mark, for the filters."""
STATUS_LETTERS = {"pass": "p", "fail": "f", "undecided": "u"}
NUM_EXAMPLES = 3
RULE = (
    "Chosen by a rule, not by hand: in the order of the file, the first two dialogues of different kinds that "
    "{ours} keeps{theirs}, then the first that it breaks."
)


def packed(value: object) -> str:
    """Return a JSON value as raw deflate in base64, which holds no character of markup.

    A browser reads it with `atob` and `DecompressionStream("deflate-raw")`. A lone
    surrogate stays the escape that JSON has for it.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    data = text.encode("utf-8", "backslashreplace")
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return base64.b64encode(deflate.compress(data) + deflate.flush()).decode("ascii")


@dataclass
class Case:
    """The replies of all arms to one dialogue under one instruction."""

    history: str
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    """Arm -> its replies: turns rising, a probe after its turn's reply."""
    anchor: str = ""

    @property
    def first(self) -> Sample:
        """Any reply, for what all of them share."""
        return next(iter(self.samples.values()))[0]


class Transcripts:
    """The replies of a run, sorted into cases."""

    def __init__(self, arms: Sequence[str], samples: Iterable[Sample]) -> None:
        """Take the replies in any order; `arms` are those of the page in order."""
        found: dict[tuple[str, ...], Case] = {}
        self.counts = Counter(dialogues=0, replies=0, probes=0, undecided=0)
        known = dict.fromkeys(arms)
        for sample in samples:
            known.setdefault(sample.arm)
            case = found.setdefault((*sample.case, sample.history), Case(sample.history))
            case.samples.setdefault(sample.arm, []).append(sample)
            self.counts["replies" if sample.kind == "turn" else "probes"] += 1
            self.counts["undecided"] += sample.status == "undecided"
        self.arms = list(known)
        self.counts["dialogues"] = len({dialogue for dialogue, *_ in found})
        self.cases = [case for _, case in sorted(found.items())]
        used: Counter[str] = Counter()
        for key, case in sorted(found.items()):
            case.anchor = _anchor(key, used)
            case.samples = {a: case.samples[a] for a in self.arms if a in case.samples}
            for replies in case.samples.values():
                replies.sort(key=lambda s: (s.turn, s.kind == "probe"))

    def index(self) -> dict[str, Any]:
        """Return what the page's filters and its list of cases read.

        An arm of a case is `[arm, [[turn, is_probe, event], …], status, marks]`; the two strings have
        one letter a reply.
        """
        cases = []
        for case in self.cases:
            first, given = case.first, case.first.instruction
            arms = [self._arm(arm, replies) for arm, replies in case.samples.items()]
            cases.append(
                {"id": case.anchor, "dialogue": first.dialogue, "history": case.history,
                 "split": first.split, "family": first.family,
                 "instruction": given and [given.text, given.wording], "arms": arms}
            )  # fmt: skip
        return {"arms": [[arm, arm_name(arm)] for arm in self.arms], "cases": cases}

    def _arm(self, arm: str, replies: Sequence[Sample]) -> list[Any]:
        turns = [[s.turn, int(s.kind == "probe"), s.event or ""] for s in replies]
        status = "".join(_letter(s.status, s) for s in replies)
        return [self.arms.index(arm), turns, status, "".join(str(_mark(s)) for s in replies)]

    def texts(self) -> list[list[list[dict[str, Any]]]]:
        """Return, in the order of the index, of each case and arm what the page shows of its replies."""
        return [[[_row(s) for s in replies] for replies in c.samples.values()] for c in self.cases]


def _row(sample: Sample) -> dict[str, Any]:
    """Return what the page shows of a reply, without usual values."""
    row: dict[str, Any] = {"u": sample.user, "r": sample.reply}
    if sample.verdicts:
        row["v"] = [[_letter(v.status, sample), *_verdict(v)[1:]] for v in sample.verdicts]
    rest: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "o": (sample.reference, (None, sample.reply)),
        "f": (sample.finish, ("stop",)),
        "l": (sample.loose, (None, sample.status)),
        "a": (sample.announcement, (None,)),
        "x": (sample.expected, ("kept",)),
        "c": (sample.completion and _verdict(sample.completion), (None,)),
        "j": (sample.judge and _verdict(sample.judge), (None,)),
    }
    return row | {key: value for key, (value, usual) in rest.items() if value not in usual}


def _verdict(verdict: Verdict) -> list[Any]:
    rule = f"{verdict.verifier} v{verdict.version}"
    return [STATUS_LETTERS[verdict.status], rule, verdict.evidence, *(verdict.span or ())]


def _letter(status: str, sample: Sample) -> str:
    """Return the letter of a status; without an instruction a pass is a false trigger, and so a fail."""
    letter = STATUS_LETTERS[status]
    return letter if sample.instruction else {"p": "f", "f": "p"}.get(letter, letter)


def _mark(sample: Sample) -> int:
    judge = sample.judge.status if sample.judge else "undecided"
    is_split = "undecided" not in (judge, sample.status) and judge != sample.status
    is_failed = sample.completion is not None and sample.completion.status == "fail"
    is_lenient = sample.loose not in (None, sample.status)
    return JUDGE_DISAGREES * is_split + TASK_FAILED * is_failed + LOOSE_DIFFERS * is_lenient


def _anchor(parts: Sequence[str], used: Counter[str]) -> str:
    """Return an id that stays the same from run to run and is unique on the page."""
    slug = anchor = "t-" + re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")
    while anchor in used:
        used[slug] += 1
        anchor = f"{slug}-{used[slug]}"
    used[anchor] = 1
    return anchor


class Example(NamedTuple):
    """One dialogue at the turn of the headline: what was asked, and what each arm said."""

    case: Case
    instruction: str
    replies: list[Sample]
    """The base model's first, where it is shown too."""


def examples(cases: Sequence[Case], curves: Curves, answer: Headline) -> list[Example]:
    """Return up to `NUM_EXAMPLES` cases of the headline's history and split, chosen by `RULE`.

    Only cases with a reply of the headline's first arm, and of its base model, at its turn are taken.
    What is missing of one kind the next cases fill.
    """
    ours, *others = [point.arm for point in answer.points] or [""]
    arms = [*(arm for arm in others[::-1] if arm.endswith("base")), ours][-2:]
    found = []
    for case in cases if ours else ():
        replies = [
            reply
            for arm in arms
            for reply in case.samples.get(arm, ())
            if (reply.turn, reply.kind) == (answer.turn, "turn")
        ]
        first, is_main = case.first, curves.main_split in ("all", case.first.split)
        if (
            first.instruction
            and case.history == curves.main_history
            and is_main
            and len(replies) == len(arms)
        ):
            # The instruction that counts at this turn: in some cases the user changes it.
            given = replies[-1].instruction or first.instruction
            found.append(Example(case, given.text, replies))
    kept = [e for e in found if [r.status for r in e.replies] in (["pass"], ["fail", "pass"])]
    families: dict[str, Example] = {}
    for example in kept:
        families.setdefault(example.case.first.family, example)
    broken = [example for example in found if example.replies[-1].status == "fail"]
    chosen = [*list(families.values())[: NUM_EXAMPLES - 1], *broken[:1]]
    return chosen + [e for e in (*kept, *found) if e not in chosen][: NUM_EXAMPLES - len(chosen)]
