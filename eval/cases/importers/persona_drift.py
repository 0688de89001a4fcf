"""persona_drift: system prompts, each with a probe and a function that scores its answer from 0 to 1.

Source of the format: likenneth/persona_drift (Li et al. 2024, arXiv:2402.10962), its
`hundred_system_prompts.py` and, beside it, `utils.py`::

    pattern_system_prompts = [("<system prompt>", "<probe>", lambda x: ...), ...]
    topics = ["<first message of a chat>", ...]

Both files are parsed and never run. The function that grades a probe is named after its
list and its place there, such as `pattern-0`; `docs/guides/evaluation.md` has the score
file that finds it. In persona_drift a second model plays the user, starting from a topic.
Here each user message is a topic, drawn for each case.
"""

from __future__ import annotations

import ast
import random
import warnings
from collections.abc import Iterator
from pathlib import Path

from eval.cases.importers.imported import (
    Constraint,
    Imported,
    ImportedCase,
    instruction,
    verifiers_of,
)
from eval.cases.importers.reading import check_text
from gatt.errors import DataError
from gatt.verifiers.graded.score import SCORE
from gatt.verifiers.spec import VerifierSpec

FILE = "hundred_system_prompts.py"
TOPICS_FILE = "utils.py"
ENDING = "_system_prompts"
NUM_TURNS = 8


def import_persona_drift(path: Path, num_turns: int | None = None, seed: int = 0) -> Imported:
    """Return a case for each system prompt of a copy of persona_drift.

    Args:
        path: the repository's root, or its file of prompts.
        num_turns: turns of a case, from 1 to the number of topics; None: `NUM_TURNS`.
        seed: fixes which topics a case has.

    Raises:
        DataError: a file is missing, or not of the format; with its line and what was found.
    """
    file = path / FILE if path.is_dir() else path
    topics = _topics(file.with_name(TOPICS_FILE))
    num = NUM_TURNS if num_turns is None else num_turns
    if not 1 <= num <= len(topics):
        raise DataError(f"--num-turns is {num}: expected 1 to {len(topics)}, a topic for each turn")
    cases = []
    for name, prompt, probe in _prompts(file):
        drawn = random.Random(f"{seed}/{name}").sample(topics, num)
        family = f"persona_drift_{name.rpartition('-')[0]}"
        graded = Constraint(name, prompt, (VerifierSpec(SCORE, {"function": name}),))
        line = {
            "id": f"persona_drift-{name}",
            "user_turns": drawn,
            "instruction": instruction(prompt, family, (), value=prompt),
            "probes": [{"question": probe, "verifiers": verifiers_of([graded])}],
        }
        cases.append(ImportedCase(line, [graded]))
    if not cases:
        raise DataError(f"{file}: no list named *{ENDING}: expected persona_drift's {FILE}")
    return Imported(tuple(cases))


def _prompts(file: Path) -> Iterator[tuple[str, str, str]]:
    """Yield name, system prompt and probe of each entry."""
    for list_name, found in _lists(file):
        if not list_name.endswith(ENDING):
            continue
        for number, entry in enumerate(found.elts):
            where = f"{file} line {entry.lineno}"
            if not isinstance(entry, ast.Tuple) or len(entry.elts) != 3:
                raise DataError(
                    f"{where}: found {type(entry).__name__}: expected (prompt, probe, function)"
                )
            prompt, probe, _ = entry.elts
            name = f"{list_name.removesuffix(ENDING)}-{number}"
            yield name, _text(prompt, f"{where}: prompt"), _text(probe, f"{where}: probe")


def _topics(file: Path) -> list[str]:
    for name, found in _lists(file):
        if name == "topics":
            texts = [_text(item, f"{file} line {item.lineno}: topic") for item in found.elts]
            return list(dict.fromkeys(texts))
    raise DataError(f"{file}: no list 'topics': expected persona_drift's {TOPICS_FILE}")


def _lists(file: Path) -> Iterator[tuple[str, ast.List]]:
    """Yield the lists that a file assigns to names; nothing of it is run."""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(file.read_bytes())
    except OSError as error:
        raise DataError(f"{file}: cannot read: {error.strerror}: check the path") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        at = f" line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise DataError(f"{file}{at}: cannot be read as Python: {type(error).__name__}") from None
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.List):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    yield target.id, statement.value


def _text(node: ast.expr, where: str) -> str:
    value = node.value if isinstance(node, ast.Constant) else None
    if not isinstance(value, str):
        raise DataError(f"{where}: found {type(node).__name__}: expected a text in quotes")
    return check_text(value, where)
