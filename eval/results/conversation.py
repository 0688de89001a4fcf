"""The conversation before a reply, as its arm read it, for a judge with `shows_conversation`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from eval.records.case import BLANK, Case
from eval.records.samples import Sample
from gatt.data.dialogue import Dialogue, Message
from gatt.data.views import announced, prompt_of_turn


def conversations(
    cases: Iterable[Case], rows: Mapping[str, Mapping[str, Any]]
) -> Callable[[Sample], Sequence[Message]]:
    """Return a function that finds the messages before a reply's user message.

    They include announced changes of the instruction. The instruction of turn 1 is left out, unless the user's
    own messages have it. `rows` are the rows of the roll-outs by key, for own histories.
    """
    by_key = {
        (case.dialogue.id, case.instruction.id if case.instruction else "", case.twin): case
        for case in cases
    }

    def before(sample: Sample) -> Sequence[Message]:
        case = by_key[sample.case]
        messages: list[Message] = []
        for turn in range(1, sample.turn):
            if sample.history == "own":
                said = rows[f"{sample.arm}/own/{case.id}/{turn}"]["said"]["text"].strip()
            else:
                said = case.reference(turn)
            messages += [Message("user", case.user_turn(turn)), Message("assistant", said or BLANK)]
        dialogue = Dialogue(case.dialogue.id, (*messages, Message("user", sample.user)))
        switches = tuple(s for s in case.switches if s.turn <= sample.turn)
        return prompt_of_turn(announced(dialogue, switches), sample.turn)[:-1]

    return before
