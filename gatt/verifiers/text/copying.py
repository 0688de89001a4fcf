"""Copies: a reply that is the user's message again, a reply of before, or a recital of the instruction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.sentences import sentences
from gatt.verifiers.text.words import SPACELESS, word_spans, words

VERSION = 3
"""Raised by one with every change that can change what is a copy, a repeat or a recital."""

COPIED_RUN = 5
"""Words in a row that make a copy of a message of any length."""
COPIED_CHARACTERS = 8
"""The same in a script without spaces."""
COPIED_SHARE = 0.6
"""Share of a message's words that makes a copy, of messages of `MIN_MESSAGE_WORDS` or more."""
MIN_MESSAGE_WORDS = 4
"""A shorter message is a greeting ("Good morning!"), which is returned."""
MIN_QUESTION_WORDS = 3
"""Words of a question from which the same words are no reply: "How are you?"."""
MIN_SENTENCE_SHARE = 0.75
"""Share of a sentence that has to be the message's. "Going to the beach tomorrow sounds great!" says more."""
MIN_RUN = 3
"""Words in a row from which words count as taken over: "the" and "is" stand in every text."""
OWN_SHARE = 1.5
"""Words beside a copied sentence, as a multiple of its own, from which a reply is no copy."""
MIN_REPEATED_WORDS = 4
"""Words from which a reply repeats an earlier one: "It is eight." may be right twice."""
MOST_SHORT_REPEATS = 2
"""Earlier replies that a shorter one of two words or more may equal: "I am Maria." again and again is none."""

_SPACELESS: Final = re.compile(f"[{SPACELESS}]")
# "I love my dog" and "You love your dog" are one.
_SAME: Final = {
    **dict.fromkeys(("i", "you", "we", "me", "us", "u"), "you"),
    **dict.fromkeys(("my", "your", "our", "mine", "yours", "ur"), "your"),
    **dict.fromkeys(("am", "is", "are", "was", "were", "m", "re"), "are"),
}
_APOSTROPHE: Final = re.compile(r"n't|'")


def copy_of(reply: str, message: str) -> str | None:
    """Return why a reply is a copy of the user's message, as a phrase for a reader, or None.

    A copy has a sentence that is nearly all the message's, five words of it in a row or 60 % of its words,
    and little beside it. A reply that says something new in the same sentence is none: "A bicycle has two
    wheels." answers "How many wheels does a bicycle have?".
    """
    asked = _plain(message)
    if is_echo(reply, message):
        return "is the question again"
    if len(asked) < MIN_MESSAGE_WORDS:
        return None
    # Most of a reply shares nothing with its message: then nothing else is looked at.
    runs = {tuple(asked[at : at + MIN_RUN]) for at in range(len(asked) - MIN_RUN + 1)}
    most = COPIED_CHARACTERS if _SPACELESS.match(asked[0]) else COPIED_RUN
    parts = [_plain(sentence) for sentence in sentences(reply)]
    total = sum(map(len, parts))
    for part in parts:
        taken = [False] * len(part)
        for at in range(len(part) - MIN_RUN + 1):
            if tuple(part[at : at + MIN_RUN]) in runs:
                taken[at : at + MIN_RUN] = [True] * MIN_RUN
        if sum(taken) < MIN_SENTENCE_SHARE * max(len(part), 1):
            continue
        copied = [word for word, is_taken in zip(part, taken, strict=True) if is_taken]
        is_long = _longest_run(part, asked) >= most
        is_most = len(set(copied) & set(asked)) >= COPIED_SHARE * len(set(asked))
        if (is_long or is_most) and total - len(part) < OWN_SHARE * len(part):
            return f"copies the message: {' '.join(part[:8])!r}"
    return None


def is_echo(reply: str, message: str) -> bool:
    """Whether a reply is the user's question again, word for word."""
    asked = _plain(message)
    return len(asked) >= MIN_QUESTION_WORDS and "?" in message and _plain(reply) == asked


def repeats(reply: str, earlier: Sequence[str]) -> str | None:
    """Return why a reply says nothing that the earlier replies have not said, or None.

    Each of its sentences stands in one of them, word for word. A short reply ("Yes.") is none.
    """
    said = [tuple(_plain(sentence)) for sentence in sentences(reply)]
    num_words = sum(map(len, said))
    if num_words < MIN_REPEATED_WORDS:
        num_before = sum(_plain(other) == _plain(reply) for other in earlier)
        is_worn = num_words > 1 and num_before >= MOST_SHORT_REPEATS
        return f"the same as {num_before} earlier replies" if is_worn else None
    said_before = {
        number: {tuple(_plain(sentence)) for sentence in sentences(other)}
        for number, other in enumerate(earlier, 1)
    }
    everything = set().union(*said_before.values()) if said_before else set()
    if not everything.issuperset(said):
        return None
    whole = next(
        (number for number, before in said_before.items() if before.issuperset(said)), None
    )
    return f"repeats the reply to turn {whole}" if whole else "repeats sentences of earlier replies"


def without_recital(reply: str, instruction: str, num_sentences: int = 2) -> str | None:
    """Return the folded reply without what it recites of an instruction, or None if it recites nothing.

    A recital is a run of `COPIED_RUN` words or more, in the order of the instruction, that has the
    beginnings of `num_sentences` of its sentences, or of its only one. A reply may say what the instruction
    tells or wants said: one sentence as it stands ("We are open from 8 to 6"), or in its own person, which
    changes the beginning ("I am Mia, the assistant of Bergfreund" under "You are Mia, …").
    """
    given, beginnings, runs = _recitable(instruction)
    least = min(num_sentences, len(beginnings))
    text = fold_text(reply)
    spans = word_spans(text)
    said = [text[start:end] for start, end in spans]
    kept, kept_from, at = "", 0, 0
    while at < len(said):
        place, size = runs.get(tuple(said[at : at + COPIED_RUN])), 1
        if place is not None:
            while said[at + size : at + size + 1] == given[place + size : place + size + 1] != []:
                size += 1
            if sum(place <= beginning < place + size for beginning in beginnings) >= least:
                kept += f"{text[kept_from : spans[at][0]]} "
                kept_from = spans[at + size - 1][1]
        at += size
    return kept + text[kept_from:] if kept_from else None


@lru_cache(maxsize=512)
def _recitable(instruction: str) -> tuple[list[str], frozenset[int], dict[tuple[str, ...], int]]:
    """Return the words of an instruction, where its sentences begin, and where each run of words does first."""
    given: list[str] = []
    beginnings = set()
    for sentence in (part for one in sentences(instruction) for part in one.split(";")):
        spelt = words(fold_text(sentence))
        beginnings |= {len(given)} if spelt else set()
        given += spelt
    places = reversed(range(len(given) - COPIED_RUN + 1))
    runs = {tuple(given[at : at + COPIED_RUN]): at for at in places}
    return given, frozenset(beginnings), runs


def _longest_run(part: Sequence[str], asked: Sequence[str]) -> int:
    return SequenceMatcher(None, part, asked, autojunk=False).find_longest_match().size


@lru_cache(maxsize=1024)
def _plain(text: str) -> list[str]:
    spelt = words(_APOSTROPHE.sub(" ", fold_text(text.replace("-", " "))))
    return [_SAME.get(word, word) for word in spelt]
