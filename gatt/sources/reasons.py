"""Why a source changes or drops a dialogue, and what helps: the words of reports, errors and data cards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# What is altered.
SPEAKER_RENAMED: Final = "speaker renamed"
NULL_TWIN: Final = "empty twin of a field ignored"
PARTS_JOINED: Final = "text parts joined"
THINKING_REMOVED: Final = "thinking removed"
FORM_CHANGED: Final = "messages unwrapped"
SYSTEM_FIELD: Final = "system field put in front"
EMPTY_SYSTEM: Final = "empty system message removed"
BLANK_MESSAGE: Final = "blank message removed"
LATER_SYSTEM: Final = "system message in the middle removed"
OPENING_CUT: Final = "opening by the assistant cut"
MERGED: Final = "messages of one speaker merged"
SYSTEM_REMOVED: Final = "system message removed"
OPEN_TURN_CUT: Final = "open last turn cut"

# Rows of which no dialogue can be made. They count towards `max_lost`.
BROKEN_JSON: Final = "broken JSON"
NO_MESSAGES: Final = "no messages"
ONE_EXCHANGE: Final = "one prompt with one response"
ONE_MESSAGE: Final = "one message a row"
UNKNOWN_FORM: Final = "messages of an unknown form"
UNKNOWN_SPEAKER: Final = "unknown speaker"
NO_TEXT: Final = "content that is no text"
ODD_ID: Final = "id that is no text"
REPEATED_ID: Final = "repeated id"
HALF_CHARACTER: Final = "half a character"
BROKEN_EXPECT: Final = "unusable expect"

# Dialogues that can be read, and are of no use here.
MEDIA: Final = "images or other parts that are no text"
TOOLS: Final = "tool calls"
NO_EXCHANGE: Final = "no whole exchange"
DUPLICATE: Final = "exact duplicate"
TOO_SHORT: Final = "too short"
OTHER_PART: Final = "other part"

LOST: Final[Mapping[str, str]] = {
    BROKEN_JSON: "write one JSON object a line",
    NO_MESSAGES: "name the field that holds the messages with `column`, or call it 'messages'",
    ONE_EXCHANGE: "use dialogues of several turns: an instruction can be forgotten only there",
    ONE_MESSAGE: "write one dialogue a row, with its messages as a list in 'messages'",
    UNKNOWN_FORM: "write a list of objects with 'role' and 'content' in 'messages'",
    UNKNOWN_SPEAKER: "call the speakers user, assistant and system",
    NO_TEXT: "write 'content' as a text or a list of text parts",
    ODD_ID: "write ids as texts or numbers",
    REPEATED_ID: "give each dialogue an id of its own, or leave ids out",
    HALF_CHARACTER: "write whole characters, such as both escapes of an emoji",
    BROKEN_EXPECT: "write 'expect' with any_of, none_of or verifiers, or leave it out",
}
"""Reason of a lost row -> what helps."""
UNUSED: Final[Mapping[str, str]] = {
    MEDIA: "use dialogues of text alone",
    TOOLS: "use dialogues without tools",
    NO_EXCHANGE: "use dialogues in which the user asks and the assistant replies",
    DUPLICATE: "use dialogues that differ",
    TOO_SHORT: "lower min_turns or use another source",
    OTHER_PART: "use more dialogues, of which a hash of the id gives each part a share",
}
"""Reason why a dialogue is left out -> what helps where too many are."""
CHANGE_NOTES: Final[Mapping[str, str]] = {
    SYSTEM_REMOVED: "the instruction takes its place; put what must hold into a catalogue entry",
}
"""What a user should know of a change."""


def advice(dropped: Mapping[str, int]) -> str:
    """Return what helps against the most frequent reason that has an advice.

    The reasons are of `LOST`, of `UNUSED`, or others, such as a source's own screen.
    """
    table = {**LOST, **UNUSED}
    helped = {reason: count for reason, count in dropped.items() if count and reason in table}
    return table[max(helped, key=helped.__getitem__, default=TOO_SHORT)]
