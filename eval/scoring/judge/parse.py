"""Verdicts from the judge's answers: an answer that cannot be read is no verdict."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from eval.scoring.judge.rubric import REASON_FORM, RUBRIC_VERSION
from gatt.generation.base import FinishReason, Generation
from gatt.verifiers.base import Verdict
from gatt.verifiers.graded.judge import JUDGE
from gatt.verifiers.rule import quote

KEYS: Final = ["reason", "verdict"]
VERDICTS: Final = ("pass", "fail")
REASON_CHARACTERS: Final = 200
"""Longest reason that is stored as evidence."""
# Small models fill the form with these, whatever the reply: `{"reason": "pass", "verdict": "fail"}`.
_NO_REASONS: Final = ("", REASON_FORM, *VERDICTS)
_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
_UNFINISHED: Final[Mapping[FinishReason, str]] = {
    "length": "cut by max_new_tokens",
    "context_limit": "the prompt does not fit the judge's context",
    "content_filter": "withheld by the server's filter",
    "unanswered": "the server gave no answer to any attempt",
}


class _Pairs(list[tuple[str, Any]]):
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
        return _no_verdict(why)
    if not text.strip():
        return _no_verdict("an empty answer")
    try:
        found = list(_objects(text))
    except RecursionError:
        return _no_verdict(f"braces nested too deep to be read in {quote(text)}")
    if not found:
        return _no_verdict(f"no JSON object in {quote(text)}")
    shown = [_skeleton(part) for part in judged]
    own = [pairs for pairs, source in found if not _is_quoted(pairs, source, shown)]
    if not own:
        return _no_verdict(f"only a quotation of the judged text: {quote(text)}")
    return _verdict(own[-1])


def _verdict(pairs: _Pairs) -> Verdict:
    keys = [key for key, _ in pairs]
    if sorted(keys) != KEYS:
        listed = quote(", ".join(keys) or "none")
        return _no_verdict(f"keys {listed}, expected {' and '.join(KEYS)}, each once")
    reason, verdict = (dict(pairs)[key] for key in KEYS)
    if not isinstance(reason, str) or reason.strip().casefold() in _NO_REASONS:
        return _no_verdict(f"'reason' is {_shown(reason)}, expected a reason")
    if verdict not in VERDICTS:
        return _no_verdict(f"'verdict' is {_shown(verdict)}, expected 'pass' or 'fail'")
    line = " ".join(_whole(reason).split())
    if len(line) > REASON_CHARACTERS:
        line = line[: REASON_CHARACTERS - 1] + "…"
    return Verdict("pass" if verdict == "pass" else "fail", line, JUDGE, RUBRIC_VERSION)


def _no_verdict(why: str) -> Verdict:
    return Verdict("undecided", f"no verdict: {_whole(why)}", JUDGE, RUBRIC_VERSION)


def _objects(text: str) -> Iterator[tuple[_Pairs, str]]:
    """Yield every JSON object that stands in no other, with its text, in order.

    Raises:
        RecursionError: nested about a thousand levels deep.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_Pairs, parse_constant=_refuse)
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


def _shown(value: object) -> str:
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, _Pairs):
        return "an object"
    return "a list" if isinstance(value, list) else json.dumps(value)


def _whole(text: str) -> str:
    """Return a text without lone surrogates, which no file can store."""
    return text.encode("utf-8", "replace").decode()
