"""What the words of a server's error mean, since servers share no codes.

A status of 400 may be a mistake in the settings, which ends a run, or a prompt that is too long at one
turn, which does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

_LOOKED_AT: Final = 2000
"""Characters of a message that are read: some servers repeat the whole prompt behind it."""
_SENTENCE_END: Final = re.compile(r"(?<=[.;!?])\s+|\n")
# Names of settings and other kinds of tokens, which say nothing of the prompt.
_NOT_OF_A_PROMPT: Final = re.compile(
    r"\bmax(?:imum)? (?:(?!prompt|input|context|total)\w+ )?tokens"
    r"|\b(?:completion|output|generated|new|api|access|auth\w*|bearer|stop|special) tokens?"
    r"|context (?:deadline|cancell?ed)|.*\bstop (?:sequence|string|word)s?\b.*"
    r"|.*\b(?:per (?:second|minute|hour|day|month)|hourly|daily|weekly|monthly|quota|rate limit)\b.*"
)
_SUBJECT: Final = (
    r"\b(?:prompt|inputs?|context|messages?|conversation|sequence|requested|tokens?|payload|body)\b"
)
_SIZE: Final = (
    r"\b(?:tokens?|characters|size|window|long|length|context (?:limit|exceed)|\d ?[km]i?b)"
)
_LIMIT: Final = (
    r"exceed|overflow|\btoo (?:long|large|many|big|high|much)|\b\w+er than\b|\b(?:more|less) than\b"
    r"|at most|up to|beyond|\bfit\b|limit|maximum|reduce|shorten"
    r"|(?:must|should) be (?:in\b|<|\[|within)|\d\)? ?>|\d of \d|\bonly (?:\w+ )?\d"
)
_TOO_LONG: Final = re.compile(
    rf"(?=.*{_SUBJECT})(?=.*{_SIZE})(?=.*(?:{_LIMIT}))"
    r"|exceed\w* (?:\S+ ){0,3}context|context size"
    r"|\b(?:prompt|input|payload|request(?: body| entity)?) (?:(?:is|was) )?too (?:long|large|big)"
    r"|\btoo many (?:\w+ )?(?:tokens|messages|turns)"
    r"|\b(?:prompt|inputs?|conversation|messages?) (?:do(?:es)? not|cannot) fit"
    r"|\bexpected max length\b|\b(?:0|no|zero|-\d+) tokens (?:are )?(?:left|remain|available)"
    r"|上下文|超长|超[过過出]"
)
_FIELD: Final = r"(?:\bmax(?:imum)? ?(?:\w+ )?tokens|\bmax length|\b[nu]+m? predict)"
_NOT_POSITIVE: Final = (
    r"(?:positive|negative|(?<![\w.])-\d"
    r"|(?:at least|>=?|(?:greater|larger|more|less) than(?: or equal to)?"
    r"|minimum(?: of)?|be) ?(?:0|1|zero|one)\b)"
)
_NEGATIVE_REST: Final = re.compile(
    rf"{_FIELD}.{{0,120}}?{_NOT_POSITIVE}|{_NOT_POSITIVE}.{{0,80}}?{_FIELD}"
)
"""Requests ask for at least one token, so a number below that is the room that the prompt leaves."""
_FILTERED: Final = re.compile(
    r"content (?:filter|polic|management|moderation|exists risk|violat)|filtering policy|responsible ?ai"
    r"|usage (?:policy|policies|guidelines)|\b(?:was|been|is|prompt|input) flagged\b|require\w* moderation"
    r"|\bmoderation (?:\w+ )?(?:block|flag|fail|reject)|data inspection|inappropriate content"
    r"|guardrail|safety (?:system|filter|check|polic|setting)|(?:unsafe|sensitive|harmful) content|敏感"
)
_NO_VERDICT: Final = re.compile(
    r"\b(?:unknown|unrecogni\w+|unexpected|invalid) (?:name|field|parameter|argument|property)|cannot find"
    r"|not found|does not exist|fail\w* to (?:load|start|init)"
    r"|\b(?:organi[sz]ation|account|key|project)\b.*flagged"
)
"""An error about the settings, the account or the filter itself, of which each request would tell."""
_UNKNOWN_FIELD: Final = re.compile(
    r"unsupported|not support|unknown|unrecogni|unexpected|extra|not (?:permitted|allowed)|deprecated"
)
_WRAPPERS: Final = ("error", "errors", "base_resp")
_MESSAGES: Final = ("message", "detail", "msg", "error_msg", "status_msg", "error_message")
_STATUS_OF_WORDS: Final = (
    (
        429,
        r"rate.?limit|too (?:many|frequent) requests|throttl|quota|resource.?exhausted"
        r"|(?:hourly|daily|weekly|monthly) (?:\w+ )?limit|limit of (?:requests|tokens)",
    ),
    (401, r"unauthori[sz]ed|authenti|api.?key|permission|forbidden"),
    (404, r"not.?found|no such model|does not exist|unknown model"),
    (400, r"invalid|unsupported|bad.?request|validation|not supported"),
)


def is_about_length(words: str) -> bool:
    """Whether an error says that the prompt is too long, or that it leaves no room for a reply.

    `words` are code and message of the error.
    """
    folded = _folded(words)
    return bool(_NEGATIVE_REST.search(folded)) or any(
        _TOO_LONG.search(_NOT_OF_A_PROMPT.sub(" ", sentence))
        for sentence in _SENTENCE_END.split(folded)
    )


def is_about_a_filter(words: str) -> bool:
    """Whether an error says that a content filter withheld the reply."""
    folded = _folded(words)
    return bool(_FILTERED.search(folded)) and not _NO_VERDICT.search(folded)


def _folded(words: str) -> str:
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", words[:_LOOKED_AT])  # maxLength
    return re.sub(r"[`'\"*_]+", " ", apart.lower()).replace("  ", " ")


def error_of(answer: Any) -> tuple[str, str, int]:
    """Return message, code and status of the error in a body; "", "" and 0 where it states none.

    The forms are those of OpenAI (`error` with `message` and `code`), FastAPI (`detail`) and older
    servers (`object: error`), also in a list of one. Values that the server repeats (`input`) are left out.
    """
    error: Any = answer
    while (inner := _inner_error(error)) is not error:
        error = inner
    if not isinstance(error, Mapping):
        return ("" if error is answer else _text(error)), "", 0
    given = [error.get(key) for key in ("code", "status", "status_code", "error_code", "type")]
    codes = [str(code) for code in given if code and not isinstance(code, Mapping | list | bool)]
    status = next((int(code) for code in codes if re.fullmatch("[45][0-9]{2}", code)), 0)
    names = [code for code in codes if not code.isdecimal()]
    said = next((error[key] for key in _MESSAGES if error.get(key)), "")
    if isinstance(said, Mapping) and "content" in said:  # a reply
        said = ""
    # An `error` without one of them is shown whole.
    said = said or (error if error is not answer else "")
    return _text(said), (names or codes or [""])[0], status


def _inner_error(error: Any) -> Any:
    """Return the content of a wrapped error; another value unchanged."""
    if isinstance(error, list) and len(error) == 1 and isinstance(error[0], Mapping):
        return error[0]
    if isinstance(error, Mapping):
        for key in _WRAPPERS:
            if (inner := error.get(key)) and not isinstance(inner, bool):
                return inner
    return error


def status_of_words(words: str) -> int:
    """Return the status that belongs to an error that came with status 200; 500 where none is plain."""
    if is_about_length(words):
        return 400
    folded = words.lower()
    return next((status for status, form in _STATUS_OF_WORDS if re.search(form, folded)), 500)


def named_fields(words: str, fields: Iterable[str]) -> list[str]:
    """Return the fields of a request that an error names, in order."""
    return [
        name
        for name in fields
        if re.search(rf"(?<![a-z]){name.replace('_', '[ _-]?')}(?![a-z])", words, re.IGNORECASE)
    ]


def is_unknown_field(words: str) -> bool:
    """Whether an error says that the server does not know a field, rather than its value."""
    return bool(_UNKNOWN_FIELD.search(_folded(words)))


def _text(said: Any) -> str:
    """Return what an error says as text, without the values that it repeats."""
    if isinstance(said, str):
        return said
    if isinstance(said, list):
        said = [
            {k: v for k, v in item.items() if k != "input"} if isinstance(item, Mapping) else item
            for item in said
        ]
    try:
        return json.dumps(said, ensure_ascii=False)
    except RecursionError:
        return ""
