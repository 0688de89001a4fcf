"""Copies: a reply that is the user's message again, or a reply of before. Neither answers anything."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.sentences import sentences
from gatt.verifiers.text.words import SPACELESS, words

VERSION = 2
"""Raised by one with every change that can change what is a copy or a repeat."""

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
    known = {
        number: {tuple(_plain(sentence)) for sentence in sentences(other)}
        for number, other in enumerate(earlier, 1)
    }
    everything = set().union(*known.values()) if known else set()
    if not everything.issuperset(said):
        return None
    whole = next((number for number, one in known.items() if one.issuperset(said)), None)
    return f"repeats the reply to turn {whole}" if whole else "repeats sentences of earlier replies"


def _longest_run(part: Sequence[str], asked: Sequence[str]) -> int:
    return SequenceMatcher(None, part, asked, autojunk=False).find_longest_match().size


@lru_cache(maxsize=1024)
def _plain(text: str) -> list[str]:
    spelt = words(_APOSTROPHE.sub(" ", fold_text(text.replace("-", " "))))
    return [_SAME.get(word, word) for word in spelt]
