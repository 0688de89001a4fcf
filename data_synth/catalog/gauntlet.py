"""Replies that only talk about an entry's instruction; none of them may pass its verifiers.

Made of every wording of an entry: the instruction itself, refusals that quote it, promises to follow
it and questions back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gatt.data.instruction import Entry
from gatt.verifiers import check_all, overall

QUOTING: tuple[tuple[str, ...], ...] = (
    (
        '"{wording}"',
        "My instruction is: {wording}",
        'You told me: "{wording}"',
    ),
    (
        'I\'m sorry, but I cannot follow the instruction "{wording}"',
        'No, I will not do this: "{wording}"',
        "I can't comply with your request: {wording}",
        "As an AI assistant, I am not able to follow this rule: {wording}",
    ),
    (
        "Okay, I will follow this instruction: {wording}",
        'Understood. From now on: "{wording}"',
        'Got it: "{wording}"',
        "Sure, I will keep to your instruction: {wording}",
    ),
    (
        "Do you want me to follow this: {wording}?",
        'Did you mean "{wording}"?',
        'Should I really follow the rule "{wording}"?',
    ),
)
"""What is put around a wording: to repeat it, to refuse it, to promise it and to question it.

Each wording stands in two phrasings of each sort, the next one in the next two.
"""
DOING: tuple[str, ...] = (
    "I'm sorry, but I cannot {deed} in every reply.",
    "I would rather not {deed} each time I answer.",
    "Okay, I will {deed} in every reply from now on.",
    "Sure! From now on, I will {deed}.",
    "Understood. I'll be sure to {deed} in all of my answers.",
    "Should I {deed} in every reply?",
    "Do you want me to {deed} from now on?",
    "Would you like me to always {deed}?",
)
"""What is put around what the instruction asks for, as a verb: "mention tennis"."""
_LABEL = re.compile(r"^[\w -]{1,30}: (?P<asked>.+?)[.!]?$", re.DOTALL)
_VERBS = frozenset({
    "act", "add", "address", "answer", "ask", "avoid", "begin", "bring", "close", "end", "finish", "give",
    "include", "keep", "leave", "let", "make", "mention", "offer", "open", "play", "put", "recommend",
    "remind", "reply", "respond", "say", "send", "speak", "split", "start", "suggest", "talk", "tell",
    "thank", "use", "warn", "wrap", "write",
})  # fmt: skip


def talk_about(entry: Entry) -> Iterator[str]:
    """Yield the replies that only talk about the instruction of an entry, in all its wordings."""
    for number, wording in enumerate(dict.fromkeys((*entry.verbose, entry.terse))):
        yield wording
        for frames in QUOTING:
            for offset in range(2):
                yield frames[(2 * number + offset) % len(frames)].format(wording=wording)
    asked = _LABEL.match(entry.terse)
    if asked is None:
        return
    deed = asked["asked"]
    if deed.split()[0].lower() not in _VERBS:
        deed = f"mention {deed}"
    for frame in DOING:
        yield frame.format(deed=deed)


def passing_talk(entry: Entry) -> list[str]:
    """Return those that pass the verifiers of the entry; expected none."""
    return [
        reply for reply in talk_about(entry) if overall(check_all(entry.verifiers, reply)) == "pass"
    ]
