"""Dialogues: frozen values that are valid by construction. No torch here.

A dialogue file is JSONL in the ecosystem's own form, one object a line::

    {"id": "d-0001", "messages": [{"role": "user", "content": "..."}, ...]}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, ClassVar, Literal, get_args

from gatt.data.expectation import Expectation
from gatt.errors import DataError

Role = Literal["system", "user", "assistant"]
ROLES: tuple[str, ...] = get_args(Role)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a dialogue.

    Raises:
        DataError: the role is none of `ROLES`, or the content is no string, blank, or holds half of a
            character.
    """

    role: Role
    content: str
    expect: Expectation | None = None
    """What the reply to a user message must hold; None: nothing that a rule could check."""

    def __post_init__(self) -> None:
        if self.expect is not None and self.role != "user":
            raise DataError(
                f"'expect' in a {self.role!r} message: expected it in user messages only"
            )
        if self.role not in ROLES:
            raise DataError(f"unknown role {self.role!r}: expected one of {', '.join(ROLES)}")
        content: object = self.content  # read from JSON, so it may be anything
        if not isinstance(content, str):
            kind = type(content).__name__
            raise DataError(f"content of the {self.role!r} message is {kind}: expected a string")
        if not content.strip():
            raise DataError(f"empty content in a {self.role!r} message: expected some text")
        # JSON may hold half of an escaped pair, which no file could be written with.
        try:
            content.encode()
        except UnicodeEncodeError as error:
            half = content[error.start]
            raise DataError(
                f"half a character ({half!r}) in a {self.role!r} message: expected whole ones, "
                "such as both escapes of an emoji"
            ) from None

    def as_dict(self) -> dict[str, str]:
        """Return the message as chat templates and servers take it: without `expect`."""
        return {"role": self.role, "content": self.content}


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A two-sided conversation: [system], user, assistant, user and so on.

    It ends with a user or an assistant message and has at least one user
    message. Turn t (counted from 1) is the t-th user message and, where there
    is one, the reply to it.

    Raises:
        DataError: the id is empty, roles do not alternate, a system message
            stands anywhere but first, or there is no user message.
    """

    takes_later_system: ClassVar[bool] = False
    """Whether a system message may stand in front of a later user message."""

    id: str
    messages: tuple[Message, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id.strip():
            raise DataError(f"dialogue id is {self.id!r}: expected a non-empty string")
        body = self.messages[1:] if self.has_system else self.messages
        if self.takes_later_system:
            body = tuple(
                m
                for m, after in zip_longest(body, body[1:])
                if m.role != "system" or after is None or after.role != "user"
            )
        for index, message in enumerate(body):
            expected = "user" if index % 2 == 0 else "assistant"
            if message.role != expected:
                after = repr(body[index - 1].role) if index else "the start"
                raise DataError(
                    f"dialogue {self.id!r}, turn {index // 2 + 1}: expected role {expected!r} "
                    f"after {after}, found {message.role!r}"
                )
        if not body:
            raise DataError(f"dialogue {self.id!r}: no user message, expected at least one")

    @property
    def has_system(self) -> bool:
        """Whether the first message is a system message."""
        return bool(self.messages) and self.messages[0].role == "system"

    @property
    def system(self) -> str | None:
        """Content of the system message, if there is one."""
        return self.messages[0].content if self.has_system else None

    @property
    def user_turns(self) -> tuple[str, ...]:
        """The user messages, turn 1 first."""
        return tuple(m.content for m in self.messages if m.role == "user")

    @property
    def expectations(self) -> tuple[Expectation | None, ...]:
        """What the reply to each user message must hold, turn 1 first."""
        return tuple(m.expect for m in self.messages if m.role == "user")

    @property
    def replies(self) -> tuple[str, ...]:
        """The assistant messages; one fewer than turns if the last is open."""
        return tuple(m.content for m in self.messages if m.role == "assistant")

    @property
    def num_turns(self) -> int:
        """Number of user messages."""
        return sum(m.role == "user" for m in self.messages)

    def first_turns(self, num_turns: int) -> Dialogue:
        """Return the dialogue cut after its first `num_turns` turns."""
        if not 1 <= num_turns <= self.num_turns:
            raise DataError(
                f"dialogue {self.id!r}: asked for {num_turns} turns, it has {self.num_turns}"
            )
        users = [index for index, m in enumerate(self.messages) if m.role == "user"]
        return type(self)(self.id, self.messages[: users[num_turns - 1] + 2])

    def only_turns(self, turns: Sequence[int]) -> Dialogue:
        """Return the dialogue with some of its turns (from 1, ascending) and its system message."""
        places = map(self.place_of, turns)
        kept = (message for place in places for message in self.messages[place : place + 2])
        return Dialogue(self.id, (*self.messages[: self.place_of(1)], *kept))

    def place_of(self, turn: int) -> int:
        """Return the index of a user message (turn from 1), of a view without later system messages."""
        return int(self.has_system) + 2 * (turn - 1)

    def as_dict(self) -> dict[str, Any]:
        """Return the dialogue as one JSONL object; a message has the key `expect` only where it holds one."""
        messages: list[dict[str, Any]] = [
            m.as_dict() | ({"expect": m.expect.as_dict()} if m.expect else {})
            for m in self.messages
        ]
        return {"id": self.id, "messages": messages}


@dataclass(frozen=True, slots=True)
class View(Dialogue):
    """What a model reads where a later system message changes the instruction.

    As a dialogue, but that a system message may stand in front of any user
    message. Dialogues of sources are none.
    """

    takes_later_system: ClassVar[bool] = True


def parse_messages(raw: object) -> tuple[Message, ...]:
    """Return messages from their JSON form.

    Raises:
        DataError: not a list of objects with `role` and `content`.
    """
    if not isinstance(raw, list):
        raise DataError(f"'messages' is {type(raw).__name__}: expected a list")
    messages = []
    for index, item in enumerate(raw):
        if not isinstance(item, Mapping) or not {"role", "content"} <= set(item):
            raise DataError(f"message {index + 1}: expected an object with 'role' and 'content'")
        try:
            raw = item.get("expect")
            expect = None if raw is None else Expectation.from_dict(raw)
            messages.append(Message(item["role"], item["content"], expect))
        except DataError as error:
            raise DataError(f"message {index + 1}: {error}") from None
    return tuple(messages)


def parse_dialogue(raw: object, default_id: str | None = None) -> Dialogue:
    """Return one dialogue from its JSON form; `default_id` stands in for a missing id."""
    if not isinstance(raw, Mapping):
        raise DataError(f"found {type(raw).__name__}: expected an object with 'id' and 'messages'")
    if "messages" not in raw:
        raise DataError(f"no 'messages' (found keys: {', '.join(map(str, raw)) or 'none'})")
    identity = raw.get("id")
    identity = default_id if identity is None else identity
    if identity is None:
        raise DataError("no 'id': expected a non-empty string")
    return Dialogue(str(identity), parse_messages(raw["messages"]))
