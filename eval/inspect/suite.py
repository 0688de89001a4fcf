"""What `eval.inspect.task` makes of a suite; no Inspect here.

Inspect asks the model, one case at a time: settings become cases on the way in,
recorded replies become samples and rates on the way out.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from eval.cases.asked_turns import has_probe, judged_turns
from eval.cases.build import load_inputs
from eval.cases.false_triggers import find_triggers, own_replies
from eval.cases.unmeasured import refuse_unmeasured
from eval.config import BASE, REMINDER, EvalConfig
from eval.metrics.outcomes import Outcome, Rows, rate_of
from eval.metrics.per_reply.adherence import adherence
from eval.metrics.per_reply.false_trigger import false_trigger
from eval.metrics.per_reply.probe_recall import probe_recall
from eval.metrics.per_reply.survival import survival
from eval.records.case import Case
from eval.records.reply import Reply
from eval.records.samples import Sample
from eval.rollout.roll_out import arm_view
from eval.scoring.verdict import RUNNER, judge
from gatt.config.load import load_config
from gatt.data.dialogue import Dialogue, Message
from gatt.data.instruction import Entry
from gatt.data.views import prompt_of_turn
from gatt.errors import ConfigError
from gatt.generation.base import Engine, Generation
from gatt.verifiers import Verdict

log = logging.getLogger(__name__)

ARMS: Final[Mapping[str, str]] = {"once": BASE, "reminder": REMINDER}
"""Where the instruction stands, and what `gatt eval` calls that."""
NOT_HERE: Final = (
    "adapters", "arms", "baseline", "batch_cases", "engine", "histories", "judge", "output_dir",
    "ray", "replies_from", "score_file", "task_completion",
)  # fmt: skip
"""Keys of `gatt eval` that Inspect decides, or that mean nothing under it."""
SHARED: Final = ("arm", "history", "dialogue", "family", "split", "instruction")
"""Fields that the replies to a case share: they stand once in the metadata of its score."""

Measure = Callable[[Iterable[Sample]], Iterable[Outcome]]
MEASURES: Final[Mapping[str, tuple[Measure, bool]]] = {
    "adherence": (adherence, False),
    "adherence_last_turn": (adherence, True),
    "survival": (survival, True),
    "probe_recall": (probe_recall, False),
    "false_trigger": (false_trigger, False),
}
"""What is told of a case and of a run: who counts, and whether at the last judged turn alone."""


@dataclass(frozen=True)
class Prepared:
    """A suite, ready to be asked."""

    config: EvalConfig
    cases: Mapping[str, Case]
    """By id."""
    pool: tuple[Entry, ...]
    """Entries that count for false triggers."""
    source: Mapping[str, object]
    """Where the dialogues come from."""

    @property
    def arm(self) -> str:
        """The one arm of the run."""
        return self.config.arms[0]

    def prompt(self, case: Case, history: Sequence[Message], user: str) -> tuple[Message, ...]:
        """Return what the model reads: the arm's view of its own history and a user message."""
        dialogue = Dialogue(case.dialogue.id, (*history, Message("user", user)))
        view = arm_view(case, dialogue, self.arm, self.config)
        return prompt_of_turn(view, view.num_turns)

    def measures(self) -> list[str]:
        """Return the names of `MEASURES` that some case has."""
        cases = self.cases.values()
        probes = ((c, t) for c in cases for t in self.config.probe_turns if c.told(t) == "kept")
        is_known: dict[Measure, bool] = {
            false_trigger: any(c.instruction is None for c in cases),
            probe_recall: any(has_probe(c, turn, self.config) for c, turn in probes),
        }
        has_instruction = any(c.instruction is not None for c in cases)
        return [n for n, (m, _) in MEASURES.items() if is_known.get(m, has_instruction)]


def prepared(settings: Mapping[str, Any], *, is_new: bool = False) -> Prepared:
    """Return the suite of a task's settings.

    Args:
        settings: `suite`, `arm`, and any key of `gatt eval` that is not one of `NOT_HERE`,
            nested or dotted; values as JSON takes them.
        is_new: read its files (a task does); else equal settings get the same object (solver
            and scorer of that task do).

    Raises:
        GattError: settings that cannot be used, or a suite whose cases cannot be had.
    """
    if is_new:
        _prepared.cache_clear()
    return _prepared(json.dumps(settings))


@cache
def _prepared(settings: str) -> Prepared:
    config = _config(**json.loads(settings))
    if config.source.name == "questions" and not config.cases:
        # Before a file is made for their answers.
        _no_engine()
    catalog = config.instructions.load()
    inputs = load_inputs(config, catalog, _no_engine, "")
    triggers = None
    if any(case.instruction is None for case in inputs.cases):
        replies = own_replies(inputs.dialogues, inputs.cases, config.turns)
        triggers = find_triggers(config.instructions.select(catalog, ()), replies)
    pool = triggers.entries if triggers else ()
    if line := refuse_unmeasured(config, inputs.cases, triggers).line:
        log.warning("%s", line)
    return Prepared(config, {case.id: case for case in inputs.cases}, pool, inputs.source)


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
    overrides = [
        f"{k}={_yaml(v)}" for k, v in {**values, "task_completion": False, **given}.items()
    ]
    return load_config(EvalConfig, None, overrides)


def _yaml(value: Any) -> str:
    # Inspect reads `-T turns=1,2,4` as a list of texts.
    if isinstance(value, list) and all(isinstance(v, str) and v.isdecimal() for v in value):
        value = [int(v) for v in value]
    return json.dumps(value)


def _no_engine() -> Engine:
    raise ConfigError(
        "source.name is 'questions': no model answers them beforehand under Inspect; expected chitchat, "
        "jsonl or hub"
    )


def case_values(run: Prepared, samples: Sequence[Sample]) -> dict[str, float]:
    """Return the rates of one case, not a number (and not zero) where nothing was decided."""
    values = {}
    for name in run.measures():
        measure, is_last = MEASURES[name]
        values[name] = _told(name, _rows(measure, is_last, [samples])).get(name, float("nan"))
    return values


def rates_of(cases: Sequence[Sequence[Sample]]) -> dict[str, float]:
    """Return every rate of a run with its 95 % interval and the number of undecided replies.

    A rate that nothing decided is left out: not measured is not zero.

    Args:
        cases: the samples of each case; one that was rolled out again stands there again.
    """
    found: dict[str, float] = {}
    for name, (measure, is_last) in MEASURES.items():
        found |= _told(name, _rows(measure, is_last, cases))
    for turn, rows in _rows(adherence, False, cases).by_turn():
        found |= _told(f"adherence_turn_{turn}", rows)
    return found


def _rows(measure: Measure, is_last: bool, cases: Iterable[Sequence[Sample]]) -> Rows:
    # Case by case: another epoch is another roll-out of the same case, and each has its own last turn.
    found = []
    for samples in cases:
        outcomes = list(measure(samples))
        last = max((o.sample.turn for o in outcomes), default=0)
        found += [o for o in outcomes if not is_last or o.sample.turn == last]
    return Rows.of(found)


def _told(name: str, rows: Rows) -> dict[str, float]:
    if not len(rows.turn):
        return {}
    rate = rate_of(rows)
    found = {name: rate.rate, f"{name}_low": rate.low, f"{name}_high": rate.high}
    decided = {key: value for key, value in found.items() if value is not None}
    return {**decided, f"{name}_undecided": float(rate.num_undecided)}


def judged(run: Prepared, case: Case, said: Sequence[Mapping[str, Any]]) -> list[Sample]:
    """Return the samples of a case in the order of turns.

    What is asked for and was never replied to, because a limit ended the roll-out, is
    undecided: left out, it would look like success.

    Args:
        run: the suite.
        case: one of it.
        said: the replies: `turn`, `kind`, `user`, `text`, `finish` and `num_tokens` of each.
    """
    config, found = run.config, {(s["kind"], s["turn"]): s for s in said}
    turns = [s for s in said if s["kind"] == "turn"]
    is_full = bool(turns) and turns[-1]["finish"] == "context_limit"
    asked = [("turn", turn) for turn in judged_turns(case, config)]
    asked += [("probe", turn) for turn in config.probe_turns if has_probe(case, turn, config)]
    samples = []
    for kind, turn in sorted(asked, key=lambda a: (a[1], a[0] == "probe")):
        nothing = {"user": case.user_turn(turn), "text": "", "finish": "context_limit"}
        if kind == "probe" and (probe := case.probe_at(turn)) is not None:
            nothing["user"] = probe.question
        reply = found.get((kind, turn), {**nothing, "num_tokens": 0})
        generation = Generation(reply["text"], reply["finish"], reply["num_tokens"])
        whole = Reply(case, turn, kind, reply["user"], generation)  # type: ignore[arg-type]
        sample = judge(whole, run.arm, "own", run.pool)
        if (kind, turn) not in found and not is_full:
            why = "no reply: a limit of Inspect ended the sample before"
            sample = replace(sample, verdicts=(Verdict("undecided", why, RUNNER, 1),))
        samples.append(sample)
    return samples


def as_metadata(samples: Sequence[Sample]) -> dict[str, Any]:
    """Return the samples of a case as JSON takes them, what they share once."""
    rows = [sample.as_dict() for sample in samples]
    shared = {key: rows[0][key] for key in SHARED} if rows else {}
    told = [{k: v for k, v in row.items() if k not in shared or v != shared[k]} for row in rows]
    return {**shared, "replies": told}


def from_metadata(metadata: Mapping[str, Any]) -> list[Sample]:
    """Return the samples that `as_metadata` wrote.

    Raises:
        DataError: a sample that breaks its contract.
    """
    shared = {key: metadata[key] for key in SHARED if key in metadata}
    return [Sample.from_dict({**shared, **row}) for row in metadata.get("replies", [])]
