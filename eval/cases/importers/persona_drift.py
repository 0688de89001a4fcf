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

from eval.cases.importers.imported import Line, find_file
from gatt.errors import DataError
from gatt.verifiers.graded.score import SCORE

FILE = "hundred_system_prompts.py"
TOPICS_FILE = "utils.py"
ENDING = "_system_prompts"


def import_cases(path: Path, num_turns: int = 8, seed: int = 0) -> list[Line]:
    """Return a case for each system prompt of a copy of persona_drift.

    Args:
        path: the repository's root, or its file of prompts.
        num_turns: turns of a case, from 1 to the number of topics.
        seed: fixes which topics a case has.

    Raises:
        DataError: a file is missing, or not of the format; with its line and what was found.
    """
    file = find_file(path, FILE)
    topics_file = file.with_name(TOPICS_FILE)
    listed = _lists(topics_file).get("topics", [])
    topics = list(dict.fromkeys(_text(item, topics_file) for item in listed))
    if not 1 <= num_turns <= len(topics):
        raise DataError(
            f"{topics_file}: --num-turns is {num_turns}: expected 1 to {len(topics)}, one of its list "
            "'topics' for each turn"
        )
    cases = []
    for name, prompt, probe in _prompts(file):
        family = f"persona_drift_{name.rpartition('-')[0]}"
        graded = {"kind": SCORE, "function": name}
        cases.append(
            {
                "id": f"persona_drift-{name}",
                "user_turns": random.Random(f"{seed}/{name}").sample(topics, num_turns),
                "instruction": {
                    "text": prompt, "family": family, "value": prompt, "verifiers": []
                },
                "probes": [{"question": probe, "verifiers": [graded]}],
                "constraints": [{"id": name, "text": prompt, "by": "rules"}],
            }
        )  # fmt: skip
    if not cases:
        raise DataError(f"{file}: no list named *{ENDING}: expected persona_drift's {FILE}")
    return cases


def _prompts(file: Path) -> Iterator[tuple[str, str, str]]:
    """Yield name, system prompt and probe of each entry."""
    for list_name, found in _lists(file).items():
        for number, entry in enumerate(found if list_name.endswith(ENDING) else ()):
            if not isinstance(entry, ast.Tuple) or len(entry.elts) != 3:
                raise DataError(
                    f"{file} line {entry.lineno}: found {type(entry).__name__}: expected (prompt, probe, "
                    "function)"
                )
            name = f"{list_name.removesuffix(ENDING)}-{number}"
            yield name, _text(entry.elts[0], file), _text(entry.elts[1], file)


def _lists(file: Path) -> dict[str, list[ast.expr]]:
    """Return the lists that a file assigns to names; nothing of it is run."""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(file.read_bytes())
    except OSError as error:
        raise DataError(f"{file}: cannot read: {error.strerror}: check the path") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise DataError(f"{file}: cannot be read as Python: {error!r}") from None
    return {
        target.id: statement.value.elts
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.List)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }


def _text(node: ast.expr, file: Path) -> str:
    value = node.value if isinstance(node, ast.Constant) else None
    if not isinstance(value, str) or not value.strip():
        raise DataError(
            f"{file} line {node.lineno}: found {ast.unparse(node)}: expected a text in quotes"
        )
    return value
