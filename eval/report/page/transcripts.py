"""Replies on their way into the page: an index for its filters, and chunks of text.

A case is a dialogue under an instruction; its arms stand together, and a user
message that all of them answer stands once.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from eval.records.samples import Sample
from eval.report.data.selection import arm_name
from gatt.verifiers.base import Verdict

CHUNK_BYTES = 100_000
"""Text of messages in a chunk: small enough that a click does not wait for it, large enough
for the compression to find what repeats."""
JUDGE_DISAGREES, TASK_FAILED, LOOSE_DIFFERS = 1, 2, 4
"""Bits of a reply's mark, for the filters."""
STATUS_LETTERS = {"pass": "p", "fail": "f", "undecided": "u"}


def packed(value: object) -> str:
    """Return a JSON value as raw deflate in base64, which holds no character of markup.

    A browser reads it with `atob` and `DecompressionStream("deflate-raw")`. A lone
    surrogate stays the escape that JSON has for it.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    data = text.encode("utf-8", "backslashreplace")
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return base64.b64encode(deflate.compress(data) + deflate.flush()).decode("ascii")


class Interner:
    """Values by index, each once, in order of arrival."""

    def __init__(self) -> None:
        self._index: dict[Any, int] = {}

    def add(self, value: Any) -> int:
        """Return the index of a value."""
        return self._index.setdefault(value, len(self._index))

    @property
    def values(self) -> list[Any]:
        """All values, by index."""
        return list(self._index)


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
    """The replies of a run, sorted into cases and chunks."""

    def __init__(self, arms: Sequence[str], samples: Iterable[Sample]) -> None:
        """Take the replies in any order.

        Args:
            arms: of the page in order, for colours and for sorting.
            samples: all replies.
        """
        self._arms = Interner()
        for arm in arms:
            self._arms.add(arm)
        self._rules = Interner()
        found: dict[tuple[str, ...], Case] = {}
        self.num_replies = self.num_probes = self.num_undecided = 0
        for sample in samples:
            self._arms.add(sample.arm)
            case = found.setdefault((*sample.case, sample.history), Case(sample.history))
            case.samples.setdefault(sample.arm, []).append(sample)
            for verdict in (*sample.verdicts, sample.completion, sample.judge):
                if verdict is not None:
                    self._rules.add(_rule(verdict))
            self.num_replies += sample.kind == "turn"
            self.num_probes += sample.kind == "probe"
            self.num_undecided += sample.status == "undecided"
        self.num_dialogues = len({dialogue for dialogue, *_ in found})
        used: dict[str, int] = {}
        for key, case in sorted(found.items()):
            case.anchor = _anchor(key, used)
            case.samples = {a: case.samples[a] for a in self._arms.values if a in case.samples}
            for replies in case.samples.values():
                replies.sort(key=lambda s: (s.turn, s.kind == "probe"))
        self.cases = [case for _, case in sorted(found.items())]

    def index(self) -> dict[str, Any]:
        """Return what the page's filters and its list of cases read.

        Of a transcript with pattern `[[turn, is_probe, event], …]` the strings
        `status` and `marks` have one letter a reply. `chunk` and `place` say where
        the texts of a case are.
        """
        instructions, events, patterns = Interner(), Interner(), Interner()

        def arm_of(arm: str, replies: Sequence[Sample]) -> list[Any]:
            pattern = tuple(
                (s.turn, int(s.kind == "probe"), events.add(s.event) if s.event else -1)
                for s in replies
            )
            status = "".join(_letter(s.status, s) for s in replies)
            marks = "".join(str(_mark(s)) for s in replies)
            return [self._arms.add(arm), patterns.add(pattern), status, marks]

        cases = []
        for number, chunk in enumerate(self._plan()):
            for place, case in enumerate(chunk):
                first = case.first
                given = first.instruction
                index = None if given is None else instructions.add((given.text, given.wording))
                arms = [arm_of(arm, replies) for arm, replies in case.samples.items()]
                cases.append(
                    {"id": case.anchor, "dialogue": first.dialogue, "history": case.history,
                     "split": first.split, "family": first.family, "instruction": index,
                     "chunk": number, "place": place, "arms": arms}
                )  # fmt: skip
        return {
            "arms": [[arm, arm_name(arm)] for arm in self._arms.values],
            "instructions": instructions.values,
            "rules": self._rules.values,
            "events": events.values,
            "patterns": patterns.values,
            "cases": cases,
        }

    def chunks(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the texts: a list of cases, each with `texts` and a list of rows for each arm.

        A row is what the page shows of a reply, its texts as indices of `texts`.
        """
        for chunk in self._plan():
            yield [self._texts(case) for case in chunk]

    def _texts(self, case: Case) -> dict[str, Any]:
        texts = Interner()
        arms = [[self._row(s, texts) for s in replies] for replies in case.samples.values()]
        return {"texts": texts.values, "arms": arms}

    def _row(self, sample: Sample, texts: Interner) -> dict[str, Any]:
        """Return what the page shows of a reply, without what is as nearly always."""
        row: dict[str, Any] = {"u": texts.add(sample.user), "r": texts.add(sample.reply)}
        if sample.verdicts:
            row["v"] = [[_letter(v.status, sample), *self._verdict(v)[1:]] for v in sample.verdicts]
        rest: dict[str, tuple[Any, tuple[Any, ...], Callable[[Any], Any]]] = {
            "o": (sample.reference, (None, sample.reply), texts.add),
            "f": (sample.finish, ("stop",), str),
            "l": (sample.loose, (None, sample.status), str),
            "a": (sample.announcement, (None,), str),
            "x": (sample.expected, ("kept",), str),
            "c": (sample.completion, (None,), self._verdict),
            "j": (sample.judge, (None,), self._verdict),
        }
        return row | {k: shown(v) for k, (v, usual, shown) in rest.items() if v not in usual}

    def _verdict(self, verdict: Verdict) -> list[Any]:
        rule = self._rules.add(_rule(verdict))
        found = [STATUS_LETTERS[verdict.status], rule, verdict.evidence]
        return [*found, *verdict.span] if verdict.span else found

    def _plan(self) -> list[list[Case]]:
        """Return which cases stand in which chunk."""
        chunks: list[list[Case]] = [[]]
        room = CHUNK_BYTES
        for case in self.cases:
            if room <= 0:
                chunks.append([])
                room = CHUNK_BYTES
            chunks[-1].append(case)
            room -= sum(len(s.user) + len(s.reply) for arm in case.samples.values() for s in arm)
        return chunks


def _rule(verdict: Verdict) -> str:
    return f"{verdict.verifier} v{verdict.version}"


def _letter(status: str, sample: Sample) -> str:
    """Return how well a reply did: where no instruction was given, a pass is a false trigger."""
    letter = STATUS_LETTERS[status]
    return letter if sample.instruction else {"p": "f", "f": "p"}.get(letter, letter)


def _mark(sample: Sample) -> int:
    judge = sample.judge.status if sample.judge else "undecided"
    is_split = "undecided" not in (judge, sample.status) and judge != sample.status
    is_failed = sample.completion is not None and sample.completion.status == "fail"
    is_lenient = sample.loose not in (None, sample.status)
    return JUDGE_DISAGREES * is_split + TASK_FAILED * is_failed + LOOSE_DIFFERS * is_lenient


def _anchor(parts: Sequence[str], used: dict[str, int]) -> str:
    """Return an id that stays the same from run to run and is unique on the page."""
    slug = "t-" + re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")
    anchor = slug
    while anchor in used:
        used[slug] += 1
        anchor = f"{slug}-{used[slug]}"
    used[anchor] = 1
    return anchor
