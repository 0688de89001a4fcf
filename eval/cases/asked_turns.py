"""The turns of a case that are judged, and those with a probe."""

from __future__ import annotations

from eval.config import EvalConfig
from eval.records.case import Case


def last_turn(case: Case, config: EvalConfig) -> int:
    """Return the last turn of a case that is judged or probed, 0 if there is none."""
    asked = (*config.turns, *(t for t in config.probe_turns if has_probe(case, t, config)))
    return max((turn for turn in asked if turn <= case.num_turns), default=0)


def judged_turns(case: Case, config: EvalConfig) -> tuple[int, ...]:
    """Return the turns of a case whose replies are judged."""
    return tuple(turn for turn in config.turns if turn <= case.num_turns)


def has_probe(case: Case, turn: int, config: EvalConfig) -> bool:
    """Whether a probe is asked at a turn: none once an event has released the model."""
    return (
        case.probe_at(turn) is not None
        and turn in config.probe_turns
        and turn <= case.num_turns
        and case.probed_at(turn) is not None
    )
