"""The turns of a case that are judged, and those with a probe."""

from __future__ import annotations

from eval.config import EvalConfig
from eval.records.case import Case
from eval.records.samples import Kind


def asked_turns(case: Case, config: EvalConfig) -> list[tuple[int, Kind]]:
    """Return turn and kind of everything that is judged in a case: the turns, then the probes."""
    probes = (turn for turn in config.probe_turns if has_probe(case, turn, config))
    return [
        *((turn, "turn") for turn in judged_turns(case, config)),
        *((turn, "probe") for turn in probes),
    ]


def last_turn(case: Case, config: EvalConfig) -> int:
    """Return the last turn of a case that is judged or probed, 0 if there is none."""
    return max((turn for turn, _ in asked_turns(case, config)), default=0)


def judged_turns(case: Case, config: EvalConfig) -> tuple[int, ...]:
    """Return the turns of a case whose replies are judged."""
    if case.turns is not None:
        return case.turns
    if config.turns == "last":
        return (case.num_turns,)
    return tuple(turn for turn in config.turns if turn <= case.num_turns)


def has_probe(case: Case, turn: int, config: EvalConfig) -> bool:
    """Whether a probe is asked at a turn."""
    is_chosen = turn in config.probe_turns and turn <= case.num_turns
    return is_chosen and case.probe_at(turn) is not None


def shown_turns(config: EvalConfig) -> str:
    """Return the turns of a configuration as its YAML has them, for messages."""
    return str(config.turns if config.turns == "last" else list(config.turns))
