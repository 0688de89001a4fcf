"""What each arm reads at a turn: where its instruction stands, and how much of the history."""

from __future__ import annotations

from typing import Final

from eval.config import EvalConfig
from eval.records.arms import ALONE, REMINDED, window_of
from eval.records.case import Case
from gatt.data.dialogue import Dialogue, Message
from gatt.data.switches import on_turns
from gatt.data.views import JOINT, prompt_of_turn, training_view

REMINDER: Final = "Reminder: {}"
"""What stands behind every user message of the arm with a reminder."""


def arm_prompt(
    case: Case, dialogue: Dialogue, turn: int, arm: str, config: EvalConfig
) -> tuple[Message, ...]:
    """Return the messages that an arm reads at a turn; a change is announced at its turn to every arm.

    - `alone`: the instruction in force and the user's message.
    - `window_K`: the instruction in force where the last K exchanges begin, these, and the message. Changes
      that have left the window are in that instruction.
    - `base+system+reminder`: as the base model, and behind every user message what is in force there.
    - all others: the instruction of turn 1, and everything since.

    The dialogue reaches the turn (from 1) and has the replies that the arm reads; the case says what holds
    when.
    """
    num_kept = 0 if arm == ALONE else window_of(arm)
    first = 1 if num_kept is None else max(1, turn - num_kept)
    turns = range(first, turn + 1)
    # A change at the first turn that is shown is part of the instruction, which stands before it.
    held = case.held_at(first)
    switches = on_turns([s for s in case.switches if s.turn > first], turns)
    if first > 1:
        start = int(dialogue.has_system)
        messages = dialogue.messages[start + 2 * first - 2 :]
        dialogue = Dialogue(dialogue.id, (*dialogue.messages[:start], *messages))
    # Where the user's messages have the instruction, nothing is added to them.
    text = held.text if held and not case.is_given else None
    view = training_view(dialogue, text, config.placement, switches)
    if arm == REMINDED:
        view = _reminded(case, view)
    return prompt_of_turn(view, len(turns))


def _reminded(case: Case, view: Dialogue) -> Dialogue:
    turn, messages = 0, []
    for message in view.messages:
        if message.role == "user":
            turn += 1
            if held := case.held_at(turn):
                content = message.content + JOINT + REMINDER.format(held.text)
                message = Message("user", content)
        messages.append(message)
    return type(view)(view.id, tuple(messages))
