"""Verdicts from the judge's answers: an answer that cannot be read is no verdict."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from eval.scoring.judge.question import REASON_FORM, RUBRIC_VERSION
from gatt.generation.base import FinishReason, Generation
from gatt.verifiers.base import Status, Verdict
from gatt.verifiers.graded.judge import JUDGE
from gatt.verifiers.rule import quote

KEYS: Final = ["reason", "verdict"]
REASON_CHARACTERS: Final = 200
"""Longest reason that is stored as evidence."""
# Small models fill the form with these, whatever the reply: `{"reason": "pass", "verdict": "fail"}`.
_NO_REASONS: Final = ("", REASON_FORM, "pass", "fail")
_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
_UNFINISHED: Final[Mapping[FinishReason, str]] = {
    "length": "cut by max_new_tokens",
    "context_limit": "the prompt does not fit the judge's context",
    "content_filter": "withheld by the server's filter",
    "unanswered": "the server gave no answer to any attempt",
}

_Pairs = list[tuple[str, Any]]
"""Keys and values of a JSON object; a dict would hide a key that stands there twice."""


def parse_verdict(generation: Generation, judged: Sequence[str]) -> Verdict:
    """Return the judge's verdict, `undecided` with the reason if there is none.

    The last JSON object of a finished answer counts. It has exactly the keys `reason` (some
    text) and `verdict` ("pass" or "fail"), each once. Text and code fences around it are
    allowed. Objects that stand in a judged text are quotations and are ignored, also if the
    judge corrected their punctuation.

    Args:
        generation: what the engine returned.
        judged: the texts that the judge was shown.
    """
    text = generation.text
    if why := _UNFINISHED.get(generation.finish):
        return _verdict("undecided", f"no verdict: {why}")
    try:
        found = list(_objects(text))
    except RecursionError:
        found = []
    shown = [_skeleton(part) for part in judged]
    own = [pairs for pairs, source in found if not _is_quoted(pairs, source, shown)]
    if not own:
        why = "only a quotation of the judged text" if found else "no JSON object that can be read"
        return _verdict("undecided", f"no verdict: {why}: {quote(text)}")
    reason, verdict = (dict(own[-1]).get(key) for key in KEYS)
    is_formed = sorted(key for key, _ in own[-1]) == KEYS and verdict in ("pass", "fail")
    if not is_formed or not isinstance(reason, str) or reason.strip().casefold() in _NO_REASONS:
        return _verdict(
            "undecided",
            f"no verdict: found {quote(json.dumps(own[-1]))}, expected a reason and the verdict 'pass' or "
            "'fail', each once",
        )
    line = " ".join(reason.split())
    if len(line) > REASON_CHARACTERS:
        line = line[: REASON_CHARACTERS - 1] + "…"
    return _verdict("pass" if verdict == "pass" else "fail", line)


def _verdict(status: Status, evidence: str) -> Verdict:
    # No file can store lone surrogates.
    return Verdict(status, evidence.encode("utf-8", "replace").decode(), JUDGE, RUBRIC_VERSION)


def _objects(text: str) -> Iterator[tuple[_Pairs, str]]:
    """Yield every JSON object that stands in no other, with its text, in order.

    Raises:
        RecursionError: nested about a thousand levels deep.
    """
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
    parts = [f"{key} {value}" for key, value in pairs if isinstance(value, str)]
    forms = (source, " ".join(parts), " ".join(reversed(parts)))
    wanted = [form for form in map(_skeleton, forms) if form]
    return any(form in text for form in wanted for text in shown)


def _skeleton(text: str) -> str:
    """Return letters and digits alone; JSON escapes, compatible forms and cases do not count."""
    spelled = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    folded = unicodedata.normalize("NFKC", spelled).casefold()
    return "".join(character for character in folded if character.isalnum())
