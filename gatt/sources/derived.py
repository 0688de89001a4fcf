"""What a reply to a user's own message must hold, read from the reply that stands in the data.

A fact of one dialogue alone (an order number, the day of a delivery) can be known to nobody; asked for is what
a training dialogue says as well, about the same thing: "30 days" for a return is not known from "30 degrees",
nor from 30 days for a repair.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, lru_cache
from typing import Final

import stopwordsiso

from gatt.data.dialogue import Dialogue, Message
from gatt.data.expectation import Expectation
from gatt.data.hash_split import partition
from gatt.data.reply_facts import ReplyFact, expectation_of, facts_of
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.words import words

FactKey = tuple[str, ...]
_OF_ITSELF: Final = frozenset({"link", "code"})
"""Kinds of facts that mean the same wherever they stand."""
_OF_ANYTHING: Final = frozenset({
    "cost", "costs", "price", "prices", "takes", "lasts", "much", "many", "euro", "euros", "dollar", "dollars",
    "pound", "pounds",
})  # fmt: skip
"""Words that stand beside the facts of any thing, beside the usual stop words."""
_LEAST_LETTERS: Final = 3
_MOST_DIALOGUES: Final = 2


class TrainedFacts:
    """Facts of the replies of training dialogues, and in which dialogues they stand."""

    def __init__(self) -> None:
        self._in: dict[FactKey, set[str]] = {}
        """Key of a fact -> ids of training dialogues, two at most."""

    def counted(self, dialogues: Iterable[Dialogue]) -> Iterator[Dialogue]:
        """Yield dialogues as they are, and note the facts of those of the part `train`."""
        for dialogue in dialogues:
            if partition(dialogue.id) == "train":
                for message, reply in zip(dialogue.user_turns, dialogue.replies, strict=False):
                    for fact in facts_of(reply):
                        for key in _keys(fact, message, reply):
                            ids = self._in.setdefault(key, set())
                            if len(ids) < _MOST_DIALOGUES:
                                ids.add(dialogue.id)
            yield dialogue

    def with_expectations(self, dialogue: Dialogue) -> Dialogue:
        """Return a dialogue whose user messages expect the facts of their replies.

        A message that expects something already stays as it is. Facts that the message or the earlier ones say,
        and facts that no other dialogue for training says of the same thing, are not asked for.
        """
        messages: list[Message] = list(dialogue.messages)
        said: set[FactKey] = set()
        for place, message in enumerate(messages):
            facts = facts_of(message.content)
            if message.role == "assistant":
                before = messages[place - 1] if place else message
                if before.role == "user" and before.expect is None:
                    expect = self._expectation(before.content, message.content, said, dialogue.id)
                    messages[place - 1] = replace(before, expect=expect)
            said |= {(fact.kind, fact.key) for fact in facts}
        return replace(dialogue, messages=tuple(messages))

    def _expectation(
        self, message: str, reply: str, said: set[FactKey], dialogue_id: str
    ) -> Expectation | None:
        asked = [
            fact
            for fact in facts_of(reply)
            if (fact.kind, fact.key) not in said
            and any(self._in.get(key, set()) - {dialogue_id} for key in _keys(fact, message, reply))
        ]
        return expectation_of(reply, asked)


def _keys(fact: ReplyFact, message: str, reply: str) -> Iterator[FactKey]:
    """Yield the keys of a fact: the fact itself, or the fact with its unit and one word of its topic.

    A name is about what its reply says, a number about what the message says as well.
    """
    if fact.kind in _OF_ITSELF:
        yield fact.kind, fact.key
        return
    unit = _unit(fact, reply)
    about = _about(reply) | (_about(message) if fact.kind == "number" else frozenset())
    for word in about - {unit, fold_text(fact.text)}:
        yield fact.kind, fact.key, unit, word


def _unit(fact: ReplyFact, reply: str) -> str:
    """Return the word behind a number, "" for another fact; of a range it stands behind the second number."""
    if fact.kind != "number":
        return ""
    range_end = r"(?:\s*(?:to|or|and|-|–)\s*\d\S*)?"
    unit = re.search(
        rf"(?<![\w.,]){re.escape(fact.text)}{range_end}[\s-]*(?P<unit>[^\W\d_]+)", reply
    )
    return fold_text(unit["unit"]) if unit else ""


@lru_cache(maxsize=1024)
def _about(text: str) -> frozenset[str]:
    """Return the folded words of a text that say what it is about."""
    spelt = {word for word in words(fold_text(text)) if len(word) >= _LEAST_LETTERS}
    return frozenset(word for word in spelt - _common() if not any(map(str.isdigit, word)))


@cache
def _common() -> frozenset[str]:
    return _OF_ANYTHING | frozenset(stopwordsiso.stopwords("en"))
