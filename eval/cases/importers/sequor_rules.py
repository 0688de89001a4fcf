"""Which constraints of SEQUOR a rule of ours decides: a table of patterns, matched whole.

The constraints are one English sentence each ("Write two paragraphs"). A pattern
stands here only where a verifier decides all that its sentence asks for: "Write two
funny paragraphs" fits none and goes to the judge. Three readings are wider than
a strict one: numbered items count as bullets, case and closing punctuation of a
sentence to begin or end with do not count ("Sure Thing!"), and one emoji is enough
for "emojis". A marker ("[END]", "AI:") counts with its case and marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from gatt.verifiers.language.rule import LANGUAGES
from gatt.verifiers.spec import VerifierSpec

_NUMBER_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
    "twenty",
)  # fmt: skip
_NUMBERS: Mapping[str, int] = {
    **{word: number for number, word in enumerate(_NUMBER_WORDS)},
    "a": 1,
    "single": 1,
    "a single": 1,
}
_UNITS: Mapping[str, str] = {
    "sentence": "sentences",
    "word": "words",
    "line": "lines",
    "paragraph": "paragraphs",
    "bullet": "bullets",
    "bullet point": "bullets",
}
_CODES = {name.casefold(): code for code, name in LANGUAGES.items()}

_ANY = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_N = rf"(?P<n>\d[\d,]*|{_ANY})"
_M = rf"(?P<m>\d[\d,]*|{_ANY})"
_UNIT = r"(?P<unit>sentence|word|line|paragraph|bullet[ -]point|bullet)s?"
_REPLY = r"(?:answers?|repl(?:y|ies)|responses?|outputs?|messages?|generation)"
_THE_REPLY = rf"(?:(?:your|all|each|every|the|my) )?(?:normal )?{_REPLY}"
_LEAD = (
    rf"(?:(?:the |your |ai )?{_REPLY} (?:should|must) (?:only )?(?:be|have) |it must be |must be "
    r"|(?:answer|reply|respond|write|use|generate|provide|give|produce|create|describe|explain"
    r"|have|present|fit)"
    rf"(?: (?:it|each question|{_THE_REPLY}|a text of|(?:the )?information))?"
    r"(?: (?:in|into|with|within|using))? )?(?:just |only |exactly |only use )?"
)
_LIMIT = rf"(?:limit|keep)(?: (?:it|{_THE_REPLY}|the generated text|the word count))?(?: (?:to|within))? "
_AT_MOST = r"(?:up to|at most|max|maximum|a maximum of|no more than|no longer than|not more than)"
_QUOTED = r"(?:[\"“](?P<double>[^\"“”]+)[\"”]|['‘](?P<single>[^'‘’]+)['’]|(?P<square>\[[^\]]+\]))"
_PROSE = re.compile(r"\w(?:(?!_)[\w\s.,!?'’-])*(?<![\s,'’-])")
"""A text without marks but those of plain sentences, and with none that a reply would have to hold."""
_LANGUAGE = r"(?P<language>[a-z]+)(?: language)?(?: from (?:now on|here onwards))?"

Specs = tuple[VerifierSpec, ...]
_Make = Callable[[re.Match[str]], Specs]


@cache
def rules_for(text: str) -> Specs:
    """Return the verifiers that decide a constraint, none where only a judge can."""
    sentence = " ".join(text.split()).rstrip(".! ") or text
    for pattern, make in _TABLE:
        found = pattern.fullmatch(sentence) or pattern.fullmatch(text.strip())
        specs = make(found) if found else ()
        if specs:
            return specs
    return ()


def _number(text: str) -> int:
    word = text.casefold().replace(",", "")
    return _NUMBERS[word] if word in _NUMBERS else int(word)


def _bounded(match: re.Match[str], low: int | None, high: int | None) -> Specs:
    kind = _UNITS[match["unit"].casefold().replace("-", " ")]
    params = {
        **({} if low is None else {"min": low}),
        **({} if high is None else {"max": high}),
    }
    if (low is not None and high is not None and low > high) or (high is not None and high < 1):
        return ()
    return (VerifierSpec(kind, params),)


def _exact(match: re.Match[str]) -> Specs:
    number = _number(match["n"])
    return _bounded(match, number, number)


def _range(match: re.Match[str]) -> Specs:
    return _bounded(match, _number(match["n"]), _number(match["m"]))


def _most(match: re.Match[str]) -> Specs:
    low = 1 if match["unit"].casefold().startswith("bullet") else None
    return _bounded(match, low, _number(match["n"]))


def _fewer(match: re.Match[str]) -> Specs:
    return _bounded(match, None, _number(match["n"]) - 1)


def _least(match: re.Match[str]) -> Specs:
    return _bounded(match, _number(match["n"]), None)


def _more(match: re.Match[str]) -> Specs:
    return _bounded(match, _number(match["n"]) + 1, None)


def _language(match: re.Match[str]) -> Specs:
    code = _CODES.get(match["language"].casefold())
    return (VerifierSpec("language", {"language": code}),) if code else ()


def _edge(kind: str) -> _Make:
    def make(match: re.Match[str]) -> Specs:
        text = _quoted(match)
        exact = {} if _PROSE.fullmatch(text) else {"exact": True}
        return (VerifierSpec(kind, {"any_of": [text], **exact}),)

    return make


def _quoted(match: re.Match[str]) -> str:
    return str(match["double"] or match["single"] or match["square"]).strip()


def _phrase(match: re.Match[str]) -> Specs:
    text = _quoted(match)
    # The kind finds words: of a marker it would take the marks away.
    return (VerifierSpec("terms", {"all_of": [text]}),) if _PROSE.fullmatch(text) else ()


def _keys(match: re.Match[str]) -> Specs:
    names = re.split(r",\s*(?:and\s+)?|\s+and\s+", match["keys"])
    keys = [name.strip(" \"'“”‘’`") for name in names]
    return (VerifierSpec("json_object", {"keys": keys}),) if all(keys) else ()


def _always(kind: str, **params: Any) -> _Make:
    def make(_: re.Match[str]) -> Specs:
        return (VerifierSpec(kind, params),)

    return make


_BULLETS = (
    r"(?:bullet[ -]?points?|bullets|a? ?bullet(?:ed|point|[ -]point(?:ed)?)? (?:list|form|format)"
    r"|list form with bullet points)"
)
_ROWS: tuple[tuple[str, _Make], ...] = (
    # What a reply is counted in.
    (rf"{_LEAD}{_N}(?: single)? {_UNIT}(?: long)?", _exact),
    (rf"the reply is {_N} {_UNIT}(?: long)?", _exact),
    (rf"{_LEAD}(?:between )?{_N} ?(?:-|–|~|to|or|and) ?{_M} {_UNIT}(?: long)?", _range),
    (rf"{_LIMIT}{_N} ?(?:-|–|~|to|or) ?{_M} {_UNIT}", _range),
    (rf"limited to (?:a total of )?{_N}-{_M} {_UNIT}", _range),
    (rf"{_LEAD}at least {_N} {_UNIT},? up to {_M}", _range),
    (rf"{_LEAD}a minimum of {_N} {_UNIT} and a maximum of {_M} (?P=unit)s?", _range),
    (rf"{_LEAD}{_AT_MOST} {_N} {_UNIT}(?: long| in length)?", _most),
    (rf"do not exceed {_N} {_UNIT}", _most),
    (rf"{_LIMIT}(?:max )?{_N} {_UNIT}", _most),
    (rf"(?P<unit>word) limit is {_N}", _most),
    (rf"limit the (?P<unit>word)s to {_N}", _most),
    (rf"(?:{_LIMIT}|{_LEAD})(?:under|less than|fewer than) {_N} {_UNIT}", _fewer),
    (rf"{_LEAD}(?:at least|a minimum of) {_N} {_UNIT}(?: long)?", _least),
    (rf"{_LEAD}(?:over|more than) {_N} {_UNIT}", _more),
    (r"(?:make it|collapse|put it) (?:in|into) one line", _always("lines", min=1, max=1)),
    (r"(?:write|generate) (?:only one|a single) line(?: in)? response", _always("lines", max=1)),
    (
        r"do not (?:use line breaks|include any newline characters in the output)",
        _always("lines", max=1),
    ),
    # Lists and signs.
    (
        r"(?:answer|list|write|present|format|respond|reply|use|put)"
        r"(?: (?:it|answers|facts|down|(?:the )?information))?(?: (?:in|into|as|with|by|using))?"
        rf"(?: a)? {_BULLETS}",
        _always("bullets", min=2),
    ),
    (rf"bullet[ -]point {_THE_REPLY}", _always("bullets", min=2)),
    (rf"results should be presented as {_BULLETS}", _always("bullets", min=2)),
    (rf"(?:include|use|add) (?:some )?emojis?(?: in {_THE_REPLY})?", _always("emoji", min=1)),
    # The language of the whole reply.
    (
        r"(?:always )?(?:answer|reply|respond|speak|talk|write|explain|communicate|response)"
        r"(?: (?:to me|the question|queries|completely|entirely|only|all output|by typing)){0,2}"
        rf" in {_LANGUAGE}",
        _language,
    ),
    (rf"(?:use|speak) {_LANGUAGE}", _language),
    (
        rf"(?:generate|give|provide) (?:{_THE_REPLY}|information)(?: (?:only|entirely))? in {_LANGUAGE}",
        _language,
    ),
    (rf"switch (?:language )?to {_LANGUAGE}", _language),
    (rf"translate (?:your entire response )?(?:in)?to {_LANGUAGE}", _language),
    (rf"continue this conversation in {_LANGUAGE}", _language),
    # How it begins, ends, and what it says.
    (
        rf"(?:always |assistant will )?(?:begin|start|prefix|prepend|beginning)(?: {_THE_REPLY})?"
        r" (?:with|by saying,?)(?: the (?:phrase|word|string|sentence|following sentence):?)?"
        rf" {_QUOTED}",
        _edge("starts_with"),
    ),
    (rf"(?:answer|always respond) starting with {_QUOTED}", _edge("starts_with")),
    (rf"{_THE_REPLY} must start with {_QUOTED}", _edge("starts_with")),
    (
        rf"(?:print|put|include|answer with) {_QUOTED} (?:in front of|at the beginning of)"
        rf" (?:{_THE_REPLY}|the first line)",
        _edge("starts_with"),
    ),
    (rf"include {_QUOTED} at the beginning", _edge("starts_with")),
    (
        rf"(?:always )?(?:end|finish|conclude)(?: {_THE_REPLY})? (?:with|by saying) {_QUOTED}",
        _edge("ends_with"),
    ),
    (
        rf"(?:always )?(?:say|write|put|add) {_QUOTED} at the end(?: of (?:{_THE_REPLY}|whole content))?",
        _edge("ends_with"),
    ),
    (rf"use the phrase {_QUOTED}", _phrase),
    (
        r"(?:(?:provide|return) )?(?:your answer|output|the output|(?:the )?response)"
        r"(?: (?:must|should) be)?(?: as| in)?(?: a)? json(?: format)?"
        r" with (?:the )?(?:following )?keys:? (?P<keys>[\w\s\"'“”‘’`,-]+)",
        _keys,
    ),
    (r"respond with a json including (?P<keys>[\w\s\"'“”‘’`,-]+)", _keys),
)
_TABLE = tuple((re.compile(pattern, re.IGNORECASE), make) for pattern, make in _ROWS)
