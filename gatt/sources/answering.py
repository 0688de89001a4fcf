"""Scripts of user messages become dialogues: the model answers them turn by turn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gatt.data.dialogue import Dialogue, Message
from gatt.errors import DataError
from gatt.generation.base import Engine, Generation, GenerationRequest, SamplingParams


@dataclass(frozen=True)
class Script:
    """The user's side of a dialogue whose replies are still to come.

    Raises:
        DataError: no user message.
    """

    id: str
    user_turns: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.user_turns:
            raise DataError(f"script {self.id!r}: no user message, expected at least one")


def answer_scripts(
    engine: Engine,
    scripts: Sequence[Script],
    params: SamplingParams,
    dropped: dict[str, str] | None = None,
) -> Iterator[Dialogue]:
    """Yield the dialogues of scripts, answered in lock-step, in the order of the scripts.

    A reply that the length limit cut is cut back to its last whole sentence. A
    script with a reply of which nothing is left is dropped.

    Args:
        engine: who answers; it sees the dialogue so far and no system message.
        scripts: what is asked; ids are unique.
        params: how replies are drawn.
        dropped: gets the reason for each script that is dropped, by its id.

    Raises:
        GenerationError: the engine gave no reply.
    """
    dropped = {} if dropped is None else dropped
    histories: dict[str, list[Message]] = {script.id: [] for script in scripts}
    for turn in range(max(len(script.user_turns) for script in scripts)):
        open_scripts = [s for s in scripts if s.id in histories and turn < len(s.user_turns)]
        for script in open_scripts:
            histories[script.id].append(Message("user", script.user_turns[turn]))
        requests = [
            GenerationRequest(f"{s.id}/{turn + 1}", tuple(histories[s.id]), group=s.id)
            for s in open_scripts
        ]
        generations = engine.generate(requests, params) if requests else []
        for script, generation in zip(open_scripts, generations, strict=True):
            reply = usable_reply(generation)
            if reply:
                histories[script.id].append(Message("assistant", reply))
            else:
                dropped[script.id] = _reason(generation)
                del histories[script.id]
    for script in scripts:
        if script.id in histories:
            yield Dialogue(script.id, tuple(histories[script.id]))


def usable_reply(generation: Generation) -> str:
    """Return the reply, cut back to whole sentences where it was cut off; may be empty."""
    text = generation.text.strip()
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


def _reason(generation: Generation) -> str:
    if generation.finish == "context_limit":
        return "context limit reached"
    if generation.finish == "content_filter":
        return "withheld by the server's filter"
    return "empty reply" if generation.finish == "stop" else "no whole sentence before the limit"
