"""What an importer makes: cases in the form of a case file, and the count of what it could not say."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from eval.records.samples import Expected
from gatt.data.catalog.ordinary_replies import is_ordinary
from gatt.data.dialogue import Message
from gatt.runs.atomic_file import atomic_stream
from gatt.runs.jsonl import refuse_compressed
from gatt.verifiers.graded.judge import JUDGE
from gatt.verifiers.spec import VerifierSpec

By = Literal["rules", "judge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """One thing that a benchmark asks of replies, and who decides it here."""

    id: str
    text: str
    rules: tuple[VerifierSpec, ...] = ()
    """Verifiers that decide all of it; none: the judge does."""

    @property
    def by(self) -> By:
        """Who decides it."""
        return "rules" if self.rules else "judge"

    @property
    def is_followed_unasked(self) -> bool:
        """Whether its rules also pass ordinary replies, so that a pass says little; False for the judge's."""
        return is_ordinary(self.rules)

    @property
    def verifiers(self) -> tuple[VerifierSpec, ...]:
        """The rules, or the judge with the constraint as its rubric."""
        return self.rules or (VerifierSpec(JUDGE, {"rubric": self.text}),)

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds that decide it, for the count that is printed."""
        return tuple(dict.fromkeys(s.kind for s in self.rules))

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
class Change:
    """A turn from which on another instruction is in force, or a further one."""

    turn: int
    kind: Literal["replace", "add"]
    announcement: str
    """The words of the benchmark that say so, in front of the user's message."""
    rule: str
    """The same as an instruction that could stand at the start."""
    constraints: tuple[Constraint, ...]
    """What it asks for; with `add` what is new."""

    def as_dict(self, family: str) -> dict[str, Any]:
        """Return the change as a case file holds it."""
        return {
            "turn": self.turn,
            "kind": self.kind,
            "text": self.announcement,
            "instruction": _instruction(
                self.rule, family, describe(self.constraints), self.constraints
            ),
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
    probe: tuple[str, Constraint] | None = None
    """A question off the record, and what its answer must be like."""
    events: Mapping[int, Event] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()

    @property
    def num_turns(self) -> int:
        """Number of user messages."""
        return sum(m.role == "user" for m in self.messages)

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """All that is asked for at some turn, each once, in order."""
        groups = [self.held, (self.probe[1],) if self.probe else ()]
        groups += [e.constraints for e in self.events.values()]
        groups += [change.constraints for change in self.changes]
        return tuple({c.id: c for group in groups for c in group}.values())

    def as_dict(self) -> dict[str, Any]:
        """Return the case as one line of a case file."""
        has_replies = any(m.role == "assistant" for m in self.messages)
        return {
            "id": self.id,
            **(
                {"messages": [m.as_dict() for m in self.messages]}
                if has_replies
                else {"user_turns": [m.content for m in self.messages]}
            ),
            "instruction": _instruction(self.text, self.family, self.value, self.held),
            **({"probes": [_probe(*self.probe)]} if self.probe else {}),
            **(
                {"events": {str(turn): e.as_dict() for turn, e in sorted(self.events.items())}}
                if self.events
                else {}
            ),
            **(
                {"switches": [change.as_dict(self.family) for change in self.changes]}
                if self.changes
                else {}
            ),
            "constraints": [c.as_dict() for c in self.constraints],
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
        """Return how many constraints each verifier kind decides, then the judge.

        A constraint of two kinds counts for both; one that stands in two cases
        counts twice.
        """
        rules: Counter[str] = Counter()
        num_judged = 0
        for constraint in (c for case in self.cases for c in case.constraints):
            rules.update(constraint.kinds())
            num_judged += not constraint.rules
        return {**dict(sorted(rules.items())), "judge": num_judged}

    def count_followed_unasked(self) -> tuple[int, int]:
        """Return how many constraints of rules ordinary replies follow too, and how many rules decide."""
        ruled = [c for case in self.cases for c in case.constraints if c.rules]
        return sum(c.is_followed_unasked for c in ruled), len(ruled)


def describe(constraints: Sequence[Constraint]) -> str:
    """Return what several constraints ask for, in one line for a table."""
    return "; ".join(c.text for c in constraints)


def write_cases(path: Path, cases: Sequence[ImportedCase]) -> None:
    """Write a case file, whole or not at all.

    Raises:
        StoreError: the file cannot be written, or its name says that it is compressed.
    """
    refuse_compressed(path)
    with atomic_stream(path) as stream:
        for case in cases:
            stream.write(json.dumps(case.as_dict(), ensure_ascii=False).encode() + b"\n")


def _instruction(text: str, family: str, value: str, held: Sequence[Constraint]) -> dict[str, Any]:
    return {
        "text": text,
        "family": family,
        **({"value": value} if value else {}),
        "verifiers": [_flat(v) for c in held for v in c.verifiers],
    }


def _probe(question: str, asked: Constraint) -> dict[str, Any]:
    return {"question": question, "verifiers": [_flat(v) for v in asked.verifiers]}


def _flat(spec: VerifierSpec) -> dict[str, Any]:
    return {"kind": spec.kind, **spec.params}
