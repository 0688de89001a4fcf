"""Samples on their way into the page: an index for its filters, and chunks of text by case.

A full run has hundreds of thousands of replies. They are spooled to a temporary
file as they come, so that memory holds a few numbers a reply and no text, and
are read back case by case: the arms of one dialogue stand together, and a user
message that all of them answer stands once.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from eval.records.samples import Sample
from eval.report.data.selection import arm_name
from gatt.verifiers.base import Verdict

CHUNK_BYTES = 200_000
"""Text a chunk before it is compressed: small enough that a click does not wait for it, large enough
for the compression to find what repeats."""
MEMORY_BYTES = 16_000_000
"""Spooled text up to here stays out of the file system."""
JUDGE_DISAGREES, TASK_FAILED, LOOSE_DIFFERS = 1, 2, 4
"""Bits of a reply's mark, for the filters."""
STATUS_LETTERS = {"pass": "p", "fail": "f", "undecided": "u"}


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


@dataclass(slots=True)
class _Row:
    """Where a reply stands in the spool, and what the filters ask of it."""

    turn: int
    is_probe: bool
    event: int
    status: str
    mark: int
    offset: int


@dataclass(slots=True)
class _Transcript:
    dialogue: str
    history: str
    arm: int
    split: str
    family: str
    instruction: int | None
    num_bytes: int = 0
    rows: list[_Row] = field(default_factory=list)


class Transcripts:
    """The replies of a run; use it in a `with` block, which removes the spool."""

    def __init__(self, arms: Sequence[str]) -> None:
        """Name all arms in the order of the charts, for colours and for sorting."""
        self._arms = Interner()
        for arm in arms:
            self._arms.add(arm)
        self._spool = tempfile.SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115
        self._found: dict[tuple[str, str, str, str, int], _Transcript] = {}
        self._instructions = Interner()
        self._rules = Interner()
        self._events = Interner()
        self._planned: list[list[list[_Transcript]]] | None = None
        self.num_replies = self.num_probes = self.num_undecided = 0

    def __enter__(self) -> Transcripts:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._spool.close()

    def __len__(self) -> int:
        return len(self._found)

    @property
    def num_dialogues(self) -> int:
        """Different dialogues of all arms."""
        return len({dialogue for dialogue, *_ in self._found})

    def add(self, sample: Sample) -> None:
        """Take one reply; they may come in any order, all before the first look at them."""
        rank = self._arms.add(sample.arm)
        key = (*sample.case, sample.history, rank)
        transcript = self._found.get(key)
        if transcript is None:
            given = sample.instruction
            index = None if given is None else self._instructions.add((given.text, given.wording))
            transcript = self._found[key] = _Transcript(
                sample.dialogue, sample.history, rank, sample.split, sample.family, index
            )
        line = json.dumps(self._spooled(sample)).encode() + b"\n"
        transcript.rows.append(
            _Row(
                turn=sample.turn,
                is_probe=sample.kind == "probe",
                event=-1 if sample.event is None else self._events.add(sample.event),
                status=_letter(sample.status, sample),
                mark=_mark(sample),
                offset=self._spool.tell(),
            )
        )
        transcript.num_bytes += self._spool.write(line)
        self.num_replies += sample.kind == "turn"
        self.num_probes += sample.kind == "probe"
        self.num_undecided += sample.status == "undecided"

    def _spooled(self, sample: Sample) -> dict[str, Any]:
        """Return what the page shows of a reply, without what is as nearly always."""
        row: dict[str, Any] = {"u": sample.user, "r": sample.reply}
        if sample.reference is not None and sample.reference != sample.reply:
            row["o"] = sample.reference
        if sample.finish != "stop":
            row["f"] = sample.finish
        if sample.verdicts:
            row["v"] = [[_letter(v.status, sample), *self._verdict(v)[1:]] for v in sample.verdicts]
        if sample.loose not in (None, sample.status):
            row["l"] = sample.loose
        if sample.announcement is not None:
            row["a"] = sample.announcement
        if sample.expected != "kept":
            row["x"] = sample.expected
        if sample.completion is not None:
            row["c"] = self._verdict(sample.completion)
        if sample.judge is not None:
            row["j"] = self._verdict(sample.judge)
        return row

    def _verdict(self, verdict: Verdict) -> list[Any]:
        rule = self._rules.add(f"{verdict.verifier} v{verdict.version}")
        found = [STATUS_LETTERS[verdict.status], rule, verdict.evidence]
        return [*found, *verdict.span] if verdict.span else found

    def index(self) -> dict[str, Any]:
        """Return what the page's filters and its list of transcripts read, as columns.

        Transcripts are sorted so that the arms of one case stand together. Of a
        transcript with pattern `[[turn, is_probe, event], …]` the strings
        `status` and `marks` have one letter a reply. `chunk` and `case` say where
        its texts are: the case of that number in that chunk, its row of that arm.
        """
        columns: dict[str, list[Any]] = {
            name: []
            for name in (
                "id", "dialogue", "history", "arm", "split", "family", "instruction", "pattern",
                "status", "marks", "chunk", "case", "row",
            )
        }  # fmt: skip
        patterns = Interner()
        used: dict[str, int] = {}
        arms = self._arms.values
        instructions = {id(t): instruction for (_, instruction, *_), t in self._found.items()}
        for chunk, cases in enumerate(self._plan()):
            for case, members in enumerate(cases):
                for row, transcript in enumerate(members):
                    rows, dialogue, history = (
                        transcript.rows,
                        transcript.dialogue,
                        transcript.history,
                    )
                    name_parts = (
                        dialogue,
                        instructions[id(transcript)],
                        history,
                        arms[transcript.arm],
                    )
                    for name, value in (
                        ("id", _anchor(name_parts, used)),
                        ("dialogue", dialogue),
                        ("history", history),
                        ("arm", transcript.arm),
                        ("split", transcript.split),
                        ("family", transcript.family),
                        ("instruction", transcript.instruction),
                        (
                            "pattern",
                            patterns.add(tuple((r.turn, r.is_probe, r.event) for r in rows)),
                        ),
                        ("status", "".join(r.status for r in rows)),
                        ("marks", "".join(str(r.mark) for r in rows)),
                        ("chunk", chunk),
                        ("case", case),
                        ("row", row),
                    ):
                        columns[name].append(value)
        return {
            "arms": [[arm, arm_name(arm)] for arm in arms],
            "instructions": self._instructions.values,
            "rules": self._rules.values,
            "events": self._events.values,
            "patterns": [[[t, int(p), e] for t, p, e in pattern] for pattern in patterns.values],
            "transcripts": columns,
        }

    def chunks(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the texts: a list of cases, each with `texts` and a list of rows for each arm.

        A row is what `_spooled` says of a reply, its texts as indices of `texts`.
        """
        for cases in self._plan():
            yield [self._case(members) for members in cases]

    def _case(self, members: Sequence[_Transcript]) -> dict[str, Any]:
        texts = Interner()
        arms = []
        for transcript in members:
            rows = []
            for place in transcript.rows:
                self._spool.seek(place.offset)
                row = json.loads(self._spool.readline())
                rows.append(row | {key: texts.add(row[key]) for key in "uro" if key in row})
            arms.append(rows)
        return {"texts": texts.values, "arms": arms}

    def _plan(self) -> list[list[list[_Transcript]]]:
        """Return which cases stand in which chunk: turns rising, a probe after its turn's reply."""
        if self._planned is None:
            cases: dict[tuple[str, str, str, str], list[_Transcript]] = {}
            for key in sorted(self._found):
                transcript = self._found[key]
                transcript.rows.sort(key=lambda row: (row.turn, row.is_probe))
                cases.setdefault(key[:4], []).append(transcript)
            self._planned = [[]]
            room = CHUNK_BYTES
            for members in cases.values():
                if room <= 0:
                    self._planned.append([])
                    room = CHUNK_BYTES
                self._planned[-1].append(members)
                room -= sum(m.num_bytes for m in members)
        return self._planned


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
