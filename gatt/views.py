"""The two views of a dialogue under an instruction: pure functions, no torch.

Source: Llama 2, arXiv:2307.09288, section 3.3.
"""

from __future__ import annotations

from typing import Literal, get_args

from gatt.dialogue import Dialogue, Message
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

    Args:
        dialogue: any dialogue; its own replies stay.
        instruction: the text; None gives the dialogue back (plain samples).

    Returns:
        A dialogue of the same id, roles and number of messages.

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
    if instruction is None:
        return dialogue
    _refuse_blank(instruction)
    return Dialogue(
        dialogue.id,
        tuple(
            Message("user", instruction + JOINT + m.content) if m.role == "user" else m
            for m in dialogue.messages
        ),
    )


def training_view(
    dialogue: Dialogue, instruction: str | None, placement: TrainingPlacement = "system"
) -> Dialogue:
    """Return the dialogue as it is trained on: with the instruction in the first turn only.

    Args:
        dialogue: any dialogue. A system message of its own stays: with
            `placement="system"` the instruction stands below it.
        instruction: the text; None gives the dialogue back (plain samples).
        placement: `system` puts it in the system message (the paper's "synthetic
            system message"), `first_user` in front of the first user message.
            `every_turn` is the sampling view: a control, not GAtt.

    Returns:
        A dialogue of the same id whose later turns are untouched but for the control.

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
    if instruction is None:
        return dialogue
    _refuse_blank(instruction)
    if placement == "system":
        text = instruction if dialogue.system is None else dialogue.system + JOINT + instruction
        body = dialogue.messages[1:] if dialogue.has_system else dialogue.messages
        return Dialogue(dialogue.id, (Message("system", text), *body))
    if placement == "every_turn":
        return sampling_view(dialogue, instruction)
    if placement == "first_user":
        first = int(dialogue.has_system)
        user = Message("user", instruction + JOINT + dialogue.messages[first].content)
        return Dialogue(
            dialogue.id, (*dialogue.messages[:first], user, *dialogue.messages[first + 1 :])
        )
    raise DataError(
        f"unknown placement {placement!r}: expected one of {', '.join(get_args(TrainingPlacement))}"
    )


def prompt_of_turn(view: Dialogue, turn: int) -> tuple[Message, ...]:
    """Return the messages up to and including user message `turn` (from 1).

    Raises:
        DataError: the dialogue has no such turn.
    """
    if not 1 <= turn <= view.num_turns:
        raise DataError(f"dialogue {view.id!r}: no turn {turn}, it has {view.num_turns}")
    return view.messages[: int(view.has_system) + 2 * turn - 1]


def _refuse_blank(instruction: str) -> None:
    if not instruction.strip():
        raise DataError(
            "the instruction is blank: expected some text, or None for a plain dialogue"
        )
