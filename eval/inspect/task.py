"""The suites under Inspect (https://inspect.aisi.org.uk), with our verifiers as its scorer.

::

    inspect eval gatt/behaviour --model openai/gpt-4.1-mini -T arm=reminder -T num_dialogues=8
    inspect eval gatt/suite --model openai/gpt-4.1-mini -T suite=mine.yaml -T turns=1,2,4

Inspect asks the model and keeps the log; cases, roll-outs in own history, verdicts and
intervals are those of `gatt eval`. Needs the extra `inspect`: no other module imports this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

from eval.inspect.suite import PreparedSuite, judged, prepared, rates_of
from eval.metrics.table import keeps
from eval.records.case import BLANK, Case
from eval.records.samples import Sample
from eval.records.suite import shipped_suites
from eval.rollout.roll_out import ask, own_steps
from eval.scoring.verdict import Reply
from gatt.data.dialogue import Dialogue, Message
from gatt.errors import GattError
from gatt.generation.base import FinishReason, Generation, GenerationRequest
from gatt.verifiers import verifier_versions

try:
    from inspect_ai import Task, task
    from inspect_ai import dataset as inspect_dataset
    from inspect_ai._util.error import PrerequisiteError
    from inspect_ai.model import (
        ChatMessage,
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageUser,
        GenerateConfig,
        ModelOutput,
        get_model,
    )
    from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
    from inspect_ai.solver import Generate, Solver, TaskState, solver
    from inspect_ai.util import span
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "inspect_ai":
        raise
    raise ImportError(
        "eval.inspect.task needs Inspect, found none: pip install 'ghost-attention[inspect]'"
    ) from None

PACKAGE: Final = "gatt"
"""What Inspect's names begin with; the entry point in pyproject.toml is called so as well."""
SAID: Final = "gatt_replies"
"""Key of the sample's store: what the model replied, to turns and to probes."""

_FINISH: Final[Mapping[str, FinishReason]] = {
    "max_tokens": "length",
    "model_length": "context_limit",
    "content_filter": "content_filter",
}
_WITHHELD: Final = ("context_limit", "content_filter")
_KINDS: Final = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}


def _sample(run: PreparedSuite, case: Case) -> inspect_dataset.Sample:
    opening = Dialogue(case.dialogue.id, (Message("user", case.user_turn(1)),))
    return inspect_dataset.Sample(
        id=case.id,
        input=_chat(ask(case, opening, 1, "turn", run.config.arms[0], run.config)[0]),
        target=case.instruction.text if case.instruction else "",
        metadata={"dialogue": case.dialogue.id, "family": case.family, "split": case.split},
    )


def _register(name: str, shipped: str) -> Callable[..., Task]:
    """Return a suite as the task `gatt/<name>` of Inspect, asked in own history."""

    def suite_task(
        suite: str = shipped,
        arm: str = "once",
        num_dialogues: int | None = None,
        seed: int = 0,
        **overrides: Any,
    ) -> Task:
        """Return the task.

        Args:
            suite: name of one that is shipped, or the YAML file of one.
            arm: `once` puts the instruction where the suite's `placement` says; `reminder` adds a
                reminder of it behind every user message.
            num_dialogues: cases per split; None takes the suite's number.
            seed: fixes the cases.
            **overrides: any other key of `gatt eval` that a suite may set, dotted or nested.

        Raises:
            PrerequisiteError: a suite or key that cannot be used, in one line.
        """
        settings: dict[str, Any] = {"suite": suite, "arm": arm, "seed": seed, **overrides}
        if num_dialogues is not None:
            settings["num_dialogues"] = num_dialogues
        try:
            run = prepared(settings)
        except GattError as error:
            # The one type that Inspect shows as a line; it reads square brackets as markup.
            raise PrerequisiteError(str(error).replace("[", r"\[")) from error
        sampling = run.config.sampling
        return Task(
            dataset=inspect_dataset.MemoryDataset(
                [_sample(run, c) for c in run.cases.values()], suite
            ),
            solver=own_history(settings),
            scorer=verifiers(settings),
            config=GenerateConfig(
                max_tokens=sampling.max_new_tokens,
                temperature=sampling.temperature,
                top_p=sampling.top_p if sampling.temperature else None,
            ),
            metadata={"source": dict(run.source), "verifiers": verifier_versions()},
        )

    # Inspect puts the import package in front of the names of installed code (`eval/gatt/…`), but not of
    # a checkout's. The name of a function without a module stays as it is.
    suite_task.__module__ = ""
    made: Callable[..., Task] = task(name=f"{PACKAGE}/{name}")(suite_task)
    return made


for _suite in shipped_suites():
    _register(_suite, _suite)
gatt_suite = _register("suite", "behaviour")


@solver
def own_history(settings: dict[str, Any]) -> Solver:
    """Return the roll-out: turn after turn, the model reading its own replies; probes off the record."""
    run = prepared(settings)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        case, arm, said = run.cases[str(state.sample_id)], run.config.arms[0], []

        def keep(reply: Reply) -> None:
            whole = asdict(reply.generation)
            said.append({"turn": reply.turn, "kind": reply.kind, "user": reply.user, **whole})
            # Stored at once: a limit of Inspect ends a sample anywhere.
            state.store.set(SAID, list(said))

        for replies, asked in own_steps([case], arm, run.config):
            for silent in replies:
                keep(silent)
            # The probe first: no limit that the turn reaches leaves it out.
            for request, reply in reversed(asked):
                if request.is_aside:
                    async with span(f"probe at {request.key}"):
                        output = await get_model().generate(_chat(request))
                else:
                    new = _chat(request)[len(state.messages) :]
                    state.messages = [*state.messages, *new]
                    state = await generate(state)
                    output = state.output
                replies.append(reply(_generation(output)))
                keep(replies[-1])
                if not (request.is_aside or replies[-1].generation.text.strip()):
                    state.messages = [*state.messages[:-1], ChatMessageAssistant(content=BLANK)]
        return state

    return solve


def _chat(request: GenerationRequest) -> list[ChatMessage]:
    return [_KINDS[m.role](content=m.content) for m in request.messages]


def _generation(output: ModelOutput) -> Generation:
    finish = _FINISH.get(output.stop_reason, "stop")
    if not output.completion.strip() and (output.error or output.stop_reason == "unknown"):
        # An empty output of an unknown cause is no reply.
        finish = "content_filter"
    # The text is then the provider's notice, not the model's words.
    text = "" if finish in _WITHHELD else output.completion
    return Generation(text, finish, output.usage.output_tokens if output.usage else 0)


@metric(scores="unreduced")
def rates() -> Metric:
    """Return every rate of a run with its interval, see `eval.inspect.suite.rates_of`."""

    def compute(scores: list[SampleScore]) -> Value:
        replies = ((score.score.metadata or {}).get("replies", []) for score in scores)
        return rates_of([[Sample.from_dict(row) for row in rows] for rows in replies])

    return compute


@scorer(metrics=[rates()])
def verifiers(settings: dict[str, Any]) -> Scorer:
    """Return the scorer: every judged turn and every probe, as `gatt eval` judges them."""
    run = prepared(settings)

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - part of the protocol
        samples = judged(run, run.cases[str(state.sample_id)], state.store.get(SAID, []))
        lines = [
            f"{'probe at ' * (s.kind == 'probe')}turn {s.turn}: {s.status} - "
            + "; ".join(v.evidence for v in s.verdicts)
            for s in samples
        ]
        statuses = [o.status for o in keeps(samples) if o.status != "undecided"]
        kept = statuses.count("pass") / len(statuses) if statuses else float("nan")
        return Score(
            # A dictionary: Inspect would drop a single NaN, and with it what is undecided.
            value={"keeps": kept},
            answer=samples[-1].reply if samples else "",
            explanation="\n".join(lines),
            metadata={"replies": [sample.as_dict() for sample in samples]},
        )

    return score
