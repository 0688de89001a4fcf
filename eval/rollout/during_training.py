"""Adherence of a model in training: a small suite, rolled out and judged as in `gatt eval`.

`gatt.train.tracking` makes it by the name of this module.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from eval.cases.asked_turns import judged_turns, shown_turns
from eval.cases.build import load_inputs
from eval.cases.draw import told_where_shown
from eval.cases.unmeasured import find_unmeasured
from eval.config import EvalConfig, config_of
from eval.metrics.table import keeps
from eval.records.case import Case
from eval.rollout.roll_out import roll_out
from eval.rollout.workers import with_usable_placement
from eval.scoring.verdict import check_by_rules
from gatt.data.catalog.read import Catalog
from gatt.data.training_marks import TrainedOn
from gatt.errors import ConfigError, DataError
from gatt.generation.base import Engine
from gatt.train.config import TrainConfig
from gatt.train.tracking import Counts

log = logging.getLogger(__name__)

_ARM = "tracked"


@dataclass(frozen=True)
class AdherenceEvaluator:
    """The cases of a suite, asked of the model in its present state."""

    config: EvalConfig
    """Of the evaluation; its first history is the one that is read."""
    cases: Sequence[Case]
    """At least one, each with an instruction."""

    @property
    def num_cases(self) -> int:
        """Dialogues under an instruction."""
        return len(self.cases)

    def measure(
        self, engine: Engine, adapter: str, *, part: int, num_parts: int
    ) -> Mapping[int, Counts]:
        """Return the counts by turn of one part of the cases, from 0; all parts are all cases.

        The engine answers with the model in training, under the name of its adapter.
        """
        cases = self.cases[part::num_parts]
        if not cases:
            return {}
        config = replace(self.config, arms=(adapter,), adapters={adapter: self.config.output_dir})
        config = with_usable_placement(config, engine)
        cases = told_where_shown(cases, getattr(engine, "tokenizer", None), config)
        history = config.histories[0]
        samples = [
            check_by_rules(reply, adapter, history, ())
            for replies in roll_out(engine, cases, adapter, history, config)
            for reply in replies
            if reply.turn in judged_turns(reply.case, config)
        ]
        counts = Counter((o.sample.turn, o.status) for o in keeps(samples))
        return {
            turn: Counts(counts[turn, "pass"], counts[turn, "fail"], counts[turn, "undecided"])
            for turn in sorted({turn for turn, _ in counts})
        }


def make_evaluator(config: TrainConfig, trained_on: TrainedOn) -> AdherenceEvaluator:
    """Return the evaluator of a training run with `track`; no case may be one of its dialogues.

    Raises:
        ConfigError: no such suite; one without a case or a rule at these turns; or one whose
            dialogues the model would have to answer first.
        DataError: a dialogue that is trained on, or too few dialogues.
        CatalogError: no instruction can be drawn.
    """
    evaluated = _eval_config(config)
    # A file of cases brings its instructions, but a catalogue may have their verifiers.
    needs_catalog = not evaluated.cases or evaluated.instructions.catalog
    catalog = evaluated.instructions.load() if needs_catalog else Catalog(())
    try:
        inputs = load_inputs(evaluated, catalog)
    except ConfigError as error:
        raise ConfigError(f"track.suite: {error}") from None
    shared = [d.id for d in inputs.parts if d in trained_on]
    if shared:
        raise DataError(
            f"track.suite: {len(shared)} of {len(inputs.parts)} dialogues of its cases are trained on, the "
            f"first is {shared[0]!r}: expected none, choose a suite with part: eval or another source"
        )
    cases = [c for c in inputs.cases if c.instruction and judged_turns(c, evaluated)]
    if not cases:
        raise ConfigError(
            f"track.suite: no case of {evaluated.suite!r} has an instruction and one "
            f"of the turns {shown_turns(evaluated)}: expected at least one"
        )
    unmeasured = find_unmeasured(evaluated, cases, None)
    if unmeasured.is_all:
        raise ConfigError(
            f"track.suite: nothing would be measured: {unmeasured.asked}: expected a suite with rules"
        )
    if unmeasured.gaps:
        log.warning("track.suite: %s", unmeasured.line())
    return AdherenceEvaluator(evaluated, cases)


def _eval_config(config: TrainConfig) -> EvalConfig:
    track = config.track
    assert track is not None  # Only then an evaluator is made.
    values: dict[str, Any] = {
        "suite": track.suite,
        "output_dir": str(config.output_dir),
        "arms": [_ARM],
        "adapters": {_ARM: str(config.output_dir)},
        "histories": [track.history],
        "probe_turns": [],
        "num_dialogues": track.num_dialogues,
        "num_plain": 0,
    }
    if track.turns is not None:
        values["turns"] = list(track.turns)
    if config.placement in ("system", "first_user"):
        values["placement"] = config.placement
    try:
        return config_of(values)
    except ConfigError as error:
        raise ConfigError(f"track: {error}") from None
