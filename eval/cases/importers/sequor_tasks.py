"""SEQUOR's tasks and constraints, combined as in its `single` and `tuples` regimes.

Source of the format: deep-spin/SEQUOR, also at BeatrizCanaverde/SEQUOR
(arXiv:2605.06353): `data/tasks/persona_<n>.jsonl`, `data/constraints/single.jsonl`,
and for groups (`3.jsonl`) what `multi_if/constraints.py` reads::

    tasks:        {"persona": "…", "activity": "…", "prompt": "<one user turn>"}
    single.jsonl: {"constraint": "…", "id": "…", "satisfiability": 97.0, …}
    3.jsonl:      {"constraints": ["…", "…", "…"], "constraint_ids": ["…", "…", "…"], "id": "…"}

As in SEQUOR, a conversation is some tasks of one persona in their order, and each
persona gets one constraint or group. Two things differ: the draw is seeded, and the
announcement has one wording instead of six.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval.cases.importers.imported import Constraint, Imported, ImportedCase, describe, instruction
from eval.cases.importers.reading import check_text, count_unknown, read_rows, take, take_text
from eval.cases.importers.sequor import worded
from eval.cases.importers.sequor_rules import rules_for
from gatt.errors import DataError

_TASK_KEYS = ("persona", "activity", "prompt")
_CONSTRAINT_KEYS = ("constraint", "id", "satisfiability", "subjectivity", "triviality")
_GROUP_KEYS = ("constraints", "constraint_ids", "id", "satisfiability")

Group = tuple[Constraint, ...]


def compose_cases(path: Path, num_turns: int | None = None, seed: int = 0) -> Imported:
    """Return a case for each persona and file of constraints.

    Args:
        path: the repository's root, or its `data`.
        num_turns: most turns of a case, from 1 up; a persona with fewer tasks
            gives a shorter one, which is counted. None: all tasks of the persona, as there.
        seed: fixes which persona gets which constraint, and which tasks are kept.

    Raises:
        DataError: a folder or file is missing, or not of the format; with the
            line and what was found.
    """
    root = path / "data" if (path / "data").is_dir() else path
    left: Counter[str] = Counter()
    personas = {f.stem: _tasks(f, left) for f in _files(root, "tasks")}
    cases: list[ImportedCase] = []
    for file in _files(root, "constraints"):
        groups = _groups(file, left)
        rng = random.Random(f"{seed}/{file.stem}")
        names = rng.sample(list(personas), len(personas))
        chosen = rng.sample(groups, min(len(groups), len(names)))
        unused = len(groups) - len(chosen)
        left[f"constraints of {file.name} that no persona got"] += unused
        left[f"personas without a constraint of {file.name}"] += len(names) - len(chosen)
        for name, group in zip(names, chosen, strict=False):
            tasks = personas[name]
            most = num_turns or len(tasks)
            left[f"cases of fewer than {most} turns"] += len(tasks) < most
            kept = sorted(rng.sample(range(len(tasks)), min(most, len(tasks))))
            cases.append(_case(f"sequor-{file.stem}-{name}", group, [tasks[n] for n in kept]))
    return Imported(tuple(cases), +left)


def _files(root: Path, name: str) -> list[Path]:
    files = sorted((root / name).glob("*.jsonl")) if (root / name).is_dir() else []
    if not files:
        raise DataError(
            f"{root / name}: no .jsonl file there: expected SEQUOR's folders 'tasks' and "
            "'constraints' side by side"
        )
    return files


def _tasks(file: Path, left: Counter[str]) -> list[str]:
    tasks = []
    for number, row in read_rows(file, "the tasks of a persona"):
        tasks.append(take_text(row, "prompt", f"{file} line {number}"))
        count_unknown(row, _TASK_KEYS, "a task", left)
    return tasks


def _groups(file: Path, left: Counter[str]) -> list[Group]:
    groups = []
    for number, row in read_rows(file, "constraints"):
        where = f"{file} line {number}"
        if "constraints" in row:
            count_unknown(row, _GROUP_KEYS, "a group of constraints", left)
            groups.append(_group(row, where))
        else:
            count_unknown(row, _CONSTRAINT_KEYS, "a constraint", left)
            text = take_text(row, "constraint", where)
            groups.append((_constraint(take_text(row, "id", where), text),))
    return groups


def _group(row: dict[str, Any], where: str) -> Group:
    texts = take(row, "constraints", list, where)
    ids = take(row, "constraint_ids", list, where)
    if not texts or len(texts) != len(ids):
        raise DataError(
            f"{where}: {len(texts)} constraints and {len(ids)} constraint_ids: expected as many of "
            "each, at least one"
        )
    for value in (*texts, *ids):
        if not isinstance(value, str):
            raise DataError(f"{where}: found {value!r} in a group: expected texts only")
    return tuple(
        _constraint(check_text(name, f"{where}: an id"), check_text(text, f"{where}: a constraint"))
        for name, text in zip(ids, texts, strict=True)
    )


def _constraint(name: str, text: str) -> Constraint:
    return Constraint(name, text, rules_for(text))


def _case(identity: str, group: Group, tasks: Sequence[str]) -> ImportedCase:
    family = "sequor_single" if len(group) == 1 else "sequor_tuples"
    told = instruction(worded(group), family, group, describe(group))
    return ImportedCase({"id": identity, "user_turns": list(tasks), "instruction": told}, group)
