"""What a reply to a user's own message must hold, read from the reply that stands in the data.

A fact of one dialogue alone (an order number, the day of a delivery) can be known to nobody; asked for is what
a training dialogue says as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gatt.data.dialogue import Dialogue, Message
from gatt.data.expectation import Expectation
from gatt.data.hash_split import partition
from gatt.data.reply_facts import expectation_of, facts_of

Key = tuple[str, str]


class TrainedFacts:
    """Facts of the replies of training dialogues, and in which dialogues they stand."""

    def __init__(self) -> None:
        self._in: dict[Key, set[str]] = {}
        """Fact -> ids of training dialogues, two at most."""

    def counted(self, dialogues: Iterable[Dialogue]) -> Iterator[Dialogue]:
        """Yield dialogues as they are, and note the facts of those of the part `train`."""
        for dialogue in dialogues:
            if partition(dialogue.id) == "train":
                for reply in dialogue.replies:
                    for fact in facts_of(reply):
                        ids = self._in.setdefault((fact.kind, fact.key), set())
                        if len(ids) < 2:
                            ids.add(dialogue.id)
            yield dialogue

    def with_expectations(self, dialogue: Dialogue) -> Dialogue:
        """Return a dialogue whose user messages expect the facts of their replies.

        A message that expects something already stays as it is. Facts that the message or the earlier ones say,
        and facts that no other dialogue for training says, are not asked for.
        """
        messages: list[Message] = list(dialogue.messages)
        said: set[Key] = set()
        for place, message in enumerate(messages):
            facts = facts_of(message.content)
            if message.role == "assistant":
                before = messages[place - 1] if place else message
                if before.role == "user" and before.expect is None:
                    expect = self._expectation(message.content, said, dialogue.id)
                    messages[place - 1] = replace(before, expect=expect)
            said |= {(fact.kind, fact.key) for fact in facts}
        return replace(dialogue, messages=tuple(messages))

    def _expectation(self, reply: str, said: set[Key], dialogue_id: str) -> Expectation | None:
        asked = [
            fact
            for fact in facts_of(reply)
            if (fact.kind, fact.key) not in said
            and self._in.get((fact.kind, fact.key), set()) - {dialogue_id}
        ]
        return expectation_of(reply, asked)
