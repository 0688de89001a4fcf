"""Replies on their way into the page: examples, and all of them for its filters and transcripts.

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

from eval.metrics.ability import ABLE, able_instructions
from eval.metrics.curves import ALL
from eval.records.arms import BASE
from eval.records.samples import Sample
from eval.report.data.selection import Curves, Headline, arm_name
from gatt.verifiers.base import Status, Verdict

NUM_EXAMPLES = 3


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
class Transcript:
    """The replies of all arms to one dialogue under one instruction."""

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
        cases: dict[tuple[str, ...], Transcript] = {}
        self.counts = Counter(dialogues=0, replies=0, probes=0, undecided=0)
        arm_order = dict.fromkeys(arms)
        for sample in samples:
            arm_order.setdefault(sample.arm)
            case = cases.setdefault((*sample.case, sample.history), Transcript())
            case.samples.setdefault(sample.arm, []).append(sample)
            self.counts["replies" if sample.kind == "turn" else "probes"] += 1
            self.counts["undecided"] += verdict_of(sample) == "undecided"
        self.arms = list(arm_order)
        self.counts["dialogues"] = len({dialogue for dialogue, *_ in cases})
        self.cases = [case for _, case in sorted(cases.items())]
        used: Counter[str] = Counter()
        for key, case in sorted(cases.items()):
            case.anchor = _anchor(key, used)
            case.samples = {a: case.samples[a] for a in self.arms if a in case.samples}
            for replies in case.samples.values():
                replies.sort(key=lambda s: (s.turn, s.kind == "probe"))

    def as_dict(self) -> dict[str, Any]:
        """Return what the page reads of all cases; an arm of a case is `[arm, replies]`, see `_row`."""
        cases = []
        for case in self.cases:
            first, given = case.first, case.first.instruction
            text = given.text if given else ""
            arms = [
                [self.arms.index(arm), [_row(s, text) for s in replies]]
                for arm, replies in case.samples.items()
            ]
            cases.append(
                {"id": case.anchor, "dialogue": first.dialogue, "history": first.history,
                 "split": first.split, "family": first.family,
                 "instruction": given and [given.text, given.wording], "arms": arms}
            )  # fmt: skip
        return {"arms": [[arm, arm_name(arm)] for arm in self.arms], "cases": cases}


def held_text(sample: Sample) -> str:
    """Return the instruction that held at the turn of a reply; empty where none did."""
    is_kept = sample.instruction is not None and sample.expected == "kept"
    return sample.instruction.text if sample.instruction and is_kept else ""


def _row(sample: Sample, first_text: str) -> dict[str, Any]:
    """Return what the page shows of a reply, without usual values, of which the first instruction is one."""
    row = {
        "t": sample.turn, "s": _letter(verdict_of(sample), sample), "u": sample.user, "r": sample.reply,
    }  # fmt: skip
    rest: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "p": (sample.kind == "probe", (False,)),
        "i": (held_text(sample), (first_text,)),
        "e": (sample.event, (None,)),
        "v": ([[_letter(v.status, sample), *_verdict(v)[1:]] for v in sample.verdicts], ([],)),
        "o": (sample.reference, (None, sample.reply)),
        "f": (sample.finish, ("stop",)),
        "l": (sample.loose, (None, sample.status)),
        "a": (sample.announcement, (None,)),
        "x": (sample.expected, ("kept",)),
        "k": (sample.answer and sample.keeps[0], (None,)),
        "n": (sample.answer and _verdict(sample.answer), (None,)),
        "c": (sample.completion and _verdict(sample.completion), (None,)),
        "j": (sample.judge and _verdict(sample.judge), (None,)),
    }
    return row | {key: value for key, (value, usual) in rest.items() if value not in usual}


def verdict_of(sample: Sample) -> Status:
    """Return whether a reply keeps and answers, or whether it keeps where its turn expects nothing."""
    return (sample.instruction and sample.joint) or sample.status


def _verdict(verdict: Verdict) -> list[Any]:
    rule = f"{verdict.verifier} v{verdict.version}"
    return [verdict.status[0], rule, verdict.evidence, *(verdict.span or ())]


def _letter(status: str, sample: Sample) -> str:
    """Return the letter of a status; without an instruction a pass is a false trigger, and so a fail."""
    letter = status[0]
    return letter if sample.instruction else {"p": "f", "f": "p"}.get(letter, letter)


def _anchor(parts: Sequence[str], used: Counter[str]) -> str:
    """Return an id that stays the same from run to run and is unique on the page."""
    slug = anchor = "t-" + re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")
    while anchor in used:
        used[slug] += 1
        anchor = f"{slug}-{used[slug]}"
    used[anchor] = 1
    return anchor


class Example(NamedTuple):
    """One dialogue at the turn of the headline: the user's message, and the reply of each arm."""

    case: Transcript
    instruction: str
    replies: list[Sample]
    """The base model's first, where it is shown too."""


def examples(cases: Sequence[Transcript], curves: Curves, answer: Headline) -> list[Example]:
    """Return up to `NUM_EXAMPLES` cases of the headline's history and split.

    In the order of the file, they are the first two of different families in which the headline's first arm
    keeps and answers and its base model does not, and the first in which the arm does not. What is missing
    of one kind the next cases fill. Only cases with a reply of both arms at the headline's turn are taken.
    """
    ours, *others = [point.arm for point in answer.points] or [""]
    arms = [*(arm for arm in others[::-1] if arm.endswith(BASE)), ours][-2:]
    able = (
        able_instructions(s for c in cases for replies in c.samples.values() for s in replies) or ()
    )
    candidates = []
    for case in cases if ours else ():
        first = case.first
        if not first.instruction or first.history != curves.main_history:
            continue
        replies = [
            reply
            for arm in arms
            for reply in case.samples.get(arm, ())
            if (reply.turn, reply.kind) == (answer.turn, "turn")
        ]
        # The instruction that counts at this turn: in some cases the user changes it.
        given = replies[-1].instruction or first.instruction if replies else first.instruction
        is_shown = curves.main_split in (ALL, first.split) or (
            curves.main_split == ABLE and given.id in able
        )
        if is_shown and len(replies) == len(arms):
            candidates.append(Example(case, given.text, replies))
    kept = [
        e for e in candidates if [verdict_of(r) for r in e.replies] in (["pass"], ["fail", "pass"])
    ]
    families: dict[str, Example] = {}
    for example in kept:
        families.setdefault(example.case.first.family, example)
    broken = [example for example in candidates if verdict_of(example.replies[-1]) == "fail"]
    chosen = [*list(families.values())[: NUM_EXAMPLES - 1], *broken[:1]]
    return (
        chosen + [e for e in (*kept, *candidates) if e not in chosen][: NUM_EXAMPLES - len(chosen)]
    )
