r"""SEQUOR's test sets: 120 to 210 user turns under constraints that hold, join in, or take over.

Source of the format: deep-spin/SEQUOR, also at BeatrizCanaverde/SEQUOR
(arXiv:2605.06353), its `data/testsets` and `multi_if/test_prompts.py`. A test set
is a JSONL file a conversation, `data/testsets/<regime>/…/<name>.jsonl`, one user
turn a line with the constraints in force::

    {"prompt": "<announcement>\n\n\n<task>", "constraints_data": [{"id": "…", "text": "…"}]}

The announcement ("In every reply, abide by this rule: …") stands only where the
constraints change: at turn 1, and in the regimes `add`, `replace` and
`everything` later too. That of turn 1 is the instruction of the case. A later one
is a switch: `add` where all earlier constraints still hold, else `replace` by all
that hold from there on. It keeps its words and its place in front of the task,
one blank line instead of two between them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from eval.cases.importers.imported import Change, Constraint, Imported, ImportedCase, describe
from eval.cases.importers.reading import count_unknown, read_rows, take, take_text
from eval.cases.importers.sequor_rules import rules_for
from gatt.data.dialogue import Message
from gatt.errors import DataError

REGIMES = ("single", "tuples", "add", "replace", "everything")
SEPARATOR = "\n\n\n"


@dataclass(frozen=True, slots=True)
class _Turn:
    where: str
    prompt: str
    constraints: tuple[Constraint, ...]

    @property
    def ids(self) -> set[str]:
        return {c.id for c in self.constraints}

    def split(self, announced: Sequence[Constraint]) -> tuple[str, str]:
        """Return announcement and task.

        Raises:
            DataError: the announcement lacks one of the constraints, or there is no task.
        """
        announcement, separator, task = self.prompt.partition(SEPARATOR)
        for constraint in announced:
            if not separator or constraint.text not in announcement:
                raise DataError(
                    f"{self.where}: constraint {constraint.id!r} is in force from here on, but the prompt "
                    "does not begin with it: expected its text, two blank lines, and the task"
                )
        if not task.strip():
            raise DataError(
                f"{self.where}: no task behind the announcement: expected a user's words"
            )
        return announcement.strip(), task


def import_testsets(path: Path, num_turns: int | None = None) -> Imported:
    """Return the conversations of SEQUOR's test sets as cases.

    Args:
        path: the repository's root, its `data`, `data/testsets`, a folder in
            that, or one file.
        num_turns: most turns of a case, from 1 up; what comes behind them is counted. None: all.

    Raises:
        DataError: no such file, or one that is not of the format; with the line
            and what was found.
    """
    check_num_turns(num_turns)
    root, files = _find(path)
    left: Counter[str] = Counter()
    cases = [_case(file, root, num_turns, left) for file in files]
    return Imported(tuple(cases), +left)


def case_id(file: Path, root: Path) -> str:
    """Return `sequor-` and the way from a folder to a file."""
    parts = file.relative_to(root).with_suffix("").parts
    return "-".join(("sequor", *parts))


def check_num_turns(num_turns: int | None) -> None:
    """Refuse a number of turns below 1.

    Raises:
        DataError: see above.
    """
    if num_turns is not None and num_turns < 1:
        raise DataError(f"--num-turns is {num_turns}: expected at least 1")


def worded(constraints: Sequence[Constraint]) -> str:
    """Return constraints as an instruction that could stand at the start of a dialogue."""
    if len(constraints) == 1:
        return f"Follow this rule in all your replies: {constraints[0].text}"
    rules = "\n".join(f"{n}. {c.text}" for n, c in enumerate(constraints, start=1))
    return f"Follow these rules in all your replies:\n{rules}"


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


def _case(file: Path, root: Path, num_turns: int | None, left: Counter[str]) -> ImportedCase:
    rows = read_rows(file, "the turns of a SEQUOR test set")
    kept = rows[:num_turns]
    left[f"turns behind the first {num_turns}"] += len(rows) - len(kept)
    turns = [_turn(row, f"{file} line {number}", left) for number, row in kept]
    first = turns[0]
    text, task = first.split(first.constraints)
    tasks, changes = [task], []
    for number, (before, turn) in enumerate(pairwise(turns), start=2):
        change, task = _follow(number, before, turn)
        tasks.append(task)
        changes += [change] if change else []
    folders = file.relative_to(root.parent).parts[:-1]
    regime = next((part for part in folders if part in REGIMES), "")
    return ImportedCase(
        id=case_id(file, root),
        messages=tuple(Message("user", task) for task in tasks),
        text=text,
        family=f"sequor_{regime}" if regime else "sequor",
        value=describe(first.constraints),
        held=first.constraints,
        changes=tuple(changes),
    )


def _follow(number: int, before: _Turn, turn: _Turn) -> tuple[Change | None, str]:
    """Return how the constraints change at a turn, None where they do not, and the user's words."""
    if before.ids == turn.ids:
        return None, turn.prompt
    has_ended = bool(before.ids - turn.ids)
    asked = (
        turn.constraints
        if has_ended
        else tuple(c for c in turn.constraints if c.id not in before.ids)
    )
    announcement, task = turn.split(asked)
    change = Change(
        turn=number,
        kind="replace" if has_ended else "add",
        announcement=announcement,
        rule=worded(asked),
        constraints=asked,
    )
    return change, task


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
