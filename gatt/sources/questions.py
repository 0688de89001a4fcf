"""The `questions` source: a model answers everyday questions once, and its answers are kept on disk."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from itertools import count
from pathlib import Path
from typing import NamedTuple

import yaml

from gatt.data.dialogue import Dialogue, Message, parse_dialogue
from gatt.data.hash_split import PARTS, SplitName, partition
from gatt.errors import ConfigError
from gatt.generation.base import Engine, Generation, GenerationRequest, SamplingParams, forget
from gatt.runs.provenance import fingerprint
from gatt.runs.store import RecordStore
from gatt.sources.base import SourceReport, select
from gatt.sources.config import SourceConfig

ANSWERED_AT_ONCE = 32
"""Scripts that move forward together: a batch of the plan, which is redone as a whole."""
UNANSWERED = "no usable reply in an earlier run"
_REASONS = {
    "context_limit": "context limit reached",
    "content_filter": "withheld by the server's filter",
    "stop": "empty reply",
}


class Script(NamedTuple):
    """The user's messages of a dialogue that has no replies yet."""

    id: str
    user_turns: tuple[str, ...]


class MessageBank(NamedTuple):
    """User messages of all topics, in a plausible order, and greetings that may come before the first."""

    openers: tuple[str, ...]
    topics: dict[str, tuple[str, ...]]


@cache
def question_bank() -> MessageBank:
    """Return the bank that comes with the package."""
    file = resources.files("gatt.sources").joinpath("data", "questions.yaml")
    raw = yaml.safe_load(file.read_text(encoding="utf-8"))
    return MessageBank(
        tuple(raw["openers"]), {t["id"]: tuple(t["messages"]) for t in raw["topics"]}
    )


def make_scripts(config: SourceConfig, num: int, part: SplitName | None = None) -> list[Script]:
    """Return `num` scripts of at most `max_turns` user messages.

    A script's id decides its part (`gatt.data.hash_split`), and its topics are drawn
    from those of the same part: a question of the training is then never one
    of the evaluation.

    Raises:
        ConfigError: a part has too few messages for `min_turns`.
    """
    bank = question_bank()
    pools = {p: [m for t, m in bank.topics.items() if partition(t) == p] for p in PARTS}
    scripts: list[Script] = []
    for index in count():
        if len(scripts) == num:
            break
        identity = f"questions-{config.seed}-{index:05d}"
        own_part = partition(identity)
        if part is None or own_part == part:
            rng = random.Random(identity)
            if (longest := sum(map(len, pools[own_part]))) < config.min_turns:
                raise ConfigError(
                    f"source 'questions': min_turns is {config.min_turns}, but the topics of part "
                    f"{own_part!r} have {longest} messages: lower min_turns or use another source"
                )
            turns = _chain(pools[own_part], bank.openers, config.max_turns, rng)
            scripts.append(Script(identity, turns))
    return scripts


def _chain(
    topics: list[tuple[str, ...]], openers: tuple[str, ...], max_turns: int, rng: random.Random
) -> tuple[str, ...]:
    turns = [message for topic in rng.sample(topics, len(topics)) for message in topic]
    if rng.random() < 0.5:
        turns.insert(0, rng.choice(openers))
    return tuple(turns[:max_turns])


def answered_questions(
    config: SourceConfig,
    part: SplitName | None,
    num: int,
    engine: Callable[[], Engine],
    params: SamplingParams,
    path: Path,
    model: str,
) -> tuple[list[Dialogue], SourceReport]:
    """Return dialogues of catalogue questions, answered by the model and kept in a file.

    All questions are planned in batches; one that an interruption left unfinished is
    redone as a whole, and what the file lacks of it is added: with the same engine on
    the same machine the file equals, byte for byte, the one of a run left alone.

    `num` counts where the configuration names no number. The engine is made only if an answer is missing;
    another `model` does not fit the file.

    Raises:
        ConfigError: too few topics.
        DataError: no dialogue is left.
        StoreError: the file belongs to other settings or is in use.
    """
    scripts = make_scripts(config, config.num or num, part)
    report = SourceReport("questions")
    settings = {"model": model, "params": [params.max_new_tokens, params.temperature, params.top_p],
                "seed": params.seed, "scripts": [[s.id, *s.user_turns] for s in scripts]}  # fmt: skip
    mark = fingerprint(settings)
    with RecordStore(path, fingerprint=mark, kind="answered-dialogue") as store:
        done = store.keys("script")
        # Why they have none was counted by the run that asked them.
        report.dropped.update(UNANSWERED for row in store if row["dialogue"] is None)
        for start in range(0, len(scripts), ANSWERED_AT_ONCE):
            batch = scripts[start : start + ANSWERED_AT_ONCE]
            if all(s.id in done for s in batch):
                continue
            answerer = engine()
            forget(answerer)
            for script, answer in zip(batch, answer_scripts(answerer, batch, params), strict=True):
                if script.id in done:
                    continue
                dialogue = answer if isinstance(answer, Dialogue) else None
                if dialogue is None:
                    report.dropped[str(answer)] += 1
                store.append(
                    {"script": script.id, "dialogue": dialogue.as_dict() if dialogue else None}
                )
        rows = {row["script"]: row["dialogue"] for row in store}
    kept = [parse_dialogue(rows[s.id]) for s in scripts if rows[s.id] is not None]
    report.num_read = len(scripts)
    return select(kept, config, report, part), report


def answer_scripts(
    engine: Engine, scripts: Sequence[Script], params: SamplingParams
) -> list[Dialogue | str]:
    """Return the dialogue of each script, answered in lock-step, or the reason why there is none.

    A reply that the length limit cut is cut back to its last whole sentence. A
    script with a reply of which nothing is left is dropped.

    The engine sees the dialogue so far and no system message. Ids of scripts are unique.

    Raises:
        GenerationError: the engine gave no reply.
    """
    histories: dict[str, list[Message]] = {script.id: [] for script in scripts}
    dropped: dict[str, str] = {}
    for turn in range(max(len(script.user_turns) for script in scripts)):
        asked = [s for s in scripts if s.id not in dropped and turn < len(s.user_turns)]
        for script in asked:
            histories[script.id].append(Message("user", script.user_turns[turn]))
        requests = [
            GenerationRequest(f"{s.id}/{turn + 1}", tuple(histories[s.id]), group=s.id)
            for s in asked
        ]
        generations = engine.generate(requests, params) if requests else []
        for script, generation in zip(asked, generations, strict=True):
            if reply := _usable(generation):
                histories[script.id].append(Message("assistant", reply))
            else:
                dropped[script.id] = _reason(generation)
    return [dropped.get(s.id) or Dialogue(s.id, tuple(histories[s.id])) for s in scripts]


def _reason(generation: Generation) -> str:
    """Return why a reply is not usable."""
    if generation.server_end:
        return f"ended by the server: {generation.server_end}"
    return _REASONS.get(generation.finish, "no whole sentence before the limit")


def _usable(generation: Generation) -> str:
    """Return the reply, cut back to whole sentences where it was cut off; may be empty."""
    text = generation.text.strip() if generation.finish != "other" else ""
    return text if generation.finish == "stop" else last_sentence_cut(text)


def last_sentence_cut(text: str) -> str:
    """Return the text up to the end of its last whole sentence, or nothing.

    The full stop of a list number ("2.") ends no sentence.
    """
    ends = [m.end() for m in re.finditer(r"[.!?…]+[\"'”’)\]*]*(?=\s|$)|[。！？]+[」』”]*", text)]
    for end in reversed(ends):
        if not re.search(r"(?:^|\s)\d+\.$", text[:end]):
            return text[:end].strip()
    return ""
