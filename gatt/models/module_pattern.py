"""PEFT's patterns for names of modules: those that may take for ever to match are refused. No torch here."""

from __future__ import annotations

import re
from typing import Final

_MOST_OPEN: Final = 3
"""Unbounded repetitions: each multiplies the number of tries by the length of a name."""
_MOST_OPTIONAL: Final = 8
"""Each doubles the number of tries."""
_LITERALS: Final = re.compile(r"\\.|\[\^?\]?[^\]]*\]", re.DOTALL)


def pattern_problem(pattern: str) -> str | None:
    """Return why a regular expression cannot be used for names of modules; None where it can."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"no regular expression ({error})"
    shape = _LITERALS.sub("x", pattern)
    if re.search(r"\)[*+{]", shape):
        return "a group that repeats, which may take for ever to match"
    if len(re.findall(r"[*+]|\{\d*,\}", shape)) > _MOST_OPEN:
        return f"more than {_MOST_OPEN} parts that repeat, which may take for ever to match"
    # `(?:…)` is no optional part, nor is the `?` that makes a repetition lazy.
    if len(re.findall(r"(?<![(*+}])\?|\{", shape)) > _MOST_OPTIONAL:
        return f"more than {_MOST_OPTIONAL} optional parts, which may take for ever to match"
    return None
