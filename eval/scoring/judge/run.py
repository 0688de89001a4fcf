"""Asking the judge about every reply once, resuming where an earlier call stopped.

An answer that cannot be read is no verdict.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from eval.records.samples import Sample, WrittenVerdict
from eval.scoring.judge.config import JudgeConfig
from eval.scoring.judge.question import (
    PREFILL,
    REASON_FORM,
    RUBRIC_VERSION,
    UNTRIGGERED,
    Conversation,
    JudgeKey,
    JudgeQuestion,
    questions,
    read_rubric,
)
from gatt.data.dialogue import Message
from gatt.errors import DataError, StoreError
from gatt.generation.base import Engine, FinishReason, Generation, GenerationRequest, forget
from gatt.generation.config import make_engine
from gatt.models.control_tokens import control_tokens
from gatt.runs.progress import progress_bar
from gatt.runs.provenance import fingerprint
from gatt.runs.store import RecordStore, parsed_records
from gatt.runs.values import ShapeError, typed
from gatt.verifiers.base import Status, Verdict
from gatt.verifiers.judge import JUDGE
from gatt.verifiers.rule import quote

KEYS: Final = ["reason", "verdict"]
REASON_CHARACTERS: Final = 200
"""Longest reason that is stored as evidence."""
# Small models fill the form with these, whatever the reply: `{"reason": "pass", "verdict": "fail"}`.
_NO_REASONS: Final = ("", REASON_FORM, "pass", "fail")
_AROUND_WORDS: Final = " \t\r\n.,;:!?*_`'\"“”‘’„。！…"
_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
_UNFINISHED: Final[Mapping[FinishReason, str]] = {
    "length": "cut by max_new_tokens",
    "context_limit": "the prompt does not fit the judge's context",
    "content_filter": "withheld by the server's filter",
}

_Pairs = list[tuple[str, Any]]
"""Keys and values of a JSON object; a dict would hide a key that stands there twice."""


def parse_verdict(
    generation: Generation, judged: Sequence[str], *, may_be_untriggered: bool = False
) -> Verdict:
    """Return the judge's verdict, `undecided` with the reason if there is none.

    The last JSON object of a finished answer counts. It has the keys `reason` (some text) and `verdict`
    ("pass" or "fail"), each once. Case, signs around the verdict, invisible characters, other keys, and
    text and code fences around the object do not count. Objects that stand in one of the `judged` texts are
    quotations and are ignored, also if the judge corrected their punctuation. With `may_be_untriggered`
    "not triggered" is a verdict too: undecided, and its evidence begins with it.
    """
    text = generation.text
    why = _UNFINISHED.get(generation.finish, "")
    if word := generation.server_end:
        why = f"the server ended the answer with {word!r}"
    if why:
        return _verdict("undecided", f"no verdict: {why}")
    try:
        objects = list(_objects(_visible(text)))
    except RecursionError:
        objects = []
    shown = [_skeleton(part) for part in judged]
    own = [pairs for pairs, source in objects if not _is_quoted(pairs, source, shown)]
    if not own:
        why = (
            "only a quotation of the judged text" if objects else "no JSON object that can be read"
        )
        return _verdict("undecided", f"no verdict: {why}: {quote(text)}")
    given = _asked_for(own[-1])
    reason, said = (dict(given).get(key) for key in KEYS)
    verdict = _word(said)
    is_untriggered = may_be_untriggered and verdict.replace("_", " ") == UNTRIGGERED
    is_formed = sorted(key for key, _ in given) == KEYS and (
        is_untriggered or verdict in ("pass", "fail")
    )
    if not is_formed or not isinstance(reason, str) or _word(reason) in _NO_REASONS:
        return _verdict(
            "undecided",
            f"no verdict: found {quote(json.dumps(own[-1]))}, expected a reason and the verdict 'pass' or "
            "'fail', each once",
        )
    line = " ".join(reason.split())
    if len(line) > REASON_CHARACTERS:
        line = line[: REASON_CHARACTERS - 1] + "…"
    if is_untriggered:
        return _verdict("undecided", f"{UNTRIGGERED}: {line}")
    return _verdict("pass" if verdict == "pass" else "fail", line)


def _asked_for(pairs: _Pairs) -> _Pairs:
    """Return the pairs of a JSON object that the prompt asked for, with the prompt's spelling of the keys."""
    folded = [(_word(key), value) for key, value in pairs]
    return [(key, value) for key, value in folded if key in KEYS]


def _word(value: object) -> str:
    """Return a word without case, invisible characters, and signs around it; "" for what is no text."""
    if not isinstance(value, str):
        return ""
    folded = unicodedata.normalize("NFKC", _visible(value)).casefold()
    return folded.strip(_AROUND_WORDS)


def _visible(text: str) -> str:
    """Return a text without invisible characters, and with plain spaces."""
    shown = (c for c in text if unicodedata.category(c) != "Cf")
    return "".join(" " if unicodedata.category(c) == "Zs" else c for c in shown)


def _verdict(status: Status, evidence: str) -> Verdict:
    # No file can store lone surrogates.
    return Verdict(status, evidence.encode("utf-8", "replace").decode(), JUDGE, RUBRIC_VERSION)


def _objects(text: str) -> Iterator[tuple[_Pairs, str]]:
    """Yield every JSON object that stands in no other, with its text, in order (or `RecursionError`)."""
    decoder = json.JSONDecoder(object_pairs_hook=list, parse_constant=_refuse)
    start = text.find("{")
    while start >= 0:
        try:
            pairs, end = decoder.raw_decode(text, start)
        except ValueError:
            end = start + 1
        else:
            yield pairs, text[start:end]
        start = text.find("{", end)


def _refuse(constant: str) -> None:
    """Refuse NaN and Infinity, which JSON does not have."""
    raise ValueError(f"{constant} is no JSON value")


def _is_quoted(pairs: _Pairs, source: str, shown: Sequence[str]) -> bool:
    """Whether an object stands in a judged text, by letters and digits alone.

    The object is looked for as it was written, and as its keys and texts read in either order.
    """
    forms = [source]
    # A key that the judge added to what it quotes does not make it the judge's own.
    for shown_pairs in (pairs, _asked_for(pairs)):
        parts = [f"{key} {value}" for key, value in shown_pairs if isinstance(value, str)]
        forms += [" ".join(parts), " ".join(reversed(parts))]
    wanted = [form for form in map(_skeleton, forms) if form]
    return any(form in text for form in wanted for text in shown)


def _skeleton(text: str) -> str:
    """Return letters and digits alone; JSON escapes, compatible forms and cases do not count."""
    spelled = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    folded = unicodedata.normalize("NFKC", spelled).casefold()
    return "".join(character for character in folded if character.isalnum())


JUDGEMENTS_FILE: Final = "judgements.jsonl"
"""One line for each reply and task, with the judge's answer: the unit of resuming."""


def judge_samples(
    samples: Iterable[Sample],
    config: JudgeConfig,
    path: Path,
    engine: Callable[[], Engine] | None = None,
    conversation: Conversation | None = None,
) -> dict[JudgeKey, Verdict]:
    """Return the judge's verdict on every reply that it is asked about, by task and `Sample.key`.

    Stored verdicts are not asked for again, also if they are `undecided`: remove their lines to ask once
    more. A later call may judge more arms, turns or tasks into the same store, at `path`. `engine` makes
    the judge when it is needed, by default the configured model; that its weights stay the same is up to
    the caller. `conversation` finds what was said before a reply, where the judge is shown it.

    Raises:
        DataError: the same sample twice.
        ConfigError: a server's key that cannot be sent.
        GenerationError: the judge cannot be asked. No verdict is stored then.
        ModelError: the judge cannot be loaded.
        StoreError: the store belongs to another judge, rubric or seed, holds a verdict on
            another text, or is in use.
    """
    asked = questions(samples, config, conversation)
    rubric = read_rubric(config.prompt)
    settings = config.decisive() | {
        "rubric": RUBRIC_VERSION,
        "model_weights": "" if engine else config.engine.weights_digest(),
    }
    if config.prompt is not None:
        settings["prompt"] = fingerprint(rubric)
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
    engine: Engine, batch: Sequence[JudgeQuestion], config: JudgeConfig
) -> list[tuple[Verdict, dict[str, Any]]]:
    """Return verdict and row of each question."""
    # A server does not tell its tokenizer's control tokens.
    tokenizer = getattr(engine, "tokenizer", None)
    markers = () if tokenizer is None else control_tokens(tokenizer)
    rubric, may_be = read_rubric(config.prompt), config.may_be_untriggered

    def asked(question: JudgeQuestion) -> str:
        return question.prompt(config.seed, markers, rubric, may_be_untriggered=may_be)

    requests = [
        GenerationRequest(
            question.key,
            (Message("user", asked(question)),),
            f"judge/{question.task}",
            prefill=PREFILL if config.is_prefilled else "",
            is_aside=True,
        )
        for question in batch
    ]
    forget(engine)
    rows = []
    for question, said in zip(batch, engine.generate(requests, config.params()), strict=True):
        shown = [text for _, text in question.texts]
        verdict = parse_verdict(
            said, shown, may_be_untriggered=may_be and question.task == "adherence"
        )
        row = {"key": question.key, "asked": question.digest, "verdict": verdict.as_dict()}
        rows.append((verdict, row | {"said": said.text, "finish": said.finish}))
    return rows


def _known(path: Path, asked: Sequence[JudgeQuestion]) -> dict[str, Verdict]:
    """Return the stored verdicts on what is asked now, by key.

    Raises:
        StoreError: a verdict on another text under the same key.
        DataError: with the line, for broken JSON or a line without a verdict.
    """
    digests = {question.key: question.digest for question in asked}
    stored: dict[str, Verdict] = {}
    for _, (key, digest, verdict) in parsed_records(path, _parsed, is_whole=False):
        if digest != digests.get(key, digest):
            raise StoreError(
                f"{path}: {key} was judged with another text (digest {digest}, expected {digests[key]}): "
                "the replies are not those of this run, choose another folder or delete it"
            )
        if key in digests:
            stored[key] = verdict
    return stored


def _parsed(_: int, row: dict[str, Any]) -> tuple[str, str, Verdict]:
    try:
        return str(row["key"]), row["asked"], typed(WrittenVerdict, row["verdict"]).verdict()
    except (KeyError, DataError, ShapeError):
        raise DataError("no verdict of a judge: delete the line, and it is asked again") from None
