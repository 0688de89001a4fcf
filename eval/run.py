"""`gatt eval`: arms side by side, to samples, curves and a report; resumable."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from typing import Any, Final

from eval.cases.asked_turns import has_probe
from eval.cases.build import Inputs, load_inputs
from eval.cases.contamination import refuse_overlap
from eval.cases.false_triggers import Triggers, find_triggers, own_replies
from eval.cases.unmeasured import refuse_unmeasured
from eval.config import EvalConfig, used_adapters
from eval.records.file_names import ROLLOUTS_FILE
from eval.results.provenance import add_call
from eval.results.write import Checked, EvalResult, close
from eval.rollout.rejudge import WORDS, EarlierReplies, rows_judged_again
from eval.rollout.rows import refuse_other_weights, row_keys, said_so_far, turns_of_row
from eval.rollout.workers import Piece, rows_made_here, rows_made_on_cluster
from eval.scoring.scores import scores_for
from gatt.config.load import config_dict, save_config
from gatt.data.catalog.read import Catalog
from gatt.data.catalog.switch_leakage import LEAKS_VERSION
from gatt.generation.base import Engine
from gatt.generation.config import make_engine
from gatt.runs.fingerprint import fingerprint
from gatt.runs.progress import progress_bar
from gatt.runs.store import RecordStore
from gatt.verifiers import verifier_versions

log = logging.getLogger(__name__)

NOT_DECISIVE: Final = (
    "output_dir", "batch_cases", "suite", "cases", "event_file", "task_completion", "judge", "arms",
    "adapters", "baseline", "histories", "ray", "replies_from", "score_file", "unmeasured",
)  # fmt: skip
OF_A_SOURCE: Final = (
    "source", "part", "num_turns", "instructions", "splits", "num_dialogues", "num_plain",
    "event_turns", "event_kinds", "switch", "only_trained",
)  # fmt: skip
"""What makes cases of a source; a case file has them."""


def evaluate(
    config: EvalConfig,
    engine: Callable[[], Engine] | None = None,
    judge_engine: Callable[[], Engine] | None = None,
) -> EvalResult:
    """Run an evaluation, going on where an earlier call stopped.

    Args:
        config: the whole of it.
        engine: makes the engine when it is needed; default: the configured model
            with the configured adapters. Another one is not looked into: that its
            model stays the same is up to the caller. With `config.ray` it is pickled
            and called in every worker.
        judge_engine: the same for the judge.

    Raises:
        ConfigError: a source that cannot be had, or nothing that is asked can be measured.
        CatalogError: no instruction can be drawn.
        DataError: no dialogue, one that an adapter was trained on, or a score file without what is asked.
        ModelError: a model or adapter cannot be loaded.
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
        ...     turns=(1, 2), probe_turns=(), histories=("own",), task_completion=False,
        ... )
        >>> def reply(request):
        ...     return "A good novel." if "read" in request.messages[-1].content else "Some tea?"
        >>> result = evaluate(config, engine=lambda: ScriptedEngine(reply))
        >>> for point in result.results["curves"]:
        ...     if (point["metric"], point["split"], point["family"]) == ("adherence", "all", "all"):
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

    catalog = config.instructions.load()
    model_weights = "" if engine else config.engine.weights_digest()
    inputs = load_inputs(config, catalog, get_engine, model_weights)
    cases = inputs.cases
    served = config.engine.server is not None
    unknown = (
        tuple(used_adapters(config))
        if served
        else refuse_overlap(used_adapters(config), inputs.parts)
    )
    triggers = _triggers(config, catalog, inputs)
    checked = Checked(
        triggers,
        unknown,
        refuse_unmeasured(config, cases, triggers),
        scores_for(config.score_file, cases),
    )
    if line := checked.unmeasured.line:
        log.warning("%s", line)
    settings = fingerprinted(config) | {"model_weights": model_weights}
    pool = triggers.entries if triggers else ()
    if triggers:
        rules = [[e.id, [v.as_dict() for v in e.verifiers]] for e in pool]
        settings["false_triggers"] = triggers.as_dict() | {"rules": fingerprint({"rules": rules})}
    if any(case.switches for case in cases):
        settings["leaks"] = LEAKS_VERSION
    if any(
        has_probe(c, t, config) and c.told(t) == "released"
        for c in cases
        for t in config.probe_turns
    ):
        # Before, no probe was asked after an instruction was taken back.
        settings["ended_probes"] = 1
    settings["cases"] = fingerprint({"cases": [c.as_dict() for c in cases]})
    weights = {
        n: config.engine.adapter_digest(at) or f"served as {at}"
        for n, at in used_adapters(config).items()
    }
    work = [
        (arm, history, cases[start : start + config.batch_cases])
        for history in config.histories
        for arm in config.arms
        for start in range(0, len(cases), config.batch_cases)
    ]
    described = settings | {WORDS: fingerprint({WORDS: [c.words() for c in cases]})}
    earlier = EarlierReplies.read(config, cases, described, weights)
    num_new = 0
    path = config.output_dir / ROLLOUTS_FILE
    with RecordStore(
        path, fingerprint=fingerprint(settings), kind="rollout", describe=described
    ) as store:
        refuse_other_weights(path, weights)
        save_config(config, config.output_dir / "eval.yaml")
        done = store.keys("key")
        said = said_so_far(path)
        row_turns = {
            key: turns_of_row(history, case, config)
            for history in config.histories
            for arm in config.arms
            for case in cases
            for key in row_keys(arm, history, case, config)
        }
        total, num_done = sum(row_turns.values()), sum(row_turns.get(key, 0) for key in done)
        pieces = [
            Piece(
                arm,
                history,
                missing,
                {c.id: said.get(f"{arm}/{history}/{c.id}", []) for c in missing},
            )
            for arm, history, batch in work
            if (missing := tuple(c for c in batch if set(row_keys(arm, history, c, config)) - done))
        ]
        if pieces:
            add_call(config, list(dict.fromkeys(piece.arm for piece in pieces)))
        steps = (
            rows_judged_again(pieces, earlier, config, pool, done)
            if earlier
            else rows_made_on_cluster(pieces, engine, config, pool, config.ray)
            if config.ray
            else rows_made_here(pieces, get_engine, config, pool)
        )
        with progress_bar("eval", total, unit="turns", done=num_done) as bar, closing(steps):
            for rows in steps:
                for row in rows:
                    arm = row["key"].partition("/")[0]
                    store.append(row | ({"weights": weights[arm]} if arm in weights else {}))
                    num_new += len(row["samples"])
                bar.advance(sum(row_turns[row["key"]] for row in rows))
    # The judge may need the memory.
    made.clear()
    return close(config, inputs, checked, num_new, judge_engine)


def _triggers(config: EvalConfig, catalog: Catalog, inputs: Inputs) -> Triggers | None:
    """Return what counts as a false trigger, None in a run without plain dialogues."""
    if all(case.instruction is not None for case in inputs.cases):
        return None
    replies = own_replies(inputs.dialogues, inputs.cases, config.turns)
    return find_triggers(config.instructions.select(catalog, ()), replies)


def fingerprinted(config: EvalConfig) -> dict[str, Any]:
    """Return what decides the replies: not where they go, who judges them, nor the size of batches.

    Arms and histories are not in it, so that one can be added to a folder; a row
    says which weights made it.
    """
    settings = config_dict(config)
    for key in (*NOT_DECISIVE, *(OF_A_SOURCE if config.cases else ())):
        del settings[key]
    if config.switch is None:
        # Runs of before there were changes go on.
        settings.pop("switch", None)
    if not config.only_trained:
        settings.pop("only_trained", None)
    settings["engine"] = config.engine.decisive()
    return settings | {"verifiers": verifier_versions()}
