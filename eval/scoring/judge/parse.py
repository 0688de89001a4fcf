"""From what the judge said to a verdict, strictly: what cannot be read is no score."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from eval.scoring.judge.rubric import REASON_FORM, RUBRIC_VERSION
from gatt.generation.base import FinishReason, Generation
from gatt.verifiers.base import Verdict
from gatt.verifiers.graded.judge import JUDGE
from gatt.verifiers.rule import quote

KEYS = ("reason", "verdict")
VERDICTS = ("pass", "fail")
REASON_CHARACTERS = 200
"""Longest reason that is kept as evidence."""
# What small models fill the form with, whatever the reply: `{"reason": "pass", "verdict": "fail"}`.
_NO_REASONS = ("", REASON_FORM, *VERDICTS)
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_UNFINISHED: dict[FinishReason, str] = {
    "length": "cut by max_new_tokens",
    "context_limit": "the prompt does not fit the judge's context",
    "content_filter": "withheld by the server's filter",
    "unanswered": "the server had no answer, try after try",
}


@dataclass(frozen=True, slots=True)
class _Object:
    """A JSON object of an answer; keys may stand twice, and a dict would hide that."""

    pairs: tuple[tuple[str, Any], ...]
    source: str


class _Pairs(tuple[tuple[str, Any], ...]):
    """Keys and values of an object, told apart from a JSON array."""

    __slots__ = ()


def parse_verdict(generation: Generation, judged: Sequence[str]) -> Verdict:
    """Return the judge's verdict, `undecided` with the reason where there is none.

    What counts is the last JSON object of a finished answer: exactly the keys
    `reason` (some text) and `verdict` ("pass" or "fail"), each once. Text and code
    fences around it are fine. Objects that stand in a judged text are the judge's
    quotations of it and are passed over, also where it mended their punctuation.

    Args:
        generation: what the engine returned.
        judged: the texts that the judge was shown.
    """
    text = generation.text
    why = _UNFINISHED.get(generation.finish)
    if why:
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
    own = [one for one in found if not _is_quoted(one, shown)]
    if not own:
        return _no_verdict(f"only a quotation of the judged text: {quote(text)}")
    return _verdict(own[-1])


def _verdict(found: _Object) -> Verdict:
    keys = [key for key, _ in found.pairs]
    if sorted(keys) != list(KEYS):
        listed = quote(", ".join(keys) or "none")
        return _no_verdict(f"keys {listed}, expected {' and '.join(KEYS)}, each once")
    values = dict(found.pairs)
    reason, verdict = values["reason"], values["verdict"]
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


def _objects(text: str) -> Iterator[_Object]:
    """Yield every JSON object that stands in no other, in order.

    Raises:
        RecursionError: nested about a thousand deep.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_Pairs, parse_constant=_refuse)
    start = text.find("{")
    while start >= 0:
        try:
            pairs, end = decoder.raw_decode(text, start)
        except ValueError:
            end = start + 1
        else:
            yield _Object(tuple(pairs), text[start:end])
        start = text.find("{", end)


def _refuse(constant: str) -> None:
    """Refuse NaN and Infinity, which JSON does not have."""
    raise ValueError(f"{constant} is no JSON value")


def _is_quoted(found: _Object, shown: Sequence[str]) -> bool:
    """Whether an object stands in a judged text.

    It is looked for as it was written and as it reads, in either order of its keys,
    by letters and digits alone.
    """
    parts = [f"{key} {value}" for key, value in found.pairs if isinstance(value, str)]
    forms = (found.source, " ".join(parts), " ".join(reversed(parts)))
    wanted = [form for form in map(_skeleton, forms) if form]
    return any(form in text for form in wanted for text in shown)


def _skeleton(text: str) -> str:
    """Return letters and digits alone, JSON's escapes, compatible forms and cases as one."""
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
    """Return a text without halves of characters, which no file could be written with."""
    return text.encode("utf-8", "replace").decode()
