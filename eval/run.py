"""`gatt eval`: arms side by side, to samples, curves and a report; resumable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from eval.calls import add_call
from eval.config import EvalConfig
from eval.inputs import Inputs, load_inputs
from eval.overlap import refuse_overlap
from eval.results import ROLLOUTS_FILE, EvalResult, close
from eval.rollout import roll_out
from eval.rollout_rows import (
    refuse_other_weights,
    row_keys,
    rows_of_step,
    said_so_far,
    token_counts,
    tokens_since,
    turns_of_row,
)
from eval.switches import told_where_shown
from eval.triggers import Triggers, find_triggers, own_replies
from gatt.catalog import Catalog
from gatt.chat_template import inspect_template, usable_placement
from gatt.config import config_dict, fingerprint, save_config
from gatt.generation.base import Engine, forget
from gatt.generation.config import make_engine
from gatt.progress import progress_bar
from gatt.records import RecordStore
from gatt.verifiers import verifier_versions

NOT_DECISIVE: Final = (
    "output_dir", "batch_cases", "suite", "cases", "event_file", "task_completion", "judge", "arms",
    "adapters", "histories",
)  # fmt: skip
OF_A_SOURCE: Final = (
    "source", "part", "num_turns", "instructions", "splits", "num_dialogues", "num_plain",
    "event_turns", "event_kinds", "switch",
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
            model stays the same is up to the caller.
        judge_engine: the same for the judge.

    Raises:
        ConfigError: a source that cannot be had.
        CatalogError: no instruction can be drawn.
        DataError: no dialogue, or one that an adapter was trained on.
        ModelError: a model or adapter cannot be loaded.
        StoreError: the folder belongs to another configuration or is in use.
    """
    made: list[Engine] = []

    def get_engine() -> Engine:
        if not made:
            made.append(engine() if engine else make_engine(config.engine, _adapters(config)))
        return made[0]

    catalog = config.instructions.load()
    model_weights = "" if engine else config.engine.weights_digest()
    inputs = load_inputs(config, catalog, get_engine, model_weights)
    cases = inputs.cases
    served = config.engine.server is not None
    unknown = (
        tuple(_adapters(config)) if served else refuse_overlap(_adapters(config), inputs.parts)
    )
    triggers = _triggers(config, catalog, inputs)
    settings = fingerprinted(config) | {"model_weights": model_weights}
    pool = triggers.entries if triggers else ()
    if triggers:
        rules = [[e.id, [v.as_dict() for v in e.verifiers]] for e in pool]
        settings["false_triggers"] = triggers.as_dict() | {"rules": fingerprint({"rules": rules})}
    settings["cases"] = fingerprint({"cases": [c.as_dict() for c in cases]})
    weights = {
        n: config.engine.adapter_digest(at) or f"served as {at}"
        for n, at in _adapters(config).items()
    }
    work = [
        (arm, history, cases[start : start + config.batch_cases])
        for history in config.histories
        for arm in config.arms
        for start in range(0, len(cases), config.batch_cases)
    ]
    num_new = 0
    path = config.output_dir / ROLLOUTS_FILE
    with RecordStore(
        path, fingerprint=fingerprint(settings), kind="rollout", describe=settings
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
        waiting = [
            (arm, history, missing)
            for arm, history, batch in work
            if (missing := [c for c in batch if set(row_keys(arm, history, c, config)) - done])
        ]
        if waiting:
            add_call(config, list(dict.fromkeys(arm for arm, _, _ in waiting)))
        with progress_bar("eval", total, unit="turns", done=num_done) as bar:
            usable: EvalConfig | None = None
            for arm, history, missing in waiting:
                usable = usable or _with_usable_placement(config, get_engine())
                forget(get_engine())
                told = told_where_shown(missing, getattr(get_engine(), "tokenizer", None))
                known = {c.id: said.get(f"{arm}/{history}/{c.id}", []) for c in missing}
                before = token_counts(get_engine())
                for replies in roll_out(get_engine(), told, arm, history, usable, known):
                    tokens = token_counts(get_engine())
                    spent = tokens_since(tokens, before)
                    for row in rows_of_step(replies, arm, history, pool, usable, spent):
                        store.append(row | ({"weights": weights[arm]} if arm in weights else {}))
                        num_new += len(row["samples"])
                        bar.advance(row_turns[row["key"]])
                    before = tokens
    # The judge may need the memory.
    made.clear()
    return close(config, inputs, triggers, num_new, unknown, judge_engine)


def _triggers(config: EvalConfig, catalog: Catalog, inputs: Inputs) -> Triggers | None:
    """Return what counts as a false trigger, None in a run without plain dialogues."""
    if all(case.instruction is not None for case in inputs.cases):
        return None
    replies = own_replies(inputs.dialogues, inputs.cases, config.turns)
    return find_triggers(config.instructions.select(catalog, ()), replies)


def _with_usable_placement(config: EvalConfig, engine: Engine) -> EvalConfig:
    """Return the configuration, with `first_user` where the template has no system role."""
    tokenizer = getattr(engine, "tokenizer", None)
    if config.placement != "system" or tokenizer is None:
        return config
    return replace(
        config, placement=usable_placement(config.placement, inspect_template(tokenizer))
    )


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
    settings["engine"] = config.engine.decisive()
    return settings | {"verifiers": verifier_versions()}


def _adapters(config: EvalConfig) -> dict[str, Path]:
    return {name: Path(folder) for name, folder in config.adapters.items() if name in config.arms}
