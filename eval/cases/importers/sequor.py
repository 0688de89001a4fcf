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

Constraints are one English sentence each ("Write two paragraphs"). A pattern of `sequor_rules.yaml` matches
only if a verifier decides everything that the sentence asks for: "Write two funny paragraphs" matches none
and goes to the judge. Three readings are wider than a strict one: numbered items count as bullets, the case
and closing punctuation of a sentence to begin or end with do not count ("Sure Thing!"), and one emoji is
enough for "emojis". A marker ("[END]", "AI:") counts with its case and marks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from eval.cases.importers.imported import (
    Constraint,
    Imported,
    ImportedCase,
    find_files,
    instruction,
    record,
)
from eval.records.case import Text
from gatt.errors import DataError
from gatt.runs.store import parsed_records
from gatt.runs.yaml_file import read_mapping
from gatt.verifiers.language.rule import LANGUAGES
from gatt.verifiers.spec import VerifierSpec

PATTERNS_FILE: Final = Path(__file__).with_name("sequor_rules.yaml")
_NUMBER_WORDS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_NUMBERS: Final[Mapping[str, int]] = {
    **{word: number for number, word in enumerate(_NUMBER_WORDS.split())},
    **dict.fromkeys(("a", "single", "a single"), 1),
}
_CODES: Final = {name.casefold(): code for code, name in LANGUAGES.items()}
_PROSE: Final = re.compile(r"\w(?:(?!_)[\w\s.,!?'’-])*(?<![\s,'’-])")
"""A text with no other marks than plain sentences have: a reply needs none of its marks."""

Specs = tuple[VerifierSpec, ...]


@cache
def rules_for(text: str) -> Specs:
    """Return the verifiers that decide a constraint, none if only a judge can decide it."""
    sentence = " ".join(text.split()).rstrip(".! ") or text
    for pattern, reading in _patterns():
        found = pattern.fullmatch(sentence) or pattern.fullmatch(text.strip())
        if found and (spec := _read(found, reading)):
            return (spec,)
    return ()


@cache
def _patterns() -> list[tuple[re.Pattern[str], Any]]:
    table = read_mapping(PATTERNS_FILE).values
    parts = {"NUMBER": "|".join(sorted(_NUMBERS, key=len, reverse=True))}

    def filled(pattern: str) -> str:
        return re.sub(r"\{([A-Z_]+)\}", lambda name: parts[name[1]], pattern)

    for name, part in table["parts"].items():
        parts[name] = filled(part)
    return [(re.compile(filled(text), re.IGNORECASE), how) for text, how in table["patterns"]]


def _read(match: re.Match[str], reading: Any) -> VerifierSpec | None:
    """Return the verifier of a match; None if the sentence asks for something impossible."""
    found = match.groupdict()
    if isinstance(reading, Mapping):
        return VerifierSpec.from_dict(reading)
    if reading == "language":
        code = _CODES.get(found["language"].casefold())
        return VerifierSpec("language", {"language": code}) if code else None
    if reading == "keys":
        names = re.split(r",\s*(?:and\s+)?|\s+and\s+", found["keys"])
        keys = [name.strip(" \"'“”‘’`") for name in names]
        return VerifierSpec("json_object", {"keys": keys}) if all(keys) else None
    if found.get("n"):
        return _counted(found, reading)
    quoted = (found["double"] or found["single"] or found["square"]).strip()
    is_prose = _PROSE.fullmatch(quoted) is not None
    if reading == "phrase":
        # The kind `terms` compares words only, so it would drop the marks of a marker.
        return VerifierSpec("terms", {"all_of": [quoted]}) if is_prose else None
    return VerifierSpec(reading, {"any_of": [quoted], **({} if is_prose else {"exact": True})})


def _counted(found: Mapping[str, str], reading: str) -> VerifierSpec | None:
    kind = re.sub("[ -]point", "", found["unit"].casefold()) + "s"
    number, last = (_number(found.get(name) or found["n"]) for name in ("n", "m"))
    low, high = {
        "between": (number, last),
        "at_most": (1 if kind == "bullets" else None, number),
        "under": (None, number - 1),
        "at_least": (number, None),
        "over": (number + 1, None),
    }[reading]
    if high is not None and high < (low or 1):
        return None
    bounds = {"min": low, "max": high}
    return VerifierSpec(kind, {name: n for name, n in bounds.items() if n is not None})


def _number(text: str) -> int:
    word = text.casefold().replace(",", "")
    return _NUMBERS[word] if word in _NUMBERS else int(word)


REGIMES = ("single", "tuples", "add", "replace", "everything")
SEPARATOR = "\n\n\n"


@dataclass(frozen=True)
class _Row:
    prompt: Text
    constraints_data: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class _Data:
    id: Text
    text: Text


@dataclass(frozen=True)
class _Turn:
    number: int
    prompt: str
    constraints: tuple[Constraint, ...]

    @property
    def ids(self) -> set[str]:
        return {c.id for c in self.constraints}

    def split(self, file: Path, announced: Sequence[Constraint]) -> tuple[str, str]:
        """Return announcement and task.

        Raises:
            DataError: the announcement lacks one of the constraints, or there is no task.
        """
        announcement, _, task = self.prompt.partition(SEPARATOR)
        if not task.strip() or any(c.text not in announcement for c in announced):
            raise DataError(
                f"{file} line {self.number}: {', '.join(c.id for c in announced)} in force from here on: "
                "expected a prompt of all their texts, two blank lines, and the task"
            )
        return announcement.strip(), task


def import_cases(path: Path, num_turns: int | None = None) -> Imported:
    """Return the conversations of SEQUOR's test sets as cases.

    Args:
        path: the repository's root, its `data`, `data/testsets`, a folder in
            that, or one file.
        num_turns: most turns of a case, from 1 up; what comes behind them is counted. None: all.

    Raises:
        DataError: no such file, or one that is not of the format; with the line
            and what was found.
    """
    root, files = find_files(path, "**/*.jsonl", ("data/testsets", "testsets"))
    left: Counter[str] = Counter()
    cases = [_case(file, root, num_turns, left) for file in files]
    return Imported(tuple(cases), +left)


def _case(file: Path, root: Path, num_turns: int | None, left: Counter[str]) -> ImportedCase:
    rows = [turn for _, turn in parsed_records(file, _turn, is_whole=True)]
    if not rows:
        raise DataError(f"{file}: nothing in it: expected the turns of a test set, one a line")
    turns = rows[:num_turns]
    left[f"turns behind the first {num_turns}"] += len(rows) - len(turns)
    first = turns[0].constraints
    text, task = turns[0].split(file, first)
    folders = file.relative_to(root.parent).parts[:-1]
    family = "_".join(("sequor", *[part for part in folders if part in REGIMES][:1]))
    tasks, changes, asked = [task], [], [*first]
    for before, turn in pairwise(turns):
        if before.ids == turn.ids:
            tasks.append(turn.prompt)
            continue
        kind, new = ("replace", turn.constraints)
        if before.ids < turn.ids:
            kind, new = "add", tuple(c for c in turn.constraints if c.id not in before.ids)
        announcement, task = turn.split(file, new)
        told = instruction(_worded(new), family, new, _value(new))
        turn_number = len(tasks) + 1
        changes.append(
            {"turn": turn_number, "kind": kind, "text": announcement, "instruction": told}
        )
        tasks.append(task)
        asked += new
    line = {
        "id": "-".join(("sequor", *file.relative_to(root).with_suffix("").parts)),
        "user_turns": tasks,
        "instruction": instruction(text, family, first, _value(first)),
        **({"switches": changes} if changes else {}),
    }
    return ImportedCase(line, asked)


def _turn(number: int, raw: dict[str, Any]) -> _Turn:
    row = record(_Row, raw, "a turn")
    if not row.constraints_data:
        raise DataError("'constraints_data' is empty: expected at least one constraint")
    found = [
        record(_Data, data, f"constraint {n}") for n, data in enumerate(row.constraints_data, 1)
    ]
    constraints = tuple(Constraint(data.id, data.text, rules_for(data.text)) for data in found)
    return _Turn(number, row.prompt, constraints)


def _worded(constraints: Sequence[Constraint]) -> str:
    """Return constraints as an instruction that could stand at the start of a dialogue."""
    if len(constraints) == 1:
        return f"Follow this rule in all your replies: {constraints[0].text}"
    rules = "\n".join(f"{n}. {c.text}" for n, c in enumerate(constraints, start=1))
    return f"Follow these rules in all your replies:\n{rules}"


def _value(constraints: Sequence[Constraint]) -> str:
    return "; ".join(c.text for c in constraints)
