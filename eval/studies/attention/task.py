"""The cases of an evaluation whose instruction holds to the end, and both arms' replies to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from eval.cases.build import load_inputs
from eval.config import BASE, EvalConfig
from eval.records.case import Case
from eval.records.file_names import samples_of_run
from eval.records.samples import History, Sample, read_samples
from eval.studies.attention.config import AttendConfig
from gatt.config.load import load_config
from gatt.data.instruction import Instruction
from gatt.errors import ConfigError, DataError
from gatt.generation.base import Engine

CONFIG_FILE: Final = "eval.yaml"
NO_INSTRUCTION: Final = "no instruction"
CHANGES: Final = "the instruction changes or ends"
NO_REPLY: Final = "no reply at these turns"
HISTORY: Final[History] = "reference"
"""The history that both arms read: the dialogue's own replies."""


@dataclass(frozen=True)
class Task:
    """Cases, and the arms whose replies are measured."""

    config: EvalConfig
    """Of the evaluation, with the base model and one adapter."""
    arms: tuple[str, str]
    """Base model and adapter."""
    cases: tuple[Case, ...]
    source: Mapping[str, object]
    """The source of the dialogues."""
    dropped: Counter[str]
    """Number of cases and replies that are not measured, by reason; later steps add theirs."""


@dataclass(frozen=True)
class Spoken:
    """One arm's replies to one case."""

    case: Case
    arm: str
    samples: tuple[Sample, ...]
    """At rising turns, at least one."""

    @property
    def instruction(self) -> Instruction:
        """The instruction of turn 1."""
        assert self.case.instruction is not None
        return self.case.instruction


def plan(config: AttendConfig) -> Task:
    """Return the cases of an evaluation; no model is loaded.

    Raises:
        ConfigError: an evaluation without such an arm or without this history, or from a server.
        DataError: no evaluation, or none of its cases has an instruction that holds to the end.
    """
    path = config.results / CONFIG_FILE
    if not path.is_file():
        raise DataError(f"{path.parent}: no {path.name}: expected the output_dir of `gatt eval`")
    found = replace(load_config(EvalConfig, path), output_dir=config.results)
    if found.engine.server is not None:
        raise ConfigError(
            f"{path}: its replies come from a server, which returns no attention weights: expected the "
            "evaluation of a local model"
        )
    if HISTORY not in found.histories:
        raise ConfigError(
            f"{path}: histories is {list(found.histories)}: expected {HISTORY!r} among them, since both arms "
            "must read the same text"
        )
    arm = _arm(config, found, path)
    digest = found.engine.weights_digest()
    inputs = load_inputs(found, found.instructions.load(), lambda: _no_engine(path), digest)
    instructed = [case for case in inputs.cases if case.instruction is not None]
    steady = [c for c in instructed if not c.switches and c.release_turn is None]
    if not steady:
        raise DataError(
            f"{path}: in none of its {len(inputs.cases)} cases does one instruction hold to the end: "
            "expected an evaluation with num_dialogues above 0, and with cases without changes"
        )
    dropped = {
        NO_INSTRUCTION: len(inputs.cases) - len(instructed),
        CHANGES: len(instructed) - len(steady),
    }
    two_arms = replace(found, arms=(BASE, arm), adapters={arm: found.adapters[arm]}, judge=None)
    chosen = tuple(chosen_cases(steady, config.num_dialogues))
    return Task(two_arms, (BASE, arm), chosen, inputs.source, +Counter(dropped))


def replies_of(task: Task, config: AttendConfig) -> list[Spoken]:
    """Return both arms' replies to all cases as the evaluation holds them.

    Raises:
        DataError: a case without replies of both arms, or whose dialogue is not the one evaluated.
    """
    folder = config.results
    by_case: dict[tuple[str, tuple[str, str, str]], list[Sample]] = {}
    for sample in read_samples(samples_of_run(folder)):
        if sample.kind == "turn" and sample.history == HISTORY:
            by_case.setdefault((sample.arm, sample.case), []).append(sample)
    spoken = []
    for case in task.cases:
        name = case.instruction.id if case.instruction else ""
        for arm in task.arms:
            samples = by_case.get((arm, (case.dialogue.id, name, case.twin)), [])
            if not samples:
                raise DataError(
                    f"{folder}: no reply of arm {arm!r} to case {case.id!r}: expected those of both arms, "
                    "finish the evaluation first"
                )
            if any(case.user_turn(s.turn) != s.user for s in samples):
                raise DataError(
                    f"{folder}: case {case.id!r}: its source gives another dialogue now than the one that "
                    "was evaluated: expected the same data and catalogue"
                )
            wanted = [s for s in samples if not config.turns or s.turn in config.turns]
            if not wanted:
                task.dropped[NO_REPLY] += 1
                continue
            spoken.append(Spoken(case, arm, tuple(sorted(wanted, key=lambda s: s.turn))))
    return spoken


def chosen_cases(cases: Sequence[Case], num: int) -> list[Case]:
    """Return at most so many cases in their order, from as many dialogues as there are.

    One by one, always of a dialogue that was taken least often (two cases of one are no two
    observations), and among these of the pair of split and family that was.
    """
    left, taken = list(cases), Counter[object]()
    while left and len(cases) - len(left) < num:
        case = min(left, key=lambda c: (taken[c.dialogue.id], taken[c.split, c.family]))
        left.remove(case)
        taken.update((case.dialogue.id, (case.split, case.family)))
    return [case for case in cases if case not in left]


def _arm(config: AttendConfig, found: EvalConfig, path: Path) -> str:
    """Return the arm of the adapter."""
    trained = [arm for arm in found.arms if arm in found.adapters]
    arm = trained[0] if len(trained) == 1 and config.arm == AttendConfig.arm else config.arm
    if arm not in trained or BASE not in found.arms:
        raise ConfigError(
            f"{path}: no arm {arm!r} beside {BASE!r} (its arms: {', '.join(found.arms)}): expected "
            f"{BASE!r} and an adapter, name it with arm"
        )
    return arm


def _no_engine(path: Path) -> Engine:
    raise DataError(
        f"{path.parent}: its dialogues are not all there: expected a finished evaluation, start it again"
    )
