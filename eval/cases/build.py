"""The cases of an evaluation: from a case file, or from a source and a catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from eval.cases.asked_turns import last_turn, shown_turns
from eval.cases.canned import with_canned
from eval.cases.draw import add_switches, join_dialogues, make_cases
from eval.config import EvalConfig, used_adapters
from eval.records.case import TOPIC_JUMP, Case, Event
from eval.records.case_file import read_cases
from gatt.data.catalog.read import Catalog
from gatt.data.dialogue import Dialogue
from gatt.data.instruction import with_rubrics
from gatt.data.speaker_turns import asking_the_speaker
from gatt.data.training_marks import read_marks
from gatt.errors import ConfigError, DataError
from gatt.generation.base import Engine
from gatt.sources.base import SourceReport
from gatt.sources.config import ASKING, SourceConfig
from gatt.sources.load import load_dialogues
from gatt.sources.questions import answered_questions


@dataclass(frozen=True, slots=True)
class Inputs:
    """The cases and their origin."""

    cases: tuple[Case, ...]
    dialogues: tuple[Dialogue, ...]
    """All dialogues of the source, used or not; of a case file those of plain cases with replies."""
    parts: tuple[Dialogue, ...]
    """The dialogues that the cases are made of: no adapter may have been trained on them."""
    source: dict[str, object]
    """Description of the source in `results.json`."""


def load_inputs(
    config: EvalConfig,
    catalog: Catalog,
    engine: Callable[[], Engine] | None = None,
    model_weights: str = "",
) -> Inputs:
    """Return the cases that a configuration describes.

    `engine` makes the engine where the model has to answer the dialogues first (None: no model does), and
    `model_weights` is the digest of its weights.

    Raises:
        CatalogError: no instruction can be drawn.
        ConfigError: a source that cannot be loaded, or needs a model; or with `only_trained` an
            adapter that does not say what it was trained on.
        DataError: no dialogue or too few, a broken case file, or one that needs another history.
    """
    if config.cases:
        return _of_file(config, catalog)
    # First, because answering questions takes long.
    trained = trained_entries(used_adapters(config)) if config.only_trained else None
    dialogues, report = _dialogues(config, engine, model_weights)
    joined = join_dialogues(dialogues, config.num_turns) if config.num_turns else {}
    if joined:
        dialogues = [long.dialogue for long in joined.values()]
    # A joined dialogue changes its topic where its next part begins.
    seams = {name: dict.fromkeys(long.seams, Event(TOPIC_JUMP)) for name, long in joined.items()}
    cases = [
        replace(case, events=seams.get(case.dialogue.id, {})) if case.instruction else case
        for case in make_cases(config, catalog, dialogues, trained)
    ]
    cases = [_asking_the_speaker(c, config) for c in add_switches(config, catalog, cases, trained)]
    if config.judge:
        cases = [
            replace(case, instruction=with_rubrics(case.instruction)) if case.instruction else case
            for case in cases
        ]
    used = {case.dialogue.id: case.dialogue for case in cases}
    parts = [joined[name].parts if name in joined else (d,) for name, d in used.items()]
    return Inputs(
        with_canned(cases, catalog), tuple(dialogues), tuple(chain(*parts)), report.as_dict()
    )


def _asked_where_judged(config: EvalConfig) -> SourceConfig:
    """Return the source with its questions at the judged turns, if it asks questions and `asked` is not set."""
    source = config.source
    if source.name not in ASKING or source.asked is not None:
        return source
    turns = (source.max_turns,) if config.turns == "last" else config.turns
    return replace(source, asked=tuple(t for t in turns if t <= source.max_turns))


def _asking_the_speaker(case: Case, config: EvalConfig) -> Case:
    """Return the case with some questions that ask for a fact of the speaker, which its instruction gives."""
    turns = (case.num_turns,) if config.turns == "last" else config.turns
    dialogue = asking_the_speaker(
        case.dialogue, case.instruction, case.switches, f"{config.seed}/{case.id}", config.part,
        is_own=config.source.has_own_replies,
        turns=[turn for turn in turns if turn <= case.num_turns],
    )  # fmt: skip
    return replace(case, dialogue=dialogue)


def _of_file(config: EvalConfig, catalog: Catalog) -> Inputs:
    path: Any = config.cases
    cases = with_canned(read_cases(path), catalog)
    bound = [case.id for case in cases if not case.has_replies]
    if bound and set(config.histories) != {"own"}:
        raise DataError(
            f"{path}: case {bound[0]!r} has no replies: expected histories "
            f"[own], found {list(config.histories)}"
        )
    if not any(last_turn(case, config) for case in cases):
        longest = max(case.num_turns for case in cases)
        raise DataError(
            f"{path}: no case has one of the turns {shown_turns(config)}: expected turns up to {longest}"
        )
    dialogues = tuple(case.dialogue for case in cases)
    # Replies under an instruction may follow it, so they are no ordinary replies.
    own = tuple(c.dialogue for c in cases if c.has_replies and c.instruction is None)
    source: dict[str, object] = {"source": path.name, "num_read": len(dialogues)}
    return Inputs(cases, own, dialogues, source)


def _dialogues(
    config: EvalConfig, engine: Callable[[], Engine] | None, model_weights: str
) -> tuple[list[Dialogue], SourceReport]:
    """Return the dialogues of the source; the base model answers `questions`, and the answers are stored."""
    if config.source.name != "questions":
        return load_dialogues(_asked_where_judged(config), config.part)
    if engine is None:
        raise ConfigError(
            "source.name is 'questions': no model answers them beforehand here: expected chitchat, jsonl or "
            "hub"
        )
    return answered_questions(
        config.source,
        config.part,
        max(config.num_dialogues, config.num_plain),
        engine,
        config.sampling.params(config.seed),
        (config.replies_from or config.output_dir) / "dialogues.jsonl",
        f"{config.engine.model} {model_weights}",
    )


def refuse_overlap(adapters: Mapping[str, Path], dialogues: Sequence[Dialogue]) -> tuple[str, ...]:
    """Refuse dialogues that an adapter was trained on; return the arms whose training is not known.

    `adapters` gives the folder of each arm; joined dialogues come in their parts.

    Raises:
        DataError: an adapter was trained on one of the dialogues; with their number.
    """
    named = {dialogue.id: dialogue for dialogue in dialogues}
    marks_of = {arm: read_marks(folder) for arm, folder in adapters.items()}
    for arm, marks in marks_of.items():
        if shared := [name for name, d in named.items() if marks and d in marks]:
            raise DataError(
                f"arm {arm!r}: {len(shared)} of {len(named)} dialogues of the evaluation are among "
                f"those that {adapters[arm]} was trained on, the first is {shared[0]!r}: expected none, choose "
                "part: eval or another source"
            )
    return tuple(arm for arm, marks in marks_of.items() if marks is None)


def trained_entries(adapters: Mapping[str, Path]) -> frozenset[str]:
    """Return the ids of the catalogue entries that every adapter was trained on.

    Raises:
        ConfigError: no adapter, or one whose folder does not say what it was trained on.
    """
    marks_of = {arm: read_marks(folder) for arm, folder in adapters.items()}
    silent = [arm for arm, marks in marks_of.items() if marks is None or marks.entries is None]
    if silent or not marks_of:
        raise ConfigError(
            f"only_trained: {f'the adapter of {silent[0]!r}' if silent else 'an evaluation without adapter'} "
            "does not say which catalogue entries it was trained on: expected 'entries' in its "
            "trained_on.json, which `gatt train` writes unless it went on from an adapter without; or set "
            "only_trained: false"
        )
    entries = [marks.entries for marks in marks_of.values() if marks and marks.entries is not None]
    return frozenset(set.intersection(*entries))
