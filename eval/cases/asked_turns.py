"""The turns of a case that are judged, and those with a probe."""

from __future__ import annotations

from eval.config import EvalConfig
from eval.records.arms import ALONE, BASE, WITHOUT_HISTORY, History, slips_of
from eval.records.case import Case
from eval.records.samples import Kind


def asked_turns(
    case: Case, config: EvalConfig, arm: str = BASE, history: History = "own"
) -> list[tuple[int, Kind]]:
    """Return turn and kind of everything that is judged in a case: the turns, then the probes."""
    probes = (t for t in config.probe_turns if has_probe(case, t, config, arm, history))
    return [
        *((turn, "turn") for turn in judged_turns(case, config, arm, history)),
        *((turn, "probe") for turn in probes),
    ]


def last_turn(case: Case, config: EvalConfig, arm: str = BASE, history: History = "own") -> int:
    """Return the last turn of a case that is judged or probed, 0 if there is none."""
    return max((turn for turn, _ in asked_turns(case, config, arm, history)), default=0)


def judged_turns(
    case: Case, config: EvalConfig, arm: str = BASE, history: History = "own"
) -> tuple[int, ...]:
    """Return the turns of a case whose replies are judged.

    Turns of a slip are left out: their replies are the dialogue's. An arm without history is judged only at
    turns under an instruction. The arm `alone` is not judged where the user asks for something told earlier.
    """
    turns = tuple(turn for turn in _chosen_turns(case, config) if turn > slips_of(history))
    if arm not in WITHOUT_HISTORY:
        return turns
    return tuple(
        turn
        for turn in turns
        if case.held_at(turn) is not None and not (arm == ALONE and case.asks_for_told(turn))
    )


def _chosen_turns(case: Case, config: EvalConfig) -> tuple[int, ...]:
    if case.turns is not None:
        return case.turns
    if config.turns == "last":
        return (case.num_turns,)
    return tuple(turn for turn in config.turns if turn <= case.num_turns)


def has_probe(
    case: Case, turn: int, config: EvalConfig, arm: str = BASE, history: History = "own"
) -> bool:
    """Whether a probe is asked at a turn; it asks what a history does, so arms without one get none."""
    is_chosen = turn in config.probe_turns and slips_of(history) < turn <= case.num_turns
    return is_chosen and arm not in WITHOUT_HISTORY and case.probe_at(turn) is not None


def shown_turns(config: EvalConfig) -> str:
    """Return the turns of a configuration as its YAML has them, for messages."""
    return str(config.turns if config.turns == "last" else list(config.turns))
