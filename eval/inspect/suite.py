"""What `eval.inspect.task` makes of a suite; no Inspect here.

Inspect asks the model, one case at a time: settings become cases on the way in, replies become samples
and rates on the way out.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from eval.cases.asked_turns import asked_turns
from eval.cases.build import load_inputs
from eval.cases.unmeasured import refuse_unmeasured, triggers_of
from eval.config import EvalConfig, config_of
from eval.metrics.curves import OutcomeColumns, rate_of
from eval.metrics.table import METRICS
from eval.records.arms import BASE, REMINDED
from eval.records.case import Case
from eval.records.samples import Sample
from eval.scoring.verdict import RUNNER, Reply, check_by_rules
from gatt.data.instruction import Entry
from gatt.errors import ConfigError
from gatt.generation.base import Generation
from gatt.verifiers import Verdict

log = logging.getLogger(__name__)

ARMS: Final[Mapping[str, str]] = {"once": BASE, "reminder": REMINDED}
"""Where the instruction stands, and what `gatt eval` calls that."""
NOT_HERE: Final = (
    "adapters", "arms", "baseline", "batch_cases", "engine", "histories", "judge", "output_dir",
    "ray", "replies_from",
)  # fmt: skip
"""Keys of `gatt eval` that Inspect decides, or that mean nothing under it."""
RATES: Final = ("joint", "keeps", "answers", "survival", "probe_recall", "false_trigger")
"""Metrics that Inspect shows of a run; those that are not cumulative also over all turns together."""


@dataclass(frozen=True)
class PreparedSuite:
    """A suite, ready to be asked."""

    config: EvalConfig
    cases: Mapping[str, Case]
    """By id."""
    pool: tuple[Entry, ...]
    """Entries that count for false triggers."""
    source: Mapping[str, object]
    """Where the dialogues come from."""


def prepared(settings: Mapping[str, Any]) -> PreparedSuite:
    """Return the suite of a task's settings; equal settings get the same object.

    They hold `suite`, `arm`, and any key of `gatt eval` that is not one of `NOT_HERE`, nested or dotted.

    Raises:
        GattError: settings that cannot be used, or a suite whose cases cannot be had.
    """
    return _prepared(json.dumps(settings))


@cache
def _prepared(settings: str) -> PreparedSuite:
    config = _config(**json.loads(settings))
    catalog = config.instructions.load()
    inputs = load_inputs(config, catalog)
    triggers = triggers_of(config, catalog, inputs)
    pool = triggers.entries if triggers else ()
    if line := refuse_unmeasured(config, inputs.cases, triggers).line():
        log.warning("%s", line)
    return PreparedSuite(config, {case.id: case for case in inputs.cases}, pool, inputs.source)


def _config(arm: str, **given: Any) -> EvalConfig:
    if arm not in ARMS:
        raise ConfigError(f"arm is {arm!r}: expected one of {', '.join(ARMS)}")
    for key in given:
        if key.partition(".")[0] in NOT_HERE:
            raise ConfigError(
                f"{key!r} cannot be set under Inspect, which asks its own model, once, and keeps its own "
                "log: expected a key that says what is measured, such as turns or num_dialogues"
            )
    values = {"output_dir": "inspect", "arms": [ARMS[arm]], "adapters": {}, "histories": ["own"]}
    for key, value in given.items():
        # Inspect reads `-T turns=1,2,4` as a list of texts.
        if isinstance(value, list) and all(isinstance(v, str) and v.isdecimal() for v in value):
            given[key] = [int(v) for v in value]
    return config_of({**values, **given})


def judged(run: PreparedSuite, case: Case, said: Sequence[Mapping[str, Any]]) -> list[Sample]:
    """Return the samples of a case in the order of turns.

    A turn without a reply, because a limit ended the roll-out, is undecided: left out, it would look
    like success. Each reply of `said` has `turn`, `kind`, `text`, `finish` and `num_tokens`.
    """
    by_turn = {(s["kind"], s["turn"]): s for s in said}
    samples = []
    for turn, kind in sorted(asked_turns(case, run.config), key=lambda a: (a[0], a[1] == "probe")):
        reply = by_turn.get((kind, turn), {"text": "", "finish": "context_limit", "num_tokens": 0})
        generation = Generation(reply["text"], reply["finish"], reply["num_tokens"])
        whole = Reply(case, turn, kind, case.user_turn(turn, kind), generation)
        sample = check_by_rules(whole, run.config.arms[0], "own", run.pool)
        if (kind, turn) not in by_turn:
            why = "no reply: a limit of Inspect ended the sample before"
            sample = replace(sample, verdicts=(Verdict("undecided", why, RUNNER, 1),))
        samples.append(sample)
    return samples


def rates_of(cases: Sequence[Sequence[Sample]]) -> dict[str, float]:
    """Return the rates of a run, over all turns and turn by turn, with interval and undecided replies.

    A rate that nothing decided is left out: not measured is not zero. A further epoch of a case is
    another case: survival follows each by itself.
    """
    samples = [replace(s, twin=f"{s.twin}#{n}") for n, case in enumerate(cases) for s in case]
    rates: dict[str, float] = {}
    for metric in RATES:
        rows = OutcomeColumns.of(METRICS[metric].count(samples))
        parts = {f"{metric}_turn_{turn}": part for turn, part in rows.by_turn()}
        if parts and not METRICS[metric].is_cumulative:
            parts = {metric: rows} | parts
        for name, part in parts.items():
            rate = rate_of(part)
            values = {name: rate.rate, f"{name}_low": rate.low, f"{name}_high": rate.high}
            rates |= {key: value for key, value in values.items() if value is not None}
            rates[f"{name}_undecided"] = float(rate.num_undecided)
    return rates
