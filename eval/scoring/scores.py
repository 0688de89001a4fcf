"""Graded scores: functions of the user's own file, from a reply to a number from 0 to 1.

::

    def french_share(reply: str) -> float: ...

    SCORES = {"french": french_share}

A verifier names one: `{"kind": "score", "function": "french", "at_least": 0.5}`. The file is
run as code, so only the configuration can name it: a suite or a case file cannot.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Final

from eval.records.case import Case
from eval.records.samples import Sample
from eval.scoring.verdict import expected_status
from gatt.errors import DataError
from gatt.runs.suggest import did_you_mean
from gatt.verifiers import Status, Verdict, build, overall
from gatt.verifiers.graded.score import SCORE, Score
from gatt.verifiers.spec import VerifierSpec

TABLE: Final = "SCORES"
MOST_CHARACTERS: Final = 200
"""Longest error message of the user's code that is shown."""

Functions = Mapping[str, Callable[[str], Any]]
"""Name -> function from a reply to its score."""


def _read_scores(path: Path) -> Functions:
    """Run a Python file and return its table `SCORES`."""
    spec = spec_from_file_location("gatt_scores", path) if path.suffix == ".py" else None
    if spec is None or spec.loader is None or not path.is_file():
        raise DataError(f"{path}: expected a Python file with a table {TABLE} of functions")
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise DataError(f"{path}: cannot be run: {_one_line(error)}") from None
    found = getattr(module, TABLE, None)
    if not isinstance(found, Mapping) or not found:
        raise DataError(
            f"{path}: {TABLE} is {type(found).__name__}: expected names with their functions"
        )
    for name, function in found.items():
        if not callable(function):
            raise DataError(
                f"{path}: {TABLE} has {name!r}: {type(function).__name__}: expected a name with a function"
            )
    return found


def scores_for(path: Path | None, cases: Iterable[Case]) -> Functions:
    """Return the functions of a file, none without a file.

    Raises:
        DataError: the file is missing, fails, or has no such table of functions; or a case names a
            function that the file has not.
    """
    if path is None:
        return {}
    functions = _read_scores(path)
    for case in cases:
        told = (case.instruction, *(switch.instruction for switch in case.switches))
        held = [instruction for instruction in told if instruction]
        groups = [instruction.verifiers for instruction in held]
        groups += [probe.verifiers for instruction in held for probe in instruction.probes]
        groups += [event.verifiers for event in case.events.values()]
        named = [v.params["function"] for group in groups for v in group if v.kind == SCORE]
        if missing := [name for name in named if name not in functions]:
            raise DataError(
                f"case {case.id!r}: no function {missing[0]!r} in {TABLE} of {path}"
                f"{did_you_mean(missing[0], functions)} (known: {', '.join(functions)})"
            )
    return functions


def with_scores(samples: Iterable[Sample], functions: Functions) -> list[Sample]:
    """Return the samples with `score` set and their `score` verdicts decided, in order.

    The score of a reply with several `score` verifiers is their mean, and all must pass. If a
    function fails or returns no number from 0 to 1, the verdict stays undecided and the reply
    has no score.

    Args:
        samples: of a run; a reply that was never given has no score.
        functions: of `scores_for`; without functions the samples stay as they are.
    """
    return [_scored(sample, functions) if functions else sample for sample in samples]


def _scored(sample: Sample, functions: Functions) -> Sample:
    asked = [spec for spec in sample.asked if spec.kind == SCORE]
    if not asked or all(v.verifier != SCORE for v in sample.verdicts):
        return sample
    found = [_ask(spec, sample.reply, functions) for spec in asked]
    values = [value for value, _ in found if value is not None]
    later = iter(found)
    verdicts = []
    for verdict in sample.verdicts:
        new = next(later)[1] if verdict.verifier == SCORE else verdict
        # A degenerate reply has failed already, whatever its score.
        verdicts.append(new if verdict.status == "undecided" else verdict)
    return replace(
        sample,
        score=math.fsum(values) / len(values) if len(values) == len(found) else None,
        verdicts=tuple(verdicts),
        status=expected_status(overall(verdicts), sample.expected),
        loose=_loose(sample.loose, verdicts),
    )


def _loose(loose: Status | None, verdicts: Sequence[Verdict]) -> Status | None:
    """Return the lenient status: a function has one reading only."""
    if loose != "undecided":
        return loose
    if any(v.verifier == SCORE and v.status == "fail" for v in verdicts):
        return "fail"
    return "undecided" if any(v.status == "undecided" for v in verdicts) else "pass"


def _ask(spec: VerifierSpec, reply: str, functions: Functions) -> tuple[float | None, Verdict]:
    verifier = build(spec)
    assert isinstance(verifier, Score)
    try:
        value = functions[verifier.function](reply)
        number = float(value)
    except Exception as error:
        return None, verifier.undecided(f"{verifier.function} failed: {_one_line(error)}")
    if not 0 <= number <= 1:
        return None, verifier.undecided(
            f"{verifier.function} gives {value!r}: expected a number from 0 to 1"
        )
    return number, verifier.of_value(number)


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:MOST_CHARACTERS]
