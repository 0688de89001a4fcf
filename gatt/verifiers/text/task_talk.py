"""Talk about the task: sentences that refuse, repeat, promise or question an instruction.

"I cannot mention tennis in every reply", "Bring it up in every answer.", "Okay, I will mention
tennis from now on." and "Should I mention tennis in each reply?" name what an instruction asks for,
and none of them does it. What is said to the user stays: "Remember to floss.", "I'll remind you to
floss.", "We always answer within a day.", "May I recommend our soup?". English only: in other
languages no sentence is taken for such talk. A list behind a colon is none either: "Sure: flour, eggs, and
milk."
"""

from __future__ import annotations

from functools import lru_cache

from gatt.verifiers.phrases import Patterns
from gatt.verifiers.text.folding import fold, fold_text
from gatt.verifiers.text.sentences import sentence_spans
from gatt.verifiers.text.words import words

_RE = Patterns("task_talk")

VERSION = 3
"""Raised with every change that can change a verdict."""

MIN_QUOTED_WORDS = 3
"""Words from which a quotation may be an instruction; keys and commands ("Page Down") have fewer."""


@lru_cache(maxsize=256)
def without_task_talk(reply: str) -> str:
    """Return the reply with talk about the task blanked: same length, line breaks kept.

    A reply that has only such talk and an "Okay" or "Sorry" beside it comes back blank.
    """
    spans = sentence_spans(reply)
    texts = [fold_text(reply[start:end]) for start, end in spans]
    is_talk = _found(reply, spans, texts)
    if not any(is_talk):
        return reply
    if all(talk or _RE.ACKNOWLEDGED.search(t) for talk, t in zip(is_talk, texts, strict=True)):
        return _blank(reply)
    for (start, end), talk in zip(spans, is_talk, strict=True):
        if talk:
            reply = reply[:start] + _blank(reply[start:end]) + reply[end:]
    return reply


def _found(reply: str, spans: list[tuple[int, int]], texts: list[str]) -> list[bool]:
    is_talk = [bool(_RE.TALK.search(text) or _RE.ORDER.search(text)) for text in texts]
    quoted_until = 0
    for number, (start, end) in enumerate(spans):
        if start < quoted_until:
            is_talk[number] = True
        elif frame := _RE.HAS_MARK.search(texts[number]) and _RE.FRAME.search(texts[number]):
            if _RE.LISTED.match(texts[number], frame.start("mark")):
                continue
            if frame["mark"].strip() != ":":
                opened = start + fold(reply[start:end]).span(*frame.span("mark"))[1]
                closed = _RE.CLOSING.search(reply, opened)
                quoted = reply[opened : closed.start() if closed else end]
                if ":" not in frame["mark"] + quoted and len(words(quoted)) < MIN_QUOTED_WORDS:
                    continue
                quoted_until = closed.start() if closed else 0
            is_talk[number] = True
    for order in (range(len(texts)), reversed(range(len(texts)))):
        before = False
        for number in order:
            is_part = _RE.OF_YOU.search(texts[number]) and not texts[number].endswith("?")
            before = is_talk[number] = is_talk[number] or bool(before and is_part)
    return is_talk


def _blank(text: str) -> str:
    return "".join(character if character in "\r\n" else " " for character in text)
