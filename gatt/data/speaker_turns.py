"""Questions about the speaker, put into a dialogue whose instruction has the answers.

They replace questions of the bank. In a user's own dialogue no message may go: there they are put between.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import cycle, islice
from typing import Final

from gatt.data.bank.read import ENGLISH, SpeakerQuestion, load_bank
from gatt.data.dialogue import Dialogue, Message
from gatt.data.hash_split import SplitName
from gatt.data.instruction import Instruction
from gatt.data.parts import Part as InstructionPart
from gatt.data.switches import Switch
from gatt.verifiers.language.probabilities import language_of

SHARE = 0.5
"""Share of the questions of a dialogue that ask for the speaker instead."""


def with_speaker_turns(
    dialogue: Dialogue,
    instruction: Instruction | None,
    seed: str,
    part: SplitName | None = None,
    share: float = SHARE,
    last_turn: int | None = None,
) -> Dialogue:
    """Return the dialogue with some of its questions replaced by questions about the speaker.

    Only turns that ask a question of the bank (kind `question`) are replaced, at least one of them; the
    reply that stands in the dialogue becomes a plain one that reveals nothing. Facts take turns, and no
    wording comes twice. A dialogue without such turns, and one whose instruction has no fact that the bank
    asks for, comes back as it is.

    Equal seeds give equal dialogues. `part` is that of the wordings, None takes all; `share` of the questions
    are replaced, 0 to 1, up to `last_turn` where the instruction changes later.
    """
    places = [
        number
        for number, message in enumerate(dialogue.messages)
        if message.expect is not None and message.expect.kind == "question"
        if last_turn is None or number < 2 * last_turn + dialogue.has_system
    ]
    rng = random.Random(f"{seed}/speaker")
    questions = _questions(instruction.facts if instruction else {}, part, rng)
    num = max(1, round(share * len(places))) if places and share > 0 else 0
    messages = list(dialogue.messages)
    for place, asked in zip(sorted(rng.sample(places, num)), questions, strict=False):
        assert instruction is not None
        expect = asked.expectation(instruction.facts[asked.fact])
        messages[place] = Message("user", asked.ask, expect)
        if place + 1 < len(messages):
            messages[place + 1] = replace(messages[place + 1], content=asked.reply)
    return replace(dialogue, messages=tuple(messages))


def asking_the_speaker(
    dialogue: Dialogue,
    instruction: Instruction | None,
    switches: Sequence[Switch],
    seed: str,
    part: SplitName | None,
    *,
    is_own: bool,
    turns: Sequence[int] = (),
    topic_share: float | None = None,
) -> Dialogue:
    """Return the dialogue with questions about the facts that its instruction gives to the speaker.

    In a user's own dialogue (`is_own`) they are put between, at some of `turns`; elsewhere, and where the
    instruction changes, they replace questions of the bank before the first change. For `topic_share` see
    `with_questions_between`.
    """
    if is_own and not switches:
        return with_questions_between(dialogue, instruction, seed, part, turns, topic_share)
    last_turn = switches[0].turn - 1 if switches else None
    return with_speaker_turns(dialogue, instruction, seed, part, last_turn=last_turn)


TURNS_PER_QUESTION = 6
"""Turns of a user's own dialogue for which one question is put between."""
TRAINED_TOPIC_SHARE: Final = 0.5
"""Share of the dialogues for training in which one message asks for what the instruction forbids. With one in
each dialogue, 11 % of the targets, a model declined ordinary messages too (results/mia)."""
_PLAIN = "Let us stay with your question."
"""The reply in the history to a message that asks for what is forbidden."""


def with_questions_between(
    dialogue: Dialogue,
    instruction: Instruction | None,
    seed: str,
    part: SplitName | None = None,
    turns: Sequence[int] = (),
    topic_share: float | None = None,
) -> Dialogue:
    """Return the dialogue with some exchanges more, which ask for what only a question can show.

    They ask for facts of the speaker, and for what the instruction forbids. Nothing of the dialogue is
    replaced, and its first exchange stays the first: one exchange is added for each such part of the
    instruction, and at least one for about six turns. Without such a part it comes back as it is.

    A training needs fewer messages that ask for what is forbidden, since each of them gives a target that
    declines: with `topic_share` there is one at most, for one of those parts, in that share of the dialogues.

    Equal seeds give equal dialogues. `part` is that of the wordings, None takes all. Added questions may stand
    at `turns`, counted in the new dialogue; empty allows all but turn 1. Questions about the speaker are in
    the language of the user's messages where the bank has it (German, Spanish, French), else in English.
    """
    if instruction is None:
        return dialogue
    rng = random.Random(f"{seed}/speaker")
    kinds: list[Iterator[Exchange]] = [
        _topic(topic, part, rng) for topic in instruction.parts if topic.asks
    ]
    if topic_share is not None and kinds:
        only = rng.choice(kinds)
        kinds = [islice(only, 1)] if rng.random() < topic_share else []
    if any(question.fact in instruction.facts for question in load_bank().speaker):
        language = language_of(" ".join(dialogue.user_turns), ENGLISH)
        kinds.insert(0, _of_speaker(instruction, part, rng, language))
    num = max(len(kinds), round(dialogue.num_turns / TURNS_PER_QUESTION)) if kinds else 0
    allowed = [turn for turn in turns or range(2, dialogue.num_turns + 1) if turn > 1]
    messages = list(dialogue.messages)
    chosen = sorted(rng.sample(allowed, min(num, len(allowed))))
    # With fewer places than kinds, each kind has its share of the dialogues.
    rng.shuffle(kinds)
    for turn, kind in zip(chosen, cycle(kinds), strict=False):
        place = dialogue.place_of(turn)
        if place > len(messages):
            break
        messages[place:place] = next(kind, ())
    return replace(dialogue, messages=tuple(messages))


Exchange = tuple[Message, Message]


def _of_speaker(
    instruction: Instruction, part: SplitName | None, rng: random.Random, language: str
) -> Iterator[Exchange]:
    for asked in _questions(instruction.facts, part, rng, NAME_SHARE, language):
        expect = asked.expectation(instruction.facts[asked.fact])
        yield Message("user", asked.ask, expect), Message("assistant", asked.reply)


EVALUATED: Final = 3
"""Every so many-th message that asks for what is forbidden is not for training."""


def _topic(
    topic: InstructionPart, part: SplitName | None, rng: random.Random
) -> Iterator[Exchange]:
    asks = [
        ask
        for place, ask in enumerate(topic.asks)
        if part is None
        or len(topic.asks) < EVALUATED
        or (place % EVALUATED > 0) == (part == "train")
    ]
    for ask in rng.sample(asks, len(asks)):
        yield Message("user", ask, topic.expectation()), Message("assistant", _PLAIN)


NAME_SHARE: Final = 0.5
"""In at least this share of a user's dialogues the first added question asks for the name, where the
instruction gives one: it is what people ask a bot for. In the others the name may come first by chance."""


def _questions(
    facts: Mapping[str, tuple[str, ...]],
    part: SplitName | None,
    rng: random.Random,
    name_share: float = 0.0,
    language: str = ENGLISH,
) -> Iterator[SpeakerQuestion]:
    """Yield questions about the facts in turn, until one fact has no wording left.

    Facts of which the bank has none in the language are asked for in English.
    """
    bank = load_bank() if part is None else load_bank().part(part)
    wordings = {
        fact: [q for q in bank.speaker if q.fact == fact and q.language == language]
        or [q for q in bank.speaker if q.fact == fact and q.language == ENGLISH]
        for fact in facts
    }
    asked_for = [fact for fact, some in wordings.items() if some]
    for some in wordings.values():
        rng.shuffle(some)
    rng.shuffle(asked_for)
    if rng.random() < name_share:
        asked_for.sort(key=lambda fact: fact != "name")
    for fact in cycle(asked_for):
        if not wordings[fact]:
            return
        yield wordings[fact].pop()
