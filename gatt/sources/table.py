"""The table of sources, and the one way to get dialogues out of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from gatt.data.dialogue import Dialogue
from gatt.data.hash_split import Part
from gatt.sources.base import SourceReport, SourceRequest, select

Reader = Callable[..., Iterator[Dialogue]]
"""`read(request, report, part, **options)`: yields every usable dialogue, counts the others."""

SOURCES: dict[str, str] = {
    "chitchat": "gatt.sources.chitchat:read",
    "hub": "gatt.sources.hub:read",
    "jsonl": "gatt.sources.jsonl:read",
    "questions": "gatt.sources.answered:answered_questions",
}
"""Name -> `module:function`. A new source is one file, one line here, one test.

All but `questions`, which needs a model that answers, are a `Reader`.
"""


def load_dialogues(
    source: str, request: SourceRequest, part: Part | None = None, **options: Any
) -> tuple[list[Dialogue], SourceReport]:
    """Return dialogues of a source and the account of what was dropped.

    Every dialogue starts with a user message, has no system message and
    consists of `min_turns` to `max_turns` whole exchanges. The order depends
    on the seed only.

    Args:
        source: a name in `SOURCES`, but not `questions`.
        request: lengths, number and seed.
        part: only dialogues of this part; None is all of them.
        options: what the source's `read` takes by keyword.

    Raises:
        ConfigError: the source's package is not installed.
        DataError: data that cannot be read, or nothing left of it.
    """
    module, _, name = SOURCES[source].partition(":")
    reader: Reader = getattr(import_module(module), name)
    report = SourceReport(source)
    return select(reader(request, report, part, **options), request, report, part), report
