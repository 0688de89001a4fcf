"""The two views of a dialogue under an instruction: pure functions, no torch.

Source: Llama 2, arXiv:2307.09288, section 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from gatt.data.dialogue import Dialogue, Message, View
from gatt.data.expectation import Expectation
from gatt.data.switches import Switch, texts_in_force
from gatt.errors import DataError

Placement = Literal["system", "first_user"]
PLACEMENTS: tuple[str, ...] = get_args(Placement)
TrainingPlacement = Literal["system", "first_user", "every_turn"]

JOINT = "\n\n"
"""Stands between the instruction and the user's own words."""


def sampling_view(dialogue: Dialogue, instruction: str | None) -> Dialogue:
    """Return the dialogue with the instruction in front of every user message.

    Replies to each turn of this view are sampled from the teacher, which reads
    the instruction afresh in the very message it answers.

    Its own replies stay. Without an instruction (None) it is a plain dialogue and comes back as it is.

    Raises:
        DataError: a blank instruction.

    Example:
        >>> talk = ("user", "Hello!"), ("assistant", "Hi."), ("user", "Any plans?")
        >>> dialogue = Dialogue("d1", tuple(Message(role, text) for role, text in talk))
        >>> for message in sampling_view(dialogue, "Speak French.").messages:
        ...     print(message.role, message.content.split(JOINT))
        user ['Speak French.', 'Hello!']
        assistant ['Hi.']
        user ['Speak French.', 'Any plans?']
    """
    return view_by_turn(dialogue, [instruction] * dialogue.num_turns)


def view_by_turn(dialogue: Dialogue, texts: Sequence[str | None]) -> Dialogue:
    """Return the dialogue with a text in front of each user message: `sampling_view` under changes.

    `texts` has one for each turn, see `gatt.data.switches.texts_in_force`; None leaves a turn as it is.

    Raises:
        DataError: a blank text.
    """
    if not any(text is not None for text in texts):
        return dialogue
    waiting = iter(texts)
    messages = []
    for message in dialogue.messages:
        text = next(waiting) if message.role == "user" else None
        if text is not None:
            _refuse_blank(text)
            message = Message("user", text + JOINT + message.content)
        messages.append(message)
    return Dialogue(dialogue.id, tuple(messages))


def latest_exchanges(
    messages: Sequence[Message], num: int | None, expect: Expectation | None = None
) -> tuple[Message, ...]:
    """Return what a teacher reads of a prompt: its last message and the `num` exchanges before it.

    None takes all. So does a last message that asks for what the user told earlier (`expect`): that may stand
    anywhere in the dialogue.
    """
    is_told = expect is not None and expect.kind == "told"
    return tuple(messages if num is None or is_told else messages[-(2 * num + 1) :])


def begins_with_system(
    dialogue: Dialogue, placement: TrainingPlacement, *, has_instruction: bool
) -> bool:
    """Whether the training view of a dialogue begins with a system message."""
    return dialogue.has_system or (has_instruction and placement == "system")


def with_brief(text: str | None, brief: str | None) -> str | None:
    """Return what a teacher reads in front of a message: an instruction and the request to be brief."""
    return " ".join(part for part in (text, brief) if part) or None


def announced(view: Dialogue, switches: Sequence[Switch]) -> Dialogue:
    """Return the view with the announcement of each change where it was made, and only there.

    It is a `View` where a system message stands in front of a later user message. The turns of `switches` are
    those of this view, which has no later system message yet.
    """
    if not switches:
        return view
    by_turn = {switch.turn: switch for switch in switches}
    messages: list[Message] = []
    turn = 0
    for message in view.messages:
        turn += message.role == "user"
        switch = by_turn.get(turn) if message.role == "user" else None
        if switch and switch.place == "user":
            message = Message("user", switch.text + JOINT + message.content)
        elif switch:
            messages.append(Message("system", switch.text))
        messages.append(message)
    made = View if any(switch.place == "system" for switch in switches) else Dialogue
    return made(view.id, tuple(messages))


def training_view(
    dialogue: Dialogue,
    instruction: str | None,
    placement: TrainingPlacement = "system",
    switches: Sequence[Switch] = (),
) -> Dialogue:
    """Return the dialogue as it is trained on: with the instruction in the first turn only.

    Without an instruction (None) the dialogue is plain and stays as it is. Changes of the instruction
    (`switches`) are announced at their own turns. `placement` says where the instruction stands: `system` in
    the system message (the paper's "synthetic system message"), below one of the dialogue's own; `first_user`
    in front of the first user message. `every_turn` is the sampling view: a control, not GAtt.

    Raises:
        DataError: a blank instruction or an unknown placement.

    Example:
        >>> talk = ("user", "Hello!"), ("assistant", "Hi."), ("user", "Any plans?")
        >>> dialogue = Dialogue("d1", tuple(Message(role, text) for role, text in talk))
        >>> for message in training_view(dialogue, "Speak French.").messages:
        ...     print(message.role, message.content)
        system Speak French.
        user Hello!
        assistant Hi.
        user Any plans?
        >>> training_view(dialogue, "Speak French.", "first_user").messages[0].content.split(JOINT)
        ['Speak French.', 'Hello!']
    """
    if placement == "system" and instruction is not None:
        _refuse_blank(instruction)
        text = instruction if dialogue.system is None else dialogue.system + JOINT + instruction
        body = dialogue.messages[1:] if dialogue.has_system else dialogue.messages
        view = Dialogue(dialogue.id, (Message("system", text), *body))
    elif placement == "every_turn":
        view = view_by_turn(dialogue, texts_in_force(instruction, switches, dialogue.num_turns))
    elif placement in PLACEMENTS:
        view = view_by_turn(dialogue, [instruction] + [None] * (dialogue.num_turns - 1))
    else:
        raise DataError(
            f"unknown placement {placement!r}: expected one of {', '.join(get_args(TrainingPlacement))}"
        )
    return announced(view, switches)


def prompt_of_turn(view: Dialogue, turn: int) -> tuple[Message, ...]:
    """Return the messages up to and including user message `turn` (from 1).

    Raises:
        DataError: the dialogue has no such turn.
    """
    if not 1 <= turn <= view.num_turns:
        raise DataError(f"dialogue {view.id!r}: no turn {turn}, it has {view.num_turns}")
    ends = [end for end, m in enumerate(view.messages, start=1) if m.role == "user"]
    return view.messages[: ends[turn - 1]]


def _refuse_blank(instruction: str) -> None:
    if not instruction.strip():
        raise DataError(
            "the instruction is blank: expected some text, or None for a plain dialogue"
        )
