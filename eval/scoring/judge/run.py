"""Ask the judge about every reply once, going on where an earlier call stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from eval.records.samples import Sample
from eval.scoring.judge.config import JudgeConfig
from eval.scoring.judge.parse import parse_verdict
from eval.scoring.judge.question import JudgeKey, Question, questions
from eval.scoring.judge.rubric import PREFILL, RUBRIC_VERSION, judge_prompt
from gatt.data.dialogue import Message
from gatt.errors import DataError, StoreError
from gatt.generation.base import Engine, GenerationRequest, forget
from gatt.generation.config import make_engine
from gatt.runs.fingerprint import fingerprint
from gatt.runs.progress import progress_bar
from gatt.runs.store import RecordStore, parsed_records
from gatt.verifiers.base import Verdict

JUDGEMENTS_FILE = "judgements.jsonl"
"""One line a reply and task, with what the judge said: the unit of resuming."""


def judge_samples(
    samples: Iterable[Sample],
    config: JudgeConfig,
    path: Path,
    engine: Callable[[], Engine] | None = None,
) -> dict[JudgeKey, Verdict]:
    """Return the judge's verdict on every reply it is asked about, by task and `Sample.key`.

    Verdicts in the store are not asked for again, `undecided` ones included (the
    judge gave none; remove their lines to ask once more). More arms, turns or
    tasks may be judged into the same store later. The order of the samples counts
    for nothing.

    Args:
        samples: of a run; which are judged is up to the configuration.
        config: judge and choice.
        path: the store, such as `JUDGEMENTS_FILE` beside the roll-outs.
        engine: makes the judge when it is needed; default: the configured model.
            Another one is not looked into: that its model stays the same is up to
            the caller.

    Raises:
        DataError: a sample that stands there twice.
        ConfigError: a server's key that cannot be sent.
        GenerationError: the judge cannot be asked. That is no verdict.
        ModelError: the judge cannot be loaded.
        StoreError: the store belongs to another judge, rubric or seed, holds a
            verdict on another text, or is in use.
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
            # Cut before the known ones are left out: what is computed together stays the same.
            for start in range(0, len(asked), config.batch_size):
                batch = [q for q in asked[start : start + config.batch_size] if q.key not in done]
                if not batch:
                    continue
                if not made:
                    made.append(engine() if engine else make_engine(config.engine))
                for question, row in zip(batch, _ask(made[0], batch, config), strict=True):
                    store.append(row)
                    done[question.key] = _read_verdict(row["verdict"])
                    bar.advance(1)
    return {q.judge_key: done[q.key] for q in asked}


def _ask(engine: Engine, batch: Sequence[Question], config: JudgeConfig) -> list[dict[str, Any]]:
    """Return the rows of a batch."""
    markers = _control_tokens(engine)
    requests = [
        GenerationRequest(
            question.key,
            (Message("user", judge_prompt(question, config.seed, markers)),),
            f"judge/{question.task}",
            prefill=PREFILL if config.is_prefilled else "",
            is_aside=True,
        )
        for question in batch
    ]
    forget(engine)
    generations = engine.generate(requests, config.params())
    return [
        {
            "key": question.key,
            "asked": question.digest,
            "verdict": parse_verdict(said, [text for _, text in question.texts]).as_dict(),
            "said": said.text,
            "finish": said.finish,
        }
        for question, said in zip(batch, generations, strict=True)
    ]


def _control_tokens(engine: Engine) -> tuple[str, ...]:
    """Return what the judge's tokenizer would take for a change of turns; servers do not tell."""
    tokenizer = getattr(engine, "tokenizer", None)
    if tokenizer is None:
        return ()
    from gatt.models.control_tokens import control_tokens

    return control_tokens(tokenizer)


def _known(path: Path, asked: Sequence[Question]) -> dict[str, Verdict]:
    """Return the verdicts in the store on what is asked now, by key.

    Raises:
        StoreError: a verdict on another text under the same key.
        DataError: with the line, for broken JSON or what is no verdict.
    """
    digests = {question.key: question.digest for question in asked}
    found: dict[str, Verdict] = {}
    for _, row in parsed_records(path, _checked, is_whole=False):
        digest = digests.get(row["key"])
        if digest is None:
            continue
        if row["asked"] != digest:
            raise StoreError(
                f"{path}: {row['key']} was judged with another text (digest {row['asked']}, expected "
                f"{digest}): the replies are not those of this run, choose another folder or delete it"
            )
        found[row["key"]] = _read_verdict(row["verdict"])
    return found


def _checked(_: int, row: dict[str, Any]) -> dict[str, Any]:
    verdict = row.get("verdict")
    keys = {"status", "evidence", "verifier", "version"}
    is_row = isinstance(row.get("key"), str) and "asked" in row
    if not is_row or not isinstance(verdict, dict) or not keys <= verdict.keys():
        raise DataError("no verdict of a judge: delete the line, and it is asked again")
    return row


def _read_verdict(raw: dict[str, Any]) -> Verdict:
    return Verdict(raw["status"], raw["evidence"], raw["verifier"], raw["version"])
