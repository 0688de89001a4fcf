"""The `questions` source with its answers kept on disk: a model answers them once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gatt.data.dialogue import Dialogue, parse_dialogue
from gatt.data.hash_split import Part
from gatt.generation.base import Engine, SamplingParams, forget
from gatt.runs.fingerprint import fingerprint
from gatt.runs.store import RecordStore
from gatt.sources.answering import answer_scripts
from gatt.sources.base import SourceReport, SourceRequest, select
from gatt.sources.questions import make_scripts

ANSWERED_AT_ONCE = 32
"""Scripts that move forward together: a batch of the plan, which is redone as a whole."""
UNANSWERED = "no usable reply in an earlier run"


def answered_questions(
    request: SourceRequest,
    part: Part | None,
    engine: Callable[[], Engine],
    params: SamplingParams,
    path: Path,
    model: str,
) -> tuple[list[Dialogue], SourceReport]:
    """Return dialogues of catalogue questions, answered by the model and kept in a file.

    All questions are planned in batches; one that an interruption left unfinished is
    redone as a whole, and what the file lacks of it is added: with the same engine on
    the same machine the file equals, byte for byte, the one of a run left alone.

    Args:
        request: `num` must be set.
        part: whose topics are asked; None mixes all.
        engine: makes the engine, only if an answer is missing.
        params: how answers are drawn.
        path: JSONL file of the answered dialogues; what stands there is used.
        model: name of the answering model; another one does not fit the file.

    Raises:
        ConfigError: `num` is not set, or too few topics.
        DataError: no dialogue is left.
        StoreError: the file belongs to other settings or is in use.
    """
    scripts = make_scripts(request, part)
    report = SourceReport("questions")
    settings = {"model": model, "params": [params.max_new_tokens, params.temperature, params.top_p],
                "seed": params.seed, "scripts": [[s.id, *s.user_turns] for s in scripts]}  # fmt: skip
    mark = fingerprint(settings)
    with RecordStore(path, fingerprint=mark, kind="answered-dialogue") as store:
        done = store.keys("script")
        # Why they have none was counted by the run that asked them.
        report.dropped.update(UNANSWERED for row in store if row["dialogue"] is None)
        for start in range(0, len(scripts), ANSWERED_AT_ONCE):
            batch = scripts[start : start + ANSWERED_AT_ONCE]
            missing = [s for s in batch if s.id not in done]
            if not missing:
                continue
            answerer = engine()
            forget(answerer)
            reasons: dict[str, str] = {}
            found = answer_scripts(answerer, batch, params, reasons)
            answered = {d.id: d for d in found}
            for script in missing:
                dialogue = answered.get(script.id)
                if dialogue is None:
                    report.dropped[reasons[script.id]] += 1
                store.append(
                    {"script": script.id, "dialogue": dialogue.as_dict() if dialogue else None}
                )
        rows = {row["script"]: row["dialogue"] for row in store}
    kept = [parse_dialogue(rows[s.id]) for s in scripts if rows[s.id] is not None]
    report.num_read = len(scripts)
    return select(kept, request, report, part), report
