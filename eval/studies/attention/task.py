"""Configuration of `gatt attend`, and the cases and replies of the evaluation that it measures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from eval.cases.build import load_inputs
from eval.config import EvalConfig, finished_config
from eval.records.arms import BASE, History
from eval.records.case import Case
from eval.records.samples import Sample, read_samples, samples_of_run
from gatt.errors import ConfigError, DataError
from gatt.generation.config import make_engine


@dataclass(frozen=True, kw_only=True)
class AttendConfig:
    """Which replies of an evaluation are measured.

    Raises:
        ConfigError: a value out of its range.
    """

    results: Path
    """output_dir of `gatt eval`: its model, adapter, cases, and replies with the history `reference`."""
    arm: str = "gatt"
    """The adapter's arm that is compared with the base model; the only adapter needs no name."""
    turns: tuple[int, ...] = ()
    """Turns whose replies are measured; empty takes all judged ones."""
    num_dialogues: int = 16
    """Most cases: of each family and split about equally many, on different dialogues as far as there are."""
    output_dir: Path | None = None
    """Folder of `attention.json` and `attention.html`; null is that of `results`, whose report then gets a
    section on attention."""
    chart: Path | None = None
    """Draws pictures too: the map as FILE (.png, .svg or .pdf), and the curve over turns as FILE-turns."""

    def __post_init__(self) -> None:
        if self.num_dialogues < 1 or any(turn < 1 for turn in self.turns):
            raise ConfigError(
                f"num_dialogues is {self.num_dialogues}, turns is {list(self.turns)}: expected numbers from 1"
            )

    @property
    def folder(self) -> Path:
        """The folder of the results."""
        return self.output_dir or self.results


HISTORY: Final[History] = "reference"
"""The history that both arms read: the dialogue's own replies."""


@dataclass(frozen=True)
class Task:
    """Cases with both arms' replies to them."""

    config: EvalConfig
    """Of the evaluation."""
    arms: tuple[str, str]
    """Base model and adapter."""
    replies: tuple[tuple[Case, Mapping[str, Sequence[Sample]]], ...]
    """Each case with its replies by arm, at rising turns."""
    source: Mapping[str, object]
    """The source of the dialogues."""
    dropped: Counter[str]
    """Number of cases and replies that are not measured, by reason; later steps add theirs."""


def read_task(config: AttendConfig) -> Task:
    """Return the cases of an evaluation and the replies that it holds; no model is loaded.

    Raises:
        ConfigError: no evaluation, one without such an arm or this history, or from a server.
        DataError: no case has an instruction that holds to the end, or a dialogue is not the one evaluated.
    """
    path = config.results / "eval.yaml"
    found = replace(finished_config(path), output_dir=config.results)
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
    trained = [arm for arm in found.arms if arm in found.adapters]
    arm = trained[0] if len(trained) == 1 and config.arm == AttendConfig.arm else config.arm
    if arm not in trained or BASE not in found.arms:
        raise ConfigError(
            f"{path}: no arm {arm!r} beside {BASE!r} (its arms: {', '.join(found.arms)}): expected "
            f"{BASE!r} and an adapter, name it with arm"
        )
    engine, digest = found.engine, found.engine.weights_digest()
    inputs = load_inputs(found, found.instructions.load(), lambda: make_engine(engine), digest)
    told = [case for case in inputs.cases if case.instruction]
    steady = [case for case in told if not case.switches]
    dropped = Counter({"no instruction": len(inputs.cases) - len(told)})
    dropped["the instruction changes"] = len(told) - len(steady)
    if not steady:
        raise DataError(
            f"{path}: in none of its {len(inputs.cases)} cases does one instruction hold to the end: "
            "expected an evaluation with num_dialogues above 0, and with cases without changes"
        )
    replies = tuple(_replies(chosen_cases(steady, config.num_dialogues), (BASE, arm), config))
    return Task(found, (BASE, arm), replies, inputs.source, dropped)


def _replies(
    cases: Sequence[Case], arms: Sequence[str], config: AttendConfig
) -> Iterator[tuple[Case, Mapping[str, Sequence[Sample]]]]:
    folder = config.results
    found: dict[tuple[str, tuple[str, str, str]], list[Sample]] = defaultdict(list)
    for sample in read_samples(samples_of_run(folder)):
        if sample.kind == "turn" and sample.history == HISTORY:
            found[sample.arm, sample.case].append(sample)
    for case in cases:
        name = case.instruction.id if case.instruction else ""
        by_arm = {arm: found[arm, (case.dialogue.id, name, case.twin)] for arm in arms}
        for arm, samples in by_arm.items():
            if any(case.user_turn(s.turn) != s.user for s in samples):
                raise DataError(
                    f"{folder}: case {case.id!r}: its source gives another dialogue now than the one that "
                    "was evaluated: expected the same data and catalogue"
                )
            samples.sort(key=lambda s: s.turn)
            by_arm[arm] = [s for s in samples if not config.turns or s.turn in config.turns]
        yield case, by_arm


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
