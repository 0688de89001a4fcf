"""What an importer makes: cases in the form of a case file, and the count of what it could not say."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from eval.samples import Expected
from gatt.dialogue import Message
from gatt.instruction import VerifierSpec
from gatt.jsonl_lines import refuse_compressed
from gatt.verifiers.judge import JUDGE
from gatt.whole_file import atomic_stream

By = Literal["rules", "judge", "not covered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """One thing that a benchmark asks of replies, and who decides it here."""

    id: str
    text: str
    rules: tuple[VerifierSpec, ...] = ()
    """Verifiers that decide all of it; none: the judge does."""
    is_covered: bool = True
    """False where a case file cannot say when it holds."""

    @property
    def by(self) -> By:
        """Who decides it."""
        if not self.is_covered:
            return "not covered"
        return "rules" if self.rules else "judge"

    @property
    def verifiers(self) -> tuple[VerifierSpec, ...]:
        """The rules, or the judge with the constraint as its rubric."""
        return self.rules or (VerifierSpec(JUDGE, {"rubric": self.text}),)

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds that decide it, for the count that is printed."""
        return tuple(dict.fromkeys(s.kind for s in self.rules)) if self.is_covered else ()

    def as_dict(self) -> dict[str, str]:
        """Return the constraint as the coverage table takes it."""
        return {"id": self.id, "text": self.text, "by": self.by}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What the user does at a turn besides talking, and what should happen."""

    kind: str
    expect: Expected
    constraints: tuple[Constraint, ...] = ()
    """Those that hold at this turn on top of the instruction."""

    def as_dict(self) -> dict[str, Any]:
        """Return the event as a case file holds it."""
        return {
            "kind": self.kind,
            "expect": self.expect,
            "verifiers": [_flat(v) for c in self.constraints for v in c.verifiers],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedCase:
    """A dialogue, the instruction on it, and what happens at its turns."""

    id: str
    messages: tuple[Message, ...]
    """User messages, with or without replies; the instruction is not among them."""
    text: str
    """The instruction as the benchmark words it."""
    family: str
    value: str = ""
    held: tuple[Constraint, ...] = ()
    """What the instruction asks for from the first turn on."""
    others: tuple[Constraint, ...] = ()
    """What is asked for at single turns, or cannot be said."""
    events: Mapping[int, Event] = field(default_factory=dict)

    @property
    def num_turns(self) -> int:
        """Number of user messages."""
        return sum(m.role == "user" for m in self.messages)

    def as_dict(self) -> dict[str, Any]:
        """Return the case as one line of a case file."""
        instruction: dict[str, Any] = {"text": self.text, "family": self.family}
        if self.value:
            instruction["value"] = self.value
        instruction["verifiers"] = [_flat(v) for c in self.held for v in c.verifiers]
        has_replies = any(m.role == "assistant" for m in self.messages)
        return {
            "id": self.id,
            **(
                {"messages": [m.as_dict() for m in self.messages]}
                if has_replies
                else {"user_turns": [m.content for m in self.messages]}
            ),
            "instruction": instruction,
            **(
                {"events": {str(turn): e.as_dict() for turn, e in sorted(self.events.items())}}
                if self.events
                else {}
            ),
            "constraints": [c.as_dict() for c in (*self.held, *self.others)],
        }


@dataclass(frozen=True, slots=True)
class Imported:
    """The cases of one import."""

    cases: tuple[ImportedCase, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    """What the cases do not say, by its name."""

    @property
    def num_turns(self) -> int:
        """Number of user messages of all cases."""
        return sum(case.num_turns for case in self.cases)

    def count_by_kind(self) -> dict[str, int]:
        """Return how many constraints each verifier kind decides, then judge and not covered.

        A constraint of two kinds counts for both; one that stands in two cases
        counts twice.
        """
        rules: Counter[str] = Counter()
        rest: Counter[str] = Counter({"judge": 0, "not covered": 0})
        for case in self.cases:
            for constraint in (*case.held, *case.others):
                if constraint.by == "rules":
                    rules.update(constraint.kinds())
                else:
                    rest[constraint.by] += 1
        return {**dict(sorted(rules.items())), **rest}


def write_cases(path: Path, cases: Sequence[ImportedCase]) -> None:
    """Write a case file, whole or not at all.

    Raises:
        StoreError: the file cannot be written, or its name says that it is compressed.
    """
    refuse_compressed(path)
    with atomic_stream(path) as stream:
        for case in cases:
            stream.write(json.dumps(case.as_dict(), ensure_ascii=False).encode() + b"\n")


def _flat(spec: VerifierSpec) -> dict[str, Any]:
    return {"kind": spec.kind, **spec.params}
