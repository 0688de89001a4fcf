"""Conversations of the bank: questions whose answers are known, told facts, and small talk between them.

A conversation has any number of turns, and each turn a plain reply, so that a run over people's history and
one over the model's own history read the same messages. About half of the turns expect something; the telling
of a fact stands 2 to 14 turns before it is asked for.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count, islice
from typing import TypeVar

from gatt.data.bank.read import Bank, Question, Told, load_bank
from gatt.data.dialogue import Dialogue, Message
from gatt.data.expectation import Expectation
from gatt.data.hash_split import SplitName, partition
from gatt.errors import ConfigError
from gatt.sources import chitchat
from gatt.sources.base import SourceReport
from gatt.sources.config import DEFAULT_NUM, SourceConfig

Choice = TypeVar("Choice")
ASKED_SHARE = 0.5
"""Share of the turns that expect something, where the configuration names none."""
TOLD_SHARE = 0.2
"""Share of these turns that ask for a fact told earlier, as far as there is room for its telling."""
TOLD_TURNS = (2, 14)
"""Fewest and most turns between the telling of a fact and the question for it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What the user says at one turn, a plain reply, and what a reply must hold."""

    say: str
    reply: str
    expect: Expectation | None = None


@dataclass(slots=True)
class Pool:
    """Turns in the order in which a conversation takes them; each is taken once."""

    questions: list[Turn]
    told: list[tuple[Turn, Turn]] = field(default_factory=list)
    """The telling of a fact, and the question for it."""
    small_talk: list[Turn] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Turns of the longest conversation: questions and small talk."""
        return len(self.questions) + len(self.small_talk)


def read(config: SourceConfig, report: SourceReport, part: SplitName | None) -> Iterator[Dialogue]:
    """Yield the conversations of a part (None: of all), as many as the configuration asks for.

    The id of a conversation decides its part, and its rows are of the same part: no question of training
    is one of the evaluation. A smaller number gives the first ones of a larger one.

    Raises:
        ConfigError: more turns than the bank's part has; `people` without the package of the chats.
    """
    for identity, own_part in islice(
        identities("conv", config.seed, part), config.num or DEFAULT_NUM
    ):
        rng = random.Random(identity)
        num_turns = rng.randint(config.min_turns, config.max_turns)
        pool = _pool(load_bank().part(own_part), rng)
        if config.small_talk == "people":
            pool.small_talk = _of_people(own_part, num_turns, rng)
        report.num_read += 1
        yield conversation(identity, pool, config, num_turns, rng)


def identities(prefix: str, seed: int, part: SplitName | None) -> Iterator[tuple[str, SplitName]]:
    """Yield the ids of a part and their parts, without end."""
    for index in count():
        identity = f"{prefix}-{seed}-{index:05d}"
        own_part = partition(identity)
        if part is None or own_part == part:
            yield identity, own_part


def conversation(
    identity: str, pool: Pool, config: SourceConfig, num_turns: int, rng: random.Random
) -> Dialogue:
    """Return a conversation with questions at the asked turns and small talk at the others.

    Raises:
        ConfigError: the pool has too few turns.
    """
    asked = asked_turns(config, num_turns, rng)
    placed = _place_told(pool, asked, num_turns, rng)
    questions, talk = iter(pool.questions), iter(pool.small_talk)
    turns = []
    for turn in range(1, num_turns + 1):
        placed_turn = placed.get(turn) or next(questions if turn in asked else talk, None)
        if placed_turn is None:
            raise ConfigError(
                f"source {config.name!r}: {num_turns} turns, {len(asked)} of them asked: more than the "
                f"{len(pool.questions)} questions and {len(pool.small_talk)} turns of small talk of this part: "
                "lower max_turns, or change 'asked'"
            )
        turns.append(placed_turn)
    pairs = ((Message("user", t.say, t.expect), Message("assistant", t.reply)) for t in turns)
    return Dialogue(identity, tuple(message for pair in pairs for message in pair))


def asked_turns(config: SourceConfig, num_turns: int, rng: random.Random) -> frozenset[int]:
    """Return the turns, counted from 1, whose reply can be right or wrong."""
    if config.asked == "every":
        return frozenset(range(1, num_turns + 1))
    if config.asked is not None:
        return frozenset(turn for turn in config.asked if turn <= num_turns)
    num = max(1, round(ASKED_SHARE * num_turns))
    return frozenset(rng.sample(range(1, num_turns + 1), num))


def _place_told(
    pool: Pool, asked: frozenset[int], num_turns: int, rng: random.Random
) -> dict[int, Turn]:
    """Return told facts by turn: the telling at a turn that is not asked, the question at a later one."""
    fewest, most = TOLD_TURNS
    placed: dict[int, Turn] = {}
    wanted = round(TOLD_SHARE * len(asked))
    for turn in rng.sample(sorted(asked), len(asked)):
        free = [
            earlier
            for earlier in range(max(1, turn - most), turn - fewest + 1)
            if earlier not in asked and earlier not in placed
        ]
        if wanted and free and pool.told and turn <= num_turns:
            tell, ask = pool.told.pop()
            placed |= {rng.choice(free): tell, turn: ask}
            wanted -= 1
    return placed


def _pool(bank: Bank, rng: random.Random) -> Pool:
    """Return a part of the bank in a random order; the kinds of questions take turns."""
    by_kind: dict[str, list[Question]] = {}
    for question in _shuffled(bank.questions, rng):
        by_kind.setdefault(question.kind, []).append(question)
    kinds = _shuffled(list(by_kind), rng)
    longest = max(map(len, by_kind.values()), default=0)
    questions = [by_kind[k][n] for n in range(longest) for k in kinds if n < len(by_kind[k])]
    return Pool(
        [Turn(q.ask, q.reply, q.expectation) for q in questions],
        [_told(fact) for fact in _shuffled(bank.told, rng)],
        [Turn(s.say, s.reply) for s in _shuffled(bank.small_talk, rng)],
    )


def _told(fact: Told) -> tuple[Turn, Turn]:
    return Turn(fact.tell, fact.tell_reply), Turn(fact.ask, fact.reply, fact.expectation)


def written_small_talk(part: SplitName | None, rng: random.Random) -> list[Turn]:
    """Return the bank's small talk of a part in a random order."""
    bank = load_bank() if part is None else load_bank().part(part)
    return [Turn(s.say, s.reply) for s in _shuffled(bank.small_talk, rng)]


def _of_people(part: SplitName, num_turns: int, rng: random.Random) -> list[Turn]:
    """Return exchanges of people's chats in their order, of as many chats as it takes."""
    turns: list[Turn] = []
    for dialogue in _shuffled(_chats(part), rng):
        if len(turns) >= num_turns:
            break
        turns += map(Turn, dialogue.user_turns, dialogue.replies)
    return turns


@cache
def _chats(part: SplitName) -> tuple[Dialogue, ...]:
    dialogues = chitchat.read(SourceConfig(), SourceReport("chitchat"))
    return tuple(dialogue for dialogue in dialogues if partition(dialogue.id) == part)


def _shuffled(rows: Sequence[Choice], rng: random.Random) -> list[Choice]:
    return rng.sample(list(rows), len(rows))
