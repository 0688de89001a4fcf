r"""SEQUOR's test sets: 50 user turns under constraints that hold, join in, or take over.

Source of the format: deep-spin/SEQUOR, also at BeatrizCanaverde/SEQUOR
(arXiv:2605.06353), its `data/testsets` and `multi_if/test_prompts.py`. A test set
is a JSONL file a conversation, `data/testsets/<regime>/…/<name>.jsonl`, one user
turn a line with the constraints in force::

    {"prompt": "<announcement>\n\n\n<task>", "constraints_data": [{"id": "…", "text": "…"}]}

The announcement ("In every reply, abide by this rule: …") stands only where the
constraints change: at turn 1, and in the regimes `add`, `replace` and
`everything` later too. That of turn 1 is the instruction of the case. An added
constraint is an event of the turn that adds it, where the announcement stays in
the user's words: it is judged there, and what it asks for later cannot be said.
From a replacement on, another instruction would be in force: the case ends. It
still has the turn of the replacement, as a release, where the old instruction is
followed by nobody by chance; SEQUOR itself never fails a reply for following it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from eval.importers.imported import Constraint, Event, Imported, ImportedCase
from eval.importers.reading import count_unknown, read_rows, take, take_text
from eval.importers.sequor_rules import rules_for
from eval.samples import Expected
from gatt.dialogue import Message
from gatt.errors import DataError

REGIMES = ("single", "tuples", "add", "replace", "everything")
SEPARATOR = "\n\n\n"
NEVER_BY_CHANCE = ("language", "starts_with", "ends_with", "json_object")
"""Kinds of rules that nobody follows unasked, but for English."""

_ADDED = "turns on which an added constraint holds unjudged"
_REPLACED = "turns from a replaced constraint on"


@dataclass(frozen=True, slots=True)
class _Turn:
    where: str
    prompt: str
    constraints: tuple[Constraint, ...]

    @property
    def ids(self) -> set[str]:
        return {c.id for c in self.constraints}


@dataclass(frozen=True, slots=True)
class _Told:
    """What a case says of the turns behind the first."""

    prompts: list[str] = field(default_factory=list)
    events: dict[int, Event] = field(default_factory=dict)
    others: dict[str, Constraint] = field(default_factory=dict)

    def add(
        self, number: int, turn: _Turn, kind: str, expect: Expected, asked: tuple[Constraint, ...]
    ) -> None:
        """Add a turn at which the constraints change."""
        self.prompts.append(turn.prompt)
        self.events[number] = Event(kind=kind, expect=expect, constraints=asked)
        self.others.update((c.id, c) for c in asked)


def import_testsets(path: Path) -> Imported:
    """Return the conversations of SEQUOR's test sets as cases.

    Args:
        path: the repository's root, its `data`, `data/testsets`, a folder in
            that, or one file.

    Raises:
        DataError: no such file, or one that is not of the format; with the line
            and what was found.
    """
    root, files = _find(path)
    left: Counter[str] = Counter()
    cases = [_case(file, root, left) for file in files]
    return Imported(tuple(cases), +left)


def case_id(file: Path, root: Path) -> str:
    """Return `sequor-` and the way from a folder to a file."""
    parts = file.relative_to(root).with_suffix("").parts
    return "-".join(("sequor", *parts))


def describe(constraints: Sequence[Constraint]) -> str:
    """Return what several constraints ask for, in one line for a table."""
    return "; ".join(c.text for c in constraints)


def _find(path: Path) -> tuple[Path, list[Path]]:
    if not path.is_dir():
        return path.parent, [path]
    inner = (path / "data" / "testsets", path / "testsets")
    root = next((folder for folder in inner if folder.is_dir()), path)
    if root == path and (path / "tasks").is_dir():
        raise DataError(
            f"{path}: tasks but no testsets in it: expected data/testsets, or add --compose to make "
            "cases of the tasks"
        )
    files = sorted(root.rglob("*.jsonl"))
    if not files:
        raise DataError(
            f"{path}: no .jsonl file in it: expected SEQUOR's repository, data/testsets, or a folder "
            "of test sets"
        )
    return root, files


def _case(file: Path, root: Path, left: Counter[str]) -> ImportedCase:
    turns = [
        _turn(row, f"{file} line {number}", left)
        for number, row in read_rows(file, "the turns of a SEQUOR test set")
    ]
    first = turns[0]
    _check_announced(first.prompt, first.constraints, first.where)
    text, _, task = first.prompt.partition(SEPARATOR)
    if not task.strip():
        raise DataError(f"{first.where}: no task behind the announcement: expected a user's words")
    told = _follow(turns, left)
    folders = file.relative_to(root.parent).parts[:-1]
    regime = next((part for part in folders if part in REGIMES), "")
    return ImportedCase(
        id=case_id(file, root),
        messages=tuple(Message("user", prompt) for prompt in (task, *told.prompts)),
        text=text.strip(),
        family=f"sequor_{regime}" if regime else "sequor",
        value=describe(first.constraints),
        held=first.constraints,
        others=tuple(told.others.values()),
        events=told.events,
    )


def _follow(turns: Sequence[_Turn], left: Counter[str]) -> _Told:
    """Return what a case can say of the turns behind the first; `left` counts the rest."""
    first = turns[0]
    told = _Told()
    for number, (before, turn) in enumerate(pairwise(turns), start=2):
        new = {c.id: c for c in turn.constraints if c.id not in before.ids}
        _check_announced(turn.prompt, tuple(new.values()), turn.where)
        if before.ids - turn.ids:
            if _can_release(first.constraints, turn.constraints):
                told.add(number, turn, "replaced_constraint", "released", turn.constraints)
            left[_REPLACED] += len(turns) - 1 - len(told.prompts)
            break
        left[_ADDED] += bool(told.others)
        if new:
            told.add(number, turn, "added_constraint", "kept", tuple(new.values()))
        else:
            told.prompts.append(turn.prompt)
    for turn in turns[1 + len(told.prompts) :]:
        for c in turn.constraints:
            if c.id not in first.ids:
                told.others.setdefault(c.id, replace(c, is_covered=False))
    return told


def _turn(row: dict[str, Any], where: str, left: Counter[str]) -> _Turn:
    prompt = take_text(row, "prompt", where)
    if "constraints_data" not in row and {"persona", "activity"} & set(row):
        raise DataError(
            f"{where}: a task without 'constraints_data': expected a test set; --compose makes cases "
            "of tasks and constraints"
        )
    raws = take(row, "constraints_data", list, where)
    if not raws:
        raise DataError(f"{where}: 'constraints_data' is empty: expected at least one constraint")
    count_unknown(row, ("prompt", "constraints_data"), "a turn", left)
    constraints = []
    for number, raw in enumerate(raws, start=1):
        inside = f"{where}, constraint {number}"
        text = take_text(raw, "text", inside)
        constraints.append(
            Constraint(id=take_text(raw, "id", inside), text=text, rules=rules_for(text))
        )
        count_unknown(raw, ("id", "text"), "a constraint", left)
    return _Turn(where, prompt, tuple(constraints))


def _check_announced(prompt: str, new: Sequence[Constraint], where: str) -> None:
    announcement, separator, _ = prompt.partition(SEPARATOR)
    for constraint in new:
        if not separator or constraint.text not in announcement:
            raise DataError(
                f"{where}: constraint {constraint.id!r} is in force from here on, but the prompt does "
                "not begin with it: expected its text, two blank lines, and the task"
            )


def _can_release(held: Sequence[Constraint], now: Sequence[Constraint]) -> bool:
    """Whether following the old instruction is a fault now, and no chance."""
    asked_now = [spec for c in now for spec in c.rules]
    return all(
        c.rules
        and all(
            spec.kind in NEVER_BY_CHANCE
            and spec.params.get("language") != "en"
            and spec not in asked_now
            for spec in c.rules
        )
        for c in held
    )
