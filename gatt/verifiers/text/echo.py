"""Replies that give back what the teacher was told: a sentence of the instruction or of its hint.

An order of the hint ("Answer me first, and mention tennis too, for example your racket.") is also given back
in part, or turned round ("I will answer you first, and mention tennis too"). A sentence that tells the speaker
what it is ("You were born in Corsica") is given back only as it stands: a reply should say its facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.markup import QUOTATION
from gatt.verifiers.text.sentences import sentences
from gatt.verifiers.text.words import words

MIN_INNER_WORDS: Final = 4
"""A sentence with at least so many words also counts inside a longer sentence."""
MIN_RUN_WORDS: Final = 5
MIN_RUN_SHARE: Final = 0.45
"""Of an order so many words in a row, and this share of it, are an echo."""
_TOLD_TO_SPEAKER: Final = re.compile(
    r"(?:you|your|you're|i|i'm|my|we|our|he|she|his|her|the|an?"
    r"|du|dein|sie|ihr|eres|usted|te llamas|tu|su|sus|vous|ton|votre|sei|voce|seu)\b"
)
_PERSONS: Final = dict.fromkeys(
    ("i", "me", "my", "mine", "myself", "you", "your", "yours", "yourself", "we", "us", "our"), "_"
)


def echoed(
    reply: str, hint: str | None, texts: Iterable[str] = (), wanted: Iterable[str] = ()
) -> str | None:
    """Return the sentence that a reply gives back, in plain words, or None.

    A sentence of the reply that ends in a question mark ("You love tennis?") gives nothing back as a whole.

    Args:
        reply: a text.
        hint: the teacher's; None for none.
        texts: the instruction and whatever else the teacher read.
        wanted: what the reply shall say word for word; quotations in hint and `texts` count as such too.
    """
    whole = _sentences_told((hint or "", *texts), tuple(wanted))
    orders = _orders_of(hint or "", tuple(wanted))
    spelt = _plain(reply).split()
    line = f" {' '.join(spelt)} "
    own = {_plain(s) for s in sentences(reply) if not s.endswith("?")}
    for sentence in whole:
        is_inner = len(sentence.split()) >= MIN_INNER_WORDS and f" {sentence} " in line
        if is_inner or sentence in own:
            return sentence
    turned = f" {' '.join(_without_persons(spelt))} "
    return next((order for order, runs in orders if any(run in turned for run in runs)), None)


@lru_cache(maxsize=512)
def _sentences_told(texts: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sentences that the teacher reads and should not say, as plain words."""
    meant = [f" {_plain(w)} " for w in wanted]
    plain = {_plain(s): None for text in texts for s in sentences(QUOTATION.sub(" ", text))}
    return tuple(s for s in plain if len(s.split()) > 1 and not any(f" {s} " in w for w in meant))


@lru_cache(maxsize=512)
def _orders_of(hint: str, wanted: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the orders of a hint, each with the runs of words that give it back in part."""
    orders = []
    for sentence in _sentences_told((hint,), wanted):
        spelt = sentence.split()
        size = max(MIN_RUN_WORDS, round(MIN_RUN_SHARE * len(spelt)))
        if not _TOLD_TO_SPEAKER.match(sentence) and len(spelt) >= size:
            turned = _without_persons(spelt)
            runs = (turned[at : at + size] for at in range(len(turned) - size + 1))
            orders.append((sentence, tuple(f" {' '.join(run)} " for run in runs)))
    return tuple(orders)


def _plain(text: str) -> str:
    return " ".join(words(fold_text(text)))


def _without_persons(spelt: Sequence[str]) -> list[str]:
    return [_PERSONS.get(word, word) for word in spelt]
