"""Samples k replies to every turn of a sample as in a chat, with the instruction in turn 1 only.

With people's history all turns are asked in one call and share a prefix. With own history all dialogues of a
batch move forward turn by turn, and the next turn reads the first draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from data_synth.pairs.config import PairsConfig, ReadHistory
from gatt.data.dialogue import Dialogue, Message
from gatt.data.sample import GattSample
from gatt.data.switches import told_by_user
from gatt.data.views import prompt_of_turn, training_view
from gatt.generation.base import Engine, Generation, GenerationRequest, forget

ADAPTER = "improved"
"""Name of the adapter in the engine."""


@dataclass(frozen=True)
class DrawTask:
    """A sample under an instruction, and the history that its model reads."""

    sample: GattSample
    history: ReadHistory
    is_told_by_user: bool = False
    """Whether changes of the instruction stand in user messages, since the chat template takes no later
    system message; training moves them as well."""

    @property
    def id(self) -> str:
        """The id of the sample that is made."""
        return f"{self.sample.id}-{self.history}"


@dataclass(frozen=True)
class Drawn:
    """The draws for an item."""

    item: DrawTask
    dialogue: Dialogue
    """As the model read it."""
    by_turn: tuple[tuple[Generation, ...], ...]
    """Of each turn from the first; none for turns that the model was not asked, since its context was full."""


def draw_replies(engine: Engine, items: Sequence[DrawTask], config: PairsConfig) -> list[Drawn]:
    """Return the draws for a batch of items, in order; they depend on seed, item, turn and number of draw.

    Raises:
        GenerationError: the engine gave no reply.
    """
    forget(engine)
    own = [item for item in items if item.history == "own"]
    others = [item for item in items if item.history != "own"]
    drawn = [*_over_own_history(engine, own, config), *_over_dialogue(engine, others, config)]
    by_id = {draw.item.id: draw for draw in drawn}
    return [by_id[item.id] for item in items]


def _over_dialogue(engine: Engine, items: Sequence[DrawTask], config: PairsConfig) -> list[Drawn]:
    asked = [
        (item, item.sample.dialogue, turn)
        for item in items
        for turn in range(1, item.sample.dialogue.num_turns + 1)
    ]
    draws = iter(_asked(engine, asked, config))
    return [
        Drawn(item, item.sample.dialogue, tuple(next(draws) for _ in item.sample.targets))
        for item in items
    ]


def _over_own_history(
    engine: Engine, items: Sequence[DrawTask], config: PairsConfig
) -> list[Drawn]:
    dialogues = {item.id: item.sample.dialogue for item in items}
    draws: dict[str, list[tuple[Generation, ...]]] = {item.id: [] for item in items}
    full: set[str] = set()
    for turn in range(1, max((len(i.sample.targets) for i in items), default=0) + 1):
        going = [i for i in items if turn <= len(i.sample.targets) and i.id not in full]
        asked = [(item, dialogues[item.id], turn) for item in going]
        for item, replies in zip(going, _asked(engine, asked, config), strict=True):
            draws[item.id].append(replies)
            if any(reply.finish == "context_limit" for reply in replies):
                full.add(item.id)
            dialogues[item.id] = _replied(dialogues[item.id], turn, replies)
    over_own: list[Drawn] = []
    for item in items:
        missing = len(item.sample.targets) - len(draws[item.id])
        by_turn = (*draws[item.id], *[()] * missing)
        over_own.append(Drawn(item, dialogues[item.id], by_turn))
    return over_own


def _asked(
    engine: Engine, asked: Sequence[tuple[DrawTask, Dialogue, int]], config: PairsConfig
) -> list[tuple[Generation, ...]]:
    """Return the draws for each item at a turn of its dialogue."""
    if not asked:
        return []
    requests = [
        GenerationRequest(f"{item.id}/{turn}/{number}", messages, item.id)
        for item, dialogue, turn in asked
        for messages in [_prompt(item, dialogue, turn, config)]
        for number in range(config.replies)
    ]
    adapter = None if config.adapter is None else ADAPTER
    said = engine.generate(requests, config.sampling.params(config.seed), adapter)
    num = config.replies
    return [tuple(said[first : first + num]) for first in range(0, len(said), num)]


def _prompt(
    item: DrawTask, dialogue: Dialogue, turn: int, config: PairsConfig
) -> tuple[Message, ...]:
    sample = item.sample
    switches = sample.switches or ()
    text = sample.instruction.text if sample.instruction else None
    shown = told_by_user(switches) if item.is_told_by_user else switches
    return prompt_of_turn(training_view(dialogue, text, config.placement, shown), turn)


def _replied(dialogue: Dialogue, turn: int, replies: Sequence[Generation]) -> Dialogue:
    """Return the dialogue with the first draw that has a text as its reply; its own one stays without any."""
    said = next((text for reply in replies if (text := reply.text.strip())), None)
    place = dialogue.place_of(turn) + 1
    if said is None or place >= len(dialogue.messages):
        return dialogue
    messages = list(dialogue.messages)
    messages[place] = replace(messages[place], content=said)
    return replace(dialogue, messages=tuple(messages))
