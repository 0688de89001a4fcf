"""Asking the judge about every reply once, resuming where an earlier call stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from eval.records.samples import Sample, parse_verdict_record
from eval.scoring.judge.config import JudgeConfig
from eval.scoring.judge.parse import parse_verdict
from eval.scoring.judge.question import PREFILL, RUBRIC_VERSION, JudgeKey, Question, questions
from gatt.data.dialogue import Message
from gatt.errors import DataError, StoreError
from gatt.generation.base import Engine, GenerationRequest, forget
from gatt.generation.config import make_engine
from gatt.models.control_tokens import control_tokens
from gatt.runs.progress import progress_bar
from gatt.runs.provenance import fingerprint
from gatt.runs.store import RecordStore, parsed_records
from gatt.verifiers.base import Verdict

JUDGEMENTS_FILE: Final = "judgements.jsonl"
"""One line for each reply and task, with the judge's answer: the unit of resuming."""


def judge_samples(
    samples: Iterable[Sample],
    config: JudgeConfig,
    path: Path,
    engine: Callable[[], Engine] | None = None,
) -> dict[JudgeKey, Verdict]:
    """Return the judge's verdict on every reply that it is asked about, by task and `Sample.key`.

    Stored verdicts are not asked for again, also if they are `undecided`: remove their lines
    to ask once more. A later call may judge more arms, turns or tasks into the same store.

    Args:
        samples: of a run, in any order; the configuration chooses which are judged.
        config: judge and choice.
        path: the store, such as `JUDGEMENTS_FILE` beside the roll-outs.
        engine: makes the judge when it is needed; default: the configured model. Its weights are
            not compared: that they stay the same is up to the caller.

    Raises:
        DataError: the same sample twice.
        ConfigError: a server's key that cannot be sent.
        GenerationError: the judge cannot be asked. No verdict is stored then.
        ModelError: the judge cannot be loaded.
        StoreError: the store belongs to another judge, rubric or seed, holds a verdict on
            another text, or is in use.
    """
    asked = questions(samples, config)
    settings = config.decisive() | {
        "rubric": RUBRIC_VERSION,
        "model_weights": "" if engine else config.engine.weights_digest(),
    }
    made: list[Engine] = []
    with RecordStore(
        path, fingerprint=fingerprint(settings), kind="judgement", describe=settings
    ) as store:
        done = _known(path, asked)
        with progress_bar("judge", len(asked), unit="replies", done=len(done)) as bar:
            # Batches are cut before known questions are left out: the same questions stay together.
            for start in range(0, len(asked), config.batch_size):
                batch = [q for q in asked[start : start + config.batch_size] if q.key not in done]
                if not batch:
                    continue
                if not made:
                    made.append(engine() if engine else make_engine(config.engine))
                for question, (verdict, row) in zip(
                    batch, _ask(made[0], batch, config), strict=True
                ):
                    store.append(row)
                    done[question.key] = verdict
                    bar.advance(1)
    return {(q.task, q.sample_key): done[q.key] for q in asked}


def _ask(
    engine: Engine, batch: Sequence[Question], config: JudgeConfig
) -> list[tuple[Verdict, dict[str, Any]]]:
    """Return verdict and row of each question."""
    # A server does not tell its tokenizer's control tokens.
    tokenizer = getattr(engine, "tokenizer", None)
    markers = () if tokenizer is None else control_tokens(tokenizer)
    requests = [
        GenerationRequest(
            question.key,
            (Message("user", question.prompt(config.seed, markers)),),
            f"judge/{question.task}",
            prefill=PREFILL if config.is_prefilled else "",
            is_aside=True,
        )
        for question in batch
    ]
    forget(engine)
    rows = []
    for question, said in zip(batch, engine.generate(requests, config.params()), strict=True):
        verdict = parse_verdict(said, [text for _, text in question.texts])
        row = {"key": question.key, "asked": question.digest, "verdict": verdict.as_dict()}
        rows.append((verdict, row | {"said": said.text, "finish": said.finish}))
    return rows


def _known(path: Path, asked: Sequence[Question]) -> dict[str, Verdict]:
    """Return the stored verdicts on what is asked now, by key.

    Raises:
        StoreError: a verdict on another text under the same key.
        DataError: with the line, for broken JSON or a line without a verdict.
    """
    digests = {question.key: question.digest for question in asked}
    found: dict[str, Verdict] = {}
    for _, (key, digest, verdict) in parsed_records(path, _parsed, is_whole=False):
        if digest != digests.get(key, digest):
            raise StoreError(
                f"{path}: {key} was judged with another text (digest {digest}, expected {digests[key]}): "
                "the replies are not those of this run, choose another folder or delete it"
            )
        if key in digests:
            found[key] = verdict
    return found


def _parsed(_: int, row: dict[str, Any]) -> tuple[str, str, Verdict]:
    try:
        return str(row["key"]), row["asked"], parse_verdict_record(row["verdict"])
    except (KeyError, DataError):
        raise DataError("no verdict of a judge: delete the line, and it is asked again") from None
