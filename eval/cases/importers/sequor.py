r"""SEQUOR's test sets: 120 to 210 user turns under constraints that stay, are added or replaced.

Source of the format: deep-spin/SEQUOR, also at BeatrizCanaverde/SEQUOR
(arXiv:2605.06353), its `data/testsets` and `multi_if/test_prompts.py`. A test set
is a JSONL file a conversation, `data/testsets/<regime>/…/<name>.jsonl`, one user
turn a line with the constraints in force::

    {"prompt": "<announcement>\n\n\n<task>", "constraints_data": [{"id": "…", "text": "…"}]}

A prompt has an announcement ("In every reply, abide by this rule: …") only where the
constraints change: at turn 1, and in the regimes `add`, `replace` and `everything` at
later turns too. The announcement of turn 1 is the instruction of the case. A later one
is a switch: `add` if all earlier constraints still hold, else `replace` by all that hold
from that turn on. It keeps its words and stands in front of the task, with one blank
line between them instead of two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from eval.cases.importers.imported import Constraint, Imported, ImportedCase, describe, instruction
from eval.cases.importers.reading import count_unknown, read_rows, take, take_text
from eval.cases.importers.sequor_rules import rules_for
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
    root, files = _find(path)
    left: Counter[str] = Counter()
    cases = [_case(file, root, num_turns, left) for file in files]
    return Imported(tuple(cases), +left)


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
    if root == path and any((folder / "tasks").is_dir() for folder in (path, path / "data")):
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
    regime = next(
        (part for part in file.relative_to(root.parent).parts[:-1] if part in REGIMES), ""
    )
    family = f"sequor_{regime}" if regime else "sequor"
    tasks, changes, asked = [task], [], [*first.constraints]
    for number, (before, turn) in enumerate(pairwise(turns), start=2):
        if before.ids == turn.ids:
            tasks.append(turn.prompt)
            continue
        kind, new = ("replace", turn.constraints)
        if before.ids < turn.ids:
            kind, new = "add", tuple(c for c in turn.constraints if c.id not in before.ids)
        announcement, task = turn.split(new)
        told = instruction(worded(new), family, new, describe(new))
        changes.append({"turn": number, "kind": kind, "text": announcement, "instruction": told})
        tasks.append(task)
        asked += new
    line = {
        "id": "-".join(("sequor", *file.relative_to(root).with_suffix("").parts)),
        "user_turns": tasks,
        "instruction": instruction(text, family, first.constraints, describe(first.constraints)),
        **({"switches": changes} if changes else {}),
    }
    return ImportedCase(line, asked)


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
        constraints.append(Constraint(take_text(raw, "id", inside), text, rules_for(text)))
        count_unknown(raw, ("id", "text"), "a constraint", left)
    return _Turn(where, prompt, tuple(constraints))
