"""What happened at the end of the context: who was cut off, and where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One arm and history: the cases whose context was full before their end."""

    arm: str
    history: str
    num_cases: int
    num_cases_cut: int
    """Cases with at least one reply that the context had no room for, or cut."""
    first_turn: int | None
    """The earliest turn at which that happened."""
    num_replies_without: int
    """Turns without any reply: undecided, never a pass or a fail."""


def limits(rows: Iterable[Mapping[str, Any]]) -> list[Limit]:
    """Return one record for each arm and history that met the end of its context.

    Args:
        rows: of `rollouts.jsonl`.
    """
    cases: dict[tuple[str, str], set[str]] = {}
    cut: dict[tuple[str, str], set[str]] = {}
    turns: dict[tuple[str, str], list[int]] = {}
    silent: dict[tuple[str, str], int] = {}
    for row in rows:
        arm, history, case, *turn = row["key"].split("/")
        group = (arm, history)
        cases.setdefault(group, set()).add(case)
        replies = [
            (s["turn"], s["finish"], s["reply"]) for s in row["samples"] if s["kind"] == "turn"
        ]
        if "said" in row:
            replies = [(int(turn[0]), row["said"]["finish"], row["said"]["text"])]
        for at, finish, text in replies:
            if finish == "context_limit":
                cut.setdefault(group, set()).add(case)
                turns.setdefault(group, []).append(at)
                silent[group] = silent.get(group, 0) + (not text)
    return [
        Limit(
            arm=group[0],
            history=group[1],
            num_cases=len(cases[group]),
            num_cases_cut=len(found),
            first_turn=min(turns[group]),
            num_replies_without=silent[group],
        )
        for group, found in cut.items()
    ]
