"""Programs that bring a plain reply into a form and keep what it says; for targets where the teacher fails.

An entry names one: `program: {name: starts, text: "Well now,"}`. None of them knows the verifiers: what a
program makes is judged like any other reply.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice, pairwise
from typing import Final

from gatt.verifiers.answers.claims import COMMON_ENGLISH
from gatt.verifiers.text.markup import strip_markdown
from gatt.verifiers.text.sentences import sentences
from gatt.verifiers.text.words import words

FILLERS: Final = (
    "I hope that helps.",
    "Feel free to ask me more.",
    "That is what I would say.",
    "Take your time with it.",
    "Let me know what you think.",
    "There is always more to say about it.",
    "I am happy to talk about it.",
    "It is a nice thing to think about.",
)
"""Sentences that go with any reply, for forms that want more of it."""
QUESTIONS: Final = (
    "Does that help you?",
    "What do you think?",
    "Would you like to hear more?",
    "Is there anything else on your mind?",
    "Shall I say more about it?",
    "Was that what you wanted to know?",
)
TITLES: Final = (
    "My Answer",
    "In Short",
    "A Few Words",
    "Here It Is",
    "What I Think",
    "To Your Message",
)
_SMALL: Final = frozenset({
    "a", "an", "and", "at", "but", "for", "he", "her", "his", "if", "in", "it", "it's", "its", "most", "my",
    "no", "of", "on", "our", "people", "she", "so", "some", "that", "that's", "the", "their", "there",
    "there's", "these", "they", "this", "those", "to", "we", "what", "when", "with", "yes", "you", "your",
})  # fmt: skip
"""Words that lose their capital where something stands in front of them."""
_NUMBER: Final = re.compile(r"(?<![\w.,:/$€£-])\d{1,4}(?![\w:/%°]|[.,]\d)")
_ONES: Final = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS: Final = [
    "_",
    "_",
    "twenty",
    "thirty",
    "forty",
    "fifty",
    "sixty",
    "seventy",
    "eighty",
    "ninety",
]
Program = Callable[..., str | None]


def apply_program(program: str, reply: str) -> str | None:
    """Return a reply brought into a form, None where the program cannot.

    `program` is JSON, `{"name": …}` and the parameters. Markdown and line breaks of the reply are taken off
    first.

    Raises:
        ValueError: no such program, or text that is no JSON object.
        TypeError: parameters that it does not take.
    """
    given = json.loads(program)
    if not isinstance(given, dict) or given.get("name") not in PROGRAMS:
        raise ValueError(f"{program}: expected a name of {', '.join(PROGRAMS)}")
    params = {key: value for key, value in given.items() if key != "name"}
    return PROGRAMS[given["name"]](" ".join(strip_markdown(reply).split()), **params)


def apply_programs(programs: Sequence[str], reply: str) -> str | None:
    """Return a reply after some programs, in order; None where one of them cannot."""
    made: str | None = reply
    for program in programs:
        made = apply_program(program, made) if made else None
    return made


def texts_added(programs: Sequence[str]) -> Iterator[str]:
    """Yield the sentences that programs put into a reply beside what it says."""
    for program in programs:
        given = json.loads(program)
        own = (given.get(key, "") for key in ("text", "start", "label"))
        yield from (text for text in own if any(map(str.isalpha, text)))
        yield from (*FILLERS, *QUESTIONS)


def _from(options: tuple[str, ...], reply: str) -> Iterator[str]:
    """Yield the options that do not occur in the reply; the reply decides which one is first."""
    start = zlib.crc32(reply.encode()) % len(options)
    return (option for option in (*options[start:], *options[:start]) if option not in reply)


def _stopped(reply: str) -> str:
    return reply if reply.endswith((".", "!", "?", "…")) else f"{reply}."


def shorter(reply: str) -> Iterator[str]:
    """Yield a reply in fewer and fewer sentences: first all of it, joined, then without its shortest ones."""
    own = sentences(_stopped(reply))
    for n in range(len(own) - 1, 0, -1):
        yield exactly(reply, n=n)
    for n in range(len(own) - 1, 0, -1):
        longest = sorted(sorted(range(len(own)), key=lambda place: -len(own[place]))[:n])
        yield " ".join(own[place] for place in longest)


def lowered(reply: str) -> str:
    """Return a reply to stand behind something: with a small letter unless it may start with a name."""
    first = reply.partition(" ")[0].rstrip(",.!?").lower()
    is_word = first in _SMALL or (first in COMMON_ENGLISH and first != "i")
    return reply[:1].lower() + reply[1:] if is_word else reply


def starts(reply: str, /, *, text: str, gap: str = " ") -> str:
    """Put a text in front."""
    return text + gap + (lowered(reply) if text.endswith(",") else reply)


def ends(reply: str, /, *, text: str, gap: str = " ", start: str = "") -> str:
    """Put a text behind, and perhaps one in front."""
    return (starts(reply, text=start, gap=gap) if start else _stopped(reply)) + gap + text


def wraps(reply: str, /, *, left: str, right: str) -> str:
    """Put marks around; the same marks inside become others."""
    for mark in {left, right}:
        reply = reply.replace(mark, "'" if mark == '"' else "")
    return left + reply + right


def asks(reply: str, /) -> str:
    """End with a question."""
    return f"{_stopped(reply)} {next(_from(QUESTIONS, reply), QUESTIONS[0])}"


def remarks(reply: str, /, *, label: str, gap: str = "\n\n") -> str:
    """End with a label and a remark behind it."""
    return ends(reply, text=f"{label} {next(_from(FILLERS, reply), FILLERS[0])}", gap=gap)


def parts(
    reply: str, /, *, n: int | None = None, by: str = "\n", mark: str = "", numbered: bool = False
) -> str:
    """Write a sentence a piece, of n pieces: sentences are joined or added; without n, all as they are."""
    pieces = sentences(reply) if n is None else _pieces(reply, n)
    marks = [f"{number}. " if numbered else mark for number in range(1, len(pieces) + 1)]
    return by.join(m + piece for m, piece in zip(marks, pieces, strict=True))


def _pieces(reply: str, n: int) -> list[str]:
    pieces = [*sentences(_stopped(reply)), *islice(_from(FILLERS, reply), n)]
    num_own = len(sentences(reply))
    if num_own <= n:
        return pieces[:n]
    return [*pieces[: n - 1], " ".join(pieces[n - 1 : num_own])]


def exactly(reply: str, /, *, n: int) -> str:
    """Make n sentences of it: others are joined by a semicolon or added."""
    own = sentences(_stopped(reply))
    if len(own) <= n:
        return " ".join(_pieces(reply, n))
    joined = own[n - 1]
    for sentence in own[n:]:
        joined = f"{joined.rstrip('.!?…')}; {lowered(sentence)}"
    return " ".join([*own[: n - 1], joined])


def bounds(
    reply: str,
    /,
    *,
    least_words: int = 0,
    most_words: int = 10_000,
    most_sentences: int = 10_000,
    most_characters: int = 1_000_000,
) -> str | None:
    """Cut it behind a sentence, or add sentences, until it has the length; None if neither can."""
    made = ""
    own = sentences(_stopped(reply))[:most_sentences]
    for number, sentence in enumerate([*own, *_from(FILLERS, reply)]):
        longer = f"{made} {sentence}".strip()
        is_too_long = len(words(longer)) > most_words or len(longer) > most_characters
        if is_too_long or (number >= len(own) and len(words(made)) >= least_words):
            break
        made = longer
    return made if made and len(words(made)) >= least_words else None


def cased(reply: str, /, *, case: str, unit: str = "all") -> str:
    """Write all of it, or its first word or sentence (another follows), in lower, upper or title case."""
    if case == "title":
        return re.sub(r"(?<![\w'’-])[^\W\d_]", lambda match: match[0].upper(), reply)
    change = str.lower if case == "lower" else str.upper
    if unit == "sentence":
        reply = " ".join(_pieces(reply, max(2, len(sentences(reply)))))
    firsts = sentences(reply) if unit == "sentence" else words(reply)
    end = len(reply) if unit == "all" else reply.index(firsts[0]) + len(firsts[0])
    return change(reply[:end]) + reply[end:]


def replaces(reply: str, /, *, old: str, new: str) -> str:
    """Write a mark or a whole word otherwise; a capital at its start is kept."""

    def instead(match: re.Match[str]) -> str:
        return new[:1].upper() + new[1:] if match[0][:1].isupper() else new

    edge = r"\b" if old[-1:].isalnum() else ""
    return re.sub(edge + re.escape(old) + edge, instead, reply, flags=re.IGNORECASE)


def spells(reply: str, /) -> str | None:
    """Write numbers in words; None where a digit is left ("5 %", "7:30")."""
    spelled = _NUMBER.sub(lambda match: _spelled(int(match[0])), reply)
    return None if any(map(str.isdigit, spelled)) else spelled


def digits(reply: str, /) -> str | None:
    """Write numbers up to twenty in digits; None where there is none."""
    values = {word: str(value) for value, word in enumerate(_ONES[2:], start=2)}
    text = re.sub(
        rf"(?<!-)\b(?:{'|'.join(values)})\b(?!-)", lambda m: values[m[0].lower()], reply, flags=re.I
    )
    return text if any(map(str.isdigit, text)) else None


@cache
def _spelled(value: int) -> str:
    if value < 20:
        return _ONES[value]
    if value < 100:
        return _TENS[value // 10] + (f"-{_ONES[value % 10]}" if value % 10 else "")
    big, name = (1000, "thousand") if value >= 1000 else (100, "hundred")
    rest = f" {_spelled(value % big)}" if value % big else ""
    return f"{_spelled(value // big)} {name}{rest}"


def as_json(reply: str, /, *, key: str, other: str | None = None, value: str = "") -> str:
    """Put it under a key of a JSON object, with a value under another key behind it."""
    return json.dumps({key: reply} | ({other: value} if other else {}), ensure_ascii=False)


def titled(reply: str, /, *, left: str, right: str = "", gap: str = "\n\n") -> str:
    """Put a title on a line of its own in front, between two marks."""
    return left + next(_from(TITLES, reply)) + right + gap + reply


def marks_sentences(reply: str, /, *, mark: str) -> str:
    """End every sentence with a mark."""
    own = sentences(reply)
    stopped = [sentence.rstrip(".!?…") + mark for sentence in own]
    # A list or an abbreviation that is cut in two would be changed inside.
    is_plain = all(before[-1:] in ".!?…" for before, _ in pairwise(own))
    return " ".join(stopped) if is_plain else reply


def joins_words(reply: str, /, *, by: str) -> str:
    """Put a mark, or a new line, between all words."""
    return by.join(words(reply))


PROGRAMS: Final[Mapping[str, Program]] = {
    program.__name__: program
    for program in (
        starts, ends, wraps, asks, remarks, parts, exactly, bounds, cased, replaces, spells, digits, as_json,
        titled, marks_sentences, joins_words,
    )
}  # fmt: skip
"""Name -> program: the reply, then the parameters. A new one is one function here and one line of the tests."""
