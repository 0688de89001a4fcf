"""Everyday questions from a bank of topics; the model itself answers them, see `gatt.sources.answered`."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import count
from typing import NamedTuple

import yaml

from gatt.data.hash_split import PARTS, Part, partition
from gatt.errors import ConfigError
from gatt.sources.base import SourceRequest


class Script(NamedTuple):
    """The user's side of a dialogue whose replies are still to come."""

    id: str
    user_turns: tuple[str, ...]


@dataclass(frozen=True)
class Topic:
    """User messages on one subject, in a plausible order."""

    id: str
    messages: tuple[str, ...]
    about_you: bool = False
    """Whether it gets to know the other side."""


@dataclass(frozen=True)
class Bank:
    """All topics, and greetings that may come before the first one."""

    openers: tuple[str, ...]
    topics: tuple[Topic, ...]


@cache
def question_bank() -> Bank:
    """Return the bank that comes with the package."""
    file = resources.files("gatt.sources").joinpath("data", "questions.yaml")
    raw = yaml.safe_load(file.read_text(encoding="utf-8"))
    topics = (
        Topic(t["id"], tuple(t["messages"]), t.get("about_you", False)) for t in raw["topics"]
    )
    return Bank(tuple(raw["openers"]), tuple(topics))


def make_scripts(
    request: SourceRequest, part: Part | None = None, bank: Bank | None = None
) -> list[Script]:
    """Return `num` scripts of at most `max_turns` user messages.

    A script's id decides its part (`gatt.data.hash_split`), and its topics are drawn
    from those of the same part: a question of the training is then never one
    of the evaluation.

    Args:
        request: `num` must be set: the source has no end.
        part: only scripts of this part; None mixes all parts.
        bank: topics; None is the package's.

    Raises:
        ConfigError: `num` is not set, or a part has too few messages for
            `min_turns`.
    """
    if request.num is None:
        raise ConfigError("source 'questions' needs num: it could go on forever")
    known = bank or question_bank()
    pools = {p: [t for t in known.topics if partition(t.id) == p] for p in PARTS}
    for name in PARTS if part is None else (part,):
        longest = sum(len(t.messages) for t in pools[name])
        if longest < request.min_turns:
            raise ConfigError(
                f"source 'questions': min_turns is {request.min_turns}, but the topics of part "
                f"{name!r} have {longest} messages: lower min_turns or use another source"
            )
    scripts: list[Script] = []
    for index in count():
        if len(scripts) == request.num:
            break
        identity = f"questions-{request.seed}-{index:05d}"
        own_part = partition(identity)
        if part is None or own_part == part:
            rng = random.Random(identity)
            turns = _chain(pools[own_part], known.openers, request.max_turns, rng)
            scripts.append(Script(identity, turns))
    return scripts


def _chain(
    topics: list[Topic], openers: tuple[str, ...], max_turns: int, rng: random.Random
) -> tuple[str, ...]:
    turns = [m for topic in rng.sample(topics, len(topics)) for m in topic.messages]
    if rng.random() < 0.5:
        turns.insert(0, rng.choice(openers))
    return tuple(turns[:max_turns])
