"""What an evaluation works on: cases of a case file, or of a source and a catalogue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from eval.cases.asked_turns import last_turn
from eval.cases.contamination import trained_entries
from eval.cases.draw import add_events, make_cases
from eval.cases.long_dialogues import join_dialogues, parts_of
from eval.cases.switches import add_switches
from eval.config import EvalConfig, used_adapters
from eval.records.case import Case
from eval.records.case_file import read_cases
from gatt.data.catalog.read import Catalog
from gatt.data.dialogue import Dialogue
from gatt.errors import CatalogError, DataError
from gatt.generation.base import Engine
from gatt.sources import SourceReport
from gatt.sources.answered import answered_questions


@dataclass(frozen=True, slots=True)
class Inputs:
    """The cases, and where they come from."""

    cases: tuple[Case, ...]
    dialogues: tuple[Dialogue, ...]
    """All of the source, used or not; of a case file those of its plain cases that have replies."""
    parts: tuple[Dialogue, ...]
    """The dialogues that those of the cases consist of: what no adapter must have been trained on."""
    source: dict[str, object]
    """The account that `results.json` holds."""
    constraints: tuple[Mapping[str, str], ...] = ()
    """What became of the constraints of a benchmark that was imported."""


def load_inputs(
    config: EvalConfig, catalog: Catalog, engine: Callable[[], Engine], model_weights: str
) -> Inputs:
    """Return what the configuration asks for.

    Args:
        config: of the evaluation.
        catalog: the instructions.
        engine: makes the engine if dialogues have to be answered first.
        model_weights: digest of its weights.

    Raises:
        CatalogError: no instruction can be drawn.
        ConfigError: a source that cannot be had, an unknown kind of event, or an adapter that does not
            say what it was trained on where only that is asked for.
        DataError: no dialogue or too few, a broken case file, or one that cannot be
            read with the configured histories.
    """
    if config.cases:
        return _of_file(config)
    # Before the model may have to answer questions.
    trained = trained_entries(used_adapters(config)) if config.only_trained else None
    dialogues, report = _dialogues(config, engine, model_weights)
    joined = join_dialogues(dialogues, config.num_turns) if config.num_turns else {}
    if joined:
        dialogues = [long.dialogue for long in joined.values()]
    cases = add_events(config, make_cases(config, catalog, dialogues, trained), joined)
    cases = add_switches(config, catalog, cases, trained)
    used = {case.dialogue.id: case.dialogue for case in cases}
    parts = tuple(part for d in used.values() for part in parts_of(d, joined))
    account = report.as_dict()
    if trained is not None:
        account["entries"] = _num_trained(config, catalog, trained)
    return Inputs(tuple(cases), tuple(dialogues), parts, account)


def _num_trained(
    config: EvalConfig, catalog: Catalog, trained: Collection[str]
) -> dict[str, dict[str, int]]:
    """Return for each family how many entries of the training split may be drawn, of how many."""
    try:
        pool = config.instructions.select(catalog, ("train",))
    except CatalogError:
        # Other splits may have some, as with formats, which are held out whole.
        return {}
    num = Counter(entry.family for entry in pool)
    drawn = Counter(entry.family for entry in pool if entry.id in trained)
    return {family: {"trained": drawn[family], "all": num[family]} for family in num}


def _of_file(config: EvalConfig) -> Inputs:
    path: Any = config.cases
    found = read_cases(path)
    bound = [case.id for case in found.cases if case.needs_own_history]
    if bound and set(config.histories) != {"own"}:
        raise DataError(
            f"{path}: case {bound[0]!r} has no replies that answer what the user says: expected histories "
            f"[own], found {list(config.histories)}"
        )
    if not any(last_turn(case, config) for case in found.cases):
        longest = max(case.num_turns for case in found.cases)
        raise DataError(
            f"{path}: no case has one of the turns {list(config.turns)}: expected turns up to {longest}"
        )
    dialogues = tuple(case.dialogue for case in found.cases)
    # Replies under an instruction may follow it: they are nobody's ordinary ones.
    own = tuple(c.dialogue for c in found.cases if c.has_replies and c.instruction is None)
    source: dict[str, object] = {"source": path.name, "num_read": len(dialogues)}
    return Inputs(found.cases, own, dialogues, source, found.constraints)


def _dialogues(
    config: EvalConfig, engine: Callable[[], Engine], model_weights: str
) -> tuple[list[Dialogue], SourceReport]:
    """Return the dialogues of the source; `questions` are answered by the base model and kept."""
    if config.source.name != "questions":
        return config.source.load(config.part)
    source = replace(
        config.source, num=config.source.num or max(config.num_dialogues, config.num_plain)
    )
    return answered_questions(
        source.request(),
        config.part,
        engine,
        config.sampling.params(config.seed),
        (config.replies_from or config.output_dir) / "dialogues.jsonl",
        f"{config.engine.model} {model_weights}",
    )
