"""What is to be looked at: dialogues under an instruction, or the cases of an evaluation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from eval.cases.build import load_inputs
from eval.config import BASE, EvalConfig
from eval.records.case import Case
from eval.records.samples import History
from eval.studies.attention.config import AttendConfig
from gatt.config.load import load_config
from gatt.data.catalog.read import load_catalog
from gatt.data.dialogue import Dialogue, read_dialogues
from gatt.data.instruction import Instruction
from gatt.errors import ConfigError, DataError
from gatt.generation.base import Engine
from gatt.runs.suggest import did_you_mean
from gatt.sources.config import SourceConfig
from gatt.verifiers.spec import VerifierSpec

CONFIG_FILE: Final = "eval.yaml"
NO_INSTRUCTION: Final = "no instruction"
CHANGES: Final = "the instruction changes in the middle"


@dataclass(frozen=True)
class Task:
    """Cases, and who replies to them."""

    config: EvalConfig
    """Arms, adapter, placement and sampling, as an evaluation has them."""
    history: History
    arm: str
    """The adapter's; the other one is the base model."""
    cases: tuple[Case, ...]
    turns: tuple[int, ...]
    """That are looked at; empty for all."""
    source: Mapping[str, object]
    """Where the dialogues come from."""
    dropped: Counter[str]
    """Cases that are not looked at, by reason; of all that come later too."""

    @property
    def arms(self) -> tuple[str, str]:
        """Base model and adapter."""
        return BASE, self.arm


def plan(config: AttendConfig) -> Task:
    """Return what a configuration asks for; no model is loaded.

    Raises:
        ConfigError: an evaluation without such an arm or history, or from a server.
        CatalogError: no such entry.
        DataError: no dialogue, no evaluation, no instruction, or none that stays.
    """
    return _of_evaluation(config, config.samples) if config.samples else _of_dialogues(config)


def _of_dialogues(config: AttendConfig) -> Task:
    source: Mapping[str, object]
    if config.dialogue is not None:
        dialogues = dialogues_named(config.dialogue)
        source = {"source": Path(config.dialogue).name, "num_read": len(dialogues)}
    else:
        dialogues, report = config.source.load(config.part)
        source = report.as_dict()
    told = _told(config)
    cases = [case for d in dialogues if (case := _case(d, told))][: config.num_dialogues]
    dropped = Counter({NO_INSTRUCTION: len(dialogues)} if not cases else {})
    if not told:
        dropped[NO_INSTRUCTION] = sum(d.system is None for d in dialogues)
    if not cases:
        raise DataError(
            f"{config.dialogue}: no system message in dialogue {dialogues[0].id!r}, and no instruction "
            "given: expected entry (such as language.fr) or instruction (free text)"
        )
    longest = max(case.num_turns for case in cases)
    turns = tuple(t for t in config.turns if t <= longest) or tuple(range(1, longest + 1))
    if config.turns and config.turns[0] > longest:
        raise DataError(
            f"turns is {list(config.turns)}: the longest dialogue has {longest} turns, expected one of them"
        )
    history: History = config.history or "reference"
    evaluation = EvalConfig(
        output_dir=config.folder,
        arms=(BASE, config.arm),
        adapters={config.arm: config.adapter or Path()},
        seed=config.seed,
        engine=config.engine,
        sampling=config.sampling,
        # Only carries the length of the longest one: the dialogues are here.
        source=SourceConfig(min_turns=longest, max_turns=longest),
        turns=turns,
        probe_turns=(),
        histories=(history,),
        placement=config.placement,
    )
    return Task(evaluation, history, config.arm, tuple(cases), config.turns, source, +dropped)


def dialogues_named(name: str) -> list[Dialogue]:
    """Return all dialogues of a file, or the one of FILE/ID.

    Raises:
        DataError: no such file or id, or a broken file.
    """
    path = Path(name)
    if path.is_file():
        return list(read_dialogues(path))
    file = next((parent for parent in path.parents if parent.is_file()), None)
    if file is None:
        raise DataError(
            f"{name}: no such file: expected a JSONL file in messages form, or FILE/ID for one dialogue"
        )
    wanted = str(path.relative_to(file))
    dialogues = list(read_dialogues(file))
    found = [d for d in dialogues if d.id == wanted]
    if not found:
        ids = [d.id for d in dialogues]
        hint = did_you_mean(wanted, ids, f", it has {ids[0]!r} and {len(ids) - 1} more")
        raise DataError(f"{file}: no dialogue {wanted!r}{hint}")
    return found


def _told(config: AttendConfig) -> Instruction | None:
    if config.entry is not None:
        entry = load_catalog(*map(Path, config.catalog)).entry(config.entry)
        return replace(
            _free(entry.id, entry.verbose[0], entry.family, entry.verifiers), split=entry.split
        )
    if config.instruction is None:
        return None
    if not config.instruction.strip():
        raise DataError("the instruction is blank: expected some text")
    return _free("instruction", config.instruction, "free text")


def _free(
    name: str, text: str, family: str, verifiers: tuple[VerifierSpec, ...] = ()
) -> Instruction:
    return Instruction(
        id=name,
        text=text,
        wording="verbose",
        entries=(name,),
        families=(family,),
        split="train",
        verifiers=verifiers,
    )


def _case(dialogue: Dialogue, told: Instruction | None) -> Case | None:
    """Return the dialogue under what is told; by default its own system message is that."""
    if told is None:
        if dialogue.system is None:
            return None
        told = _free("system", dialogue.system, "system message")
        dialogue = Dialogue(dialogue.id, dialogue.messages[1:])
    return Case(dialogue.id, dialogue, told, None)


def _of_evaluation(config: AttendConfig, folder: Path) -> Task:
    path = folder / CONFIG_FILE
    if not path.is_file():
        raise DataError(f"{folder}: no {CONFIG_FILE}: expected the output_dir of `gatt eval`")
    evaluation = replace(load_config(EvalConfig, path), output_dir=folder)
    if evaluation.engine.server is not None:
        raise ConfigError(
            f"{path}: its replies come from a server, which tells no attention weights: expected the "
            "evaluation of a local model"
        )
    arm = _arm(config, evaluation, path)
    history = config.history or evaluation.histories[0]
    if history not in evaluation.histories:
        raise ConfigError(
            f"history is {history!r}: {path} has {', '.join(evaluation.histories)}: choose one of them"
        )
    inputs = load_inputs(
        evaluation,
        evaluation.instructions.load(),
        lambda: _no_engine(folder),
        evaluation.engine.weights_digest(),
    )
    told = [case for case in inputs.cases if case.instruction is not None]
    if not told:
        raise DataError(
            f"{folder}: none of its {len(inputs.cases)} cases has an instruction: expected an evaluation "
            "with num_dialogues above 0"
        )
    steady = [case for case in told if not case.switches]
    if not steady:
        raise DataError(
            f"{folder}: the instruction changes in each of its {len(told)} cases that have one: expected "
            "an evaluation with cases without changes, since one instruction in turn 1 is looked at"
        )
    dropped = Counter(
        {NO_INSTRUCTION: len(inputs.cases) - len(told), CHANGES: len(told) - len(steady)}
    )
    held = evaluation.engine
    engine = replace(
        config.engine, model=held.model, dtype=held.dtype,
        chat_template_kwargs=held.chat_template_kwargs,
    )  # fmt: skip
    changed = replace(
        evaluation,
        arms=(BASE, arm),
        adapters={arm: config.adapter or evaluation.adapters[arm]},
        engine=engine,
        judge=None,
    )
    chosen = tuple(chosen_cases(steady, config.num_dialogues))
    return Task(changed, history, arm, chosen, config.turns, inputs.source, +dropped)


def _arm(config: AttendConfig, evaluation: EvalConfig, path: Path) -> str:
    """Return which arm of an evaluation is held against the base model."""
    trained = [arm for arm in evaluation.arms if arm in evaluation.adapters]
    arm = trained[0] if len(trained) == 1 and config.arm == AttendConfig.arm else config.arm
    for needed in (BASE, arm):
        if needed not in (BASE, *trained) or needed not in evaluation.arms:
            raise ConfigError(
                f"{path}: no arm {needed!r} (its arms: {', '.join(evaluation.arms)}): expected "
                f"{BASE!r} and an adapter, name it with arm"
            )
    return arm


def _no_engine(folder: Path) -> Engine:
    raise DataError(
        f"{folder}: its dialogues are not all there: expected a finished evaluation, start it again"
    )


def chosen_cases(cases: Sequence[Case], num: int) -> list[Case]:
    """Return at most so many cases in their order, from as many dialogues as there are.

    One by one, always of a dialogue that was taken least often (two cases of one are no two
    observations), and among these of the pair of split and family that was.
    """
    left, chosen = dict(enumerate(cases)), list[int]()
    of_dialogue, of_kind = Counter[str](), Counter[object]()
    while left and len(chosen) < num:
        at = min(left, key=lambda n: (of_dialogue[cases[n].dialogue.id], of_kind[_kind(cases[n])]))
        del left[at]
        of_dialogue[cases[at].dialogue.id] += 1
        of_kind[_kind(cases[at])] += 1
        chosen.append(at)
    return [cases[at] for at in sorted(chosen)]


def _kind(case: Case) -> tuple[object, ...]:
    assert case.instruction is not None
    return case.instruction.split, case.instruction.families
