"""`gatt eval`: arms side by side, from roll-outs to samples, curves and a report; resumable."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

from eval.cases.build import Inputs, load_inputs, refuse_overlap
from eval.cases.unmeasured import refuse_unmeasured, triggers_of
from eval.config import EvalConfig, used_adapters
from eval.records.case import Case
from eval.records.samples import ROLLOUTS_FILE
from eval.results.provenance import add_call, forget_calls
from eval.results.write import Checked, EvalResult, close
from eval.rollout.rejudge import WORDS, read_earlier, rows_judged_again
from eval.rollout.roll_out import CaseBatch, RolloutSteps
from eval.rollout.rows import refuse_other_weights, row_keys, said_so_far, turns_of_row
from eval.rollout.stale import refuse_other_cases
from eval.rollout.workers import rows_made_here, rows_made_on_cluster
from gatt.config.load import config_dict, save_config
from gatt.data.catalog.switch_leakage import LEAKS_VERSION
from gatt.data.instruction import Entry
from gatt.generation.base import Engine
from gatt.generation.config import make_engine
from gatt.models.generation_defaults import own_decoding
from gatt.runs.progress import progress_bar
from gatt.runs.provenance import fingerprint
from gatt.runs.store import RecordStore
from gatt.verifiers import verifier_versions

log = logging.getLogger(__name__)

NOT_DECISIVE: Final = (
    "output_dir", "batch_cases", "suite", "cases", "judge", "arms",
    "adapters", "baseline", "histories", "ray", "replies_from", "unmeasured",
)  # fmt: skip
"""Settings that no reply depends on; `cases` counts with what the file holds."""
OF_A_SOURCE: Final = (
    "source", "part", "num_turns", "instructions", "splits", "num_dialogues", "num_plain",
    "switch", "only_trained",
)  # fmt: skip
"""Settings that draw cases from a source; a case file needs none of them."""


def evaluate(
    config: EvalConfig,
    engine: Callable[[], Engine] | None = None,
    judge_engine: Callable[[], Engine] | None = None,
) -> EvalResult:
    """Run an evaluation, resuming where an earlier call stopped.

    Args:
        config: the complete configuration.
        engine: makes the engine when it is needed; default: the configured model and adapters. The
            weights of another engine are not compared. With `config.ray` every worker calls the function.
        judge_engine: the same for the judge.

    Raises:
        ConfigError: a source that cannot be loaded, or nothing can be measured.
        CatalogError: no instruction can be drawn.
        DataError: no dialogue, or one that an adapter was trained on.
        ModelError: a model or adapter cannot be loaded.
        StaleError: the folder holds replies to other cases, or of another adapter.
        StoreError: the folder belongs to another configuration or is in use, or `replies_from` has
            no such replies.

    Example:
        One case of two turns; a script stands in for the model, which `engine.model` names.

        >>> import json
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> from eval import EvalConfig, evaluate
        >>> from gatt.generation.scripted import ScriptedEngine
        >>> folder = Path(mkdtemp())
        >>> case = {
        ...     "id": "tea-1",
        ...     "user_turns": ["Hello!", "What should I read next?"],
        ...     "instruction": {
        ...         "text": "Mention tea in every reply.",
        ...         "family": "behaviour",
        ...         "verifiers": [{"kind": "terms", "any_of": ["tea"]}],
        ...     },
        ... }
        >>> _ = (folder / "cases.jsonl").write_text(json.dumps(case))
        >>> config = EvalConfig(
        ...     output_dir=folder / "results", cases=folder / "cases.jsonl", arms=("base",),
        ...     turns=(1, 2), probe_turns=(), histories=("own",),
        ... )
        >>> def reply(request):
        ...     return "A good novel." if "read" in request.messages[-1].content else "Some tea?"
        >>> result = evaluate(config, engine=lambda: ScriptedEngine(reply))
        >>> for point in result.results["curves"]:
        ...     if (point["metric"], point["split"], point["family"]) == ("keeps", "all", "all"):
        ...         print(point["turn"], point["rate"])
        1 1.0
        2 0.0
        >>> result.report.name
        'report.html'
    """
    made: list[Engine] = []

    def get_engine() -> Engine:
        if not made:
            made.append(engine() if engine else make_engine(config.engine, used_adapters(config)))
        return made[0]

    plan = _plan(config, get_engine, "" if engine else config.engine.weights_digest())
    earlier = read_earlier(config, plan.inputs.cases, plan.described, plan.weights)
    path = config.output_dir / ROLLOUTS_FILE
    refuse_other_cases(path, plan.described)
    with RecordStore(
        path, fingerprint=fingerprint(plan.settings), kind="rollout", describe=plan.described
    ) as store:
        refuse_other_weights(path, plan.weights)
        if not len(store):
            # A first start that failed may have had other settings.
            forget_calls(config.output_dir)
        save_config(config, config.output_dir / "eval.yaml")
        done = store.keys("key")
        pieces = _missing(config, plan.inputs.cases, done, path)
        if pieces:
            add_call(config, list(dict.fromkeys(piece.arm for piece in pieces)))
        if earlier is not None:
            steps = rows_judged_again(pieces, earlier, config, plan.pool, done)
        elif config.ray:
            steps = rows_made_on_cluster(pieces, engine, config, plan.pool, config.ray)
        else:
            steps = rows_made_here(pieces, get_engine, config, plan.pool)
        num_new = _store_rows(store, steps, config, plan, done)
    # The judge may need the memory of the engine.
    made.clear()
    return close(config, plan.inputs, plan.checked, num_new, judge_engine)


@dataclass(frozen=True)
class _Plan:
    """The inputs of an evaluation, prepared before its first reply."""

    inputs: Inputs
    checked: Checked
    settings: dict[str, Any]
    """What the replies depend on: a folder holds only replies of equal settings."""
    weights: dict[str, str]
    """Digest of each arm's adapter."""

    @property
    def pool(self) -> Sequence[Entry]:
        """The entries that count for false triggers."""
        return self.checked.triggers.entries if self.checked.triggers else ()

    @property
    def described(self) -> dict[str, Any]:
        """The settings with a digest of the cases' words, which `replies_from` compares."""
        words = [case.words() for case in self.inputs.cases]
        return self.settings | {WORDS: fingerprint({WORDS: words})}


def _plan(config: EvalConfig, engine: Callable[[], Engine], model_weights: str) -> _Plan:
    """Return the plan; the engine is needed only if the model has to answer the source's questions."""
    catalog = config.instructions.load()
    adapters = used_adapters(config)
    inputs = load_inputs(config, catalog, engine, model_weights)
    is_served = not config.engine.has_weights
    unknown = tuple(adapters) if is_served else refuse_overlap(adapters, inputs.parts)
    triggers = triggers_of(config, catalog, inputs)
    unmeasured = refuse_unmeasured(config, inputs.cases, triggers)
    # An engine of one's own has no such file.
    own = (
        own_decoding(config.engine.model, is_greedy=not config.sampling.temperature)
        if model_weights
        else {}
    )
    checked = Checked(triggers, unknown, unmeasured, own)
    if line := unmeasured.line():
        log.warning("%s", line)
    weights = {
        name: config.engine.adapter_digest(folder) or f"served as {folder}"
        for name, folder in adapters.items()
    }
    settings = fingerprinted(config) | {
        "model_weights": model_weights,
        "cases": fingerprint({"cases": inputs.cases}),
    }
    if triggers:
        rules = [[entry.id, entry.verifiers] for entry in triggers.entries]
        settings["false_triggers"] = triggers.as_dict() | {"rules": fingerprint({"rules": rules})}
    if any(case.switches for case in inputs.cases):
        settings["leaks"] = LEAKS_VERSION
    if own_kinds := catalog.own_kinds:
        settings["own_kinds"] = own_kinds
    return _Plan(inputs, checked, settings, weights)


def _missing(
    config: EvalConfig, cases: Sequence[Case], done: AbstractSet[str], path: Path
) -> list[CaseBatch]:
    """Return the missing work in pieces: one arm, one history and up to `batch_cases` cases each."""
    said = said_so_far(path)
    pieces = []
    starts = range(0, len(cases), config.batch_cases)
    for history, arm, start in product(config.histories, config.arms, starts):
        batch = cases[start : start + config.batch_cases]
        left = tuple(c for c in batch if not done >= set(row_keys(arm, history, c, config)))
        earlier = {c.id: said.get(f"{arm}/{history}/{c.id}", []) for c in left}
        if left:
            pieces.append(CaseBatch(arm, history, left, earlier))
    return pieces


def _store_rows(
    store: RecordStore, steps: RolloutSteps, config: EvalConfig, plan: _Plan, done: AbstractSet[str]
) -> int:
    """Store the rows as they are made, and return the number of new samples."""
    num_turns = {
        key: turns_of_row(arm, history, case, config)
        for history, arm, case in product(config.histories, config.arms, plan.inputs.cases)
        for key in row_keys(arm, history, case, config)
    }
    num_done, num_new = sum(num_turns.get(key, 0) for key in done), 0
    with (
        progress_bar("eval", sum(num_turns.values()), unit="turns", done=num_done) as bar,
        closing(steps),
    ):
        for rows in steps:
            for row in rows:
                weights = plan.weights.get(row["key"].partition("/")[0])
                store.append(row | ({"weights": weights} if weights else {}))
                num_new += len(row["samples"])
            bar.advance(sum(num_turns[row["key"]] for row in rows))
    return num_new


def check_cases(config: EvalConfig) -> None:
    """Make the cases of an evaluation and check that something is measured, without any model.

    Nothing is checked if the folder has replies already, or if the cases need the result of an
    earlier stage: `only_trained` needs an adapter, the source `questions` a model's answers.

    Raises:
        ConfigError, CatalogError, DataError: see `evaluate`.
    """
    needs_earlier = config.only_trained or (config.source.name == "questions" and not config.cases)
    if needs_earlier or (config.output_dir / ROLLOUTS_FILE).exists():
        return
    catalog = config.instructions.load()
    inputs = load_inputs(config, catalog)
    refuse_unmeasured(config, inputs.cases, triggers_of(config, catalog, inputs))


def fingerprinted(config: EvalConfig) -> dict[str, Any]:
    """Return the settings that replies depend on: not the folder, the judge or the size of batches.

    Arms and histories are left out, so that one can be added to a folder; each row stores the
    weights of its adapter.
    """
    settings = config_dict(config)
    for key in (*NOT_DECISIVE, *(OF_A_SOURCE if config.cases else ())):
        del settings[key]
    if not config.cases:
        # Earlier versions had these keys: their folders go on.
        settings |= {"event_turns": [], "event_kinds": []}
    settings["engine"] = config.engine.decisive()
    # Earlier versions had the kind `score`: their folders go on.
    return settings | {"verifiers": verifier_versions() | {"score": 1}}
