"""The table of sources, and the one way to get dialogues out of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from gatt.data.dialogue import Dialogue
from gatt.data.hash_split import Part
from gatt.errors import ConfigError
from gatt.runs.suggest import did_you_mean
from gatt.sources.base import SourceReport, SourceRequest, select

Reader = Callable[..., Iterator[Dialogue]]
"""`read(request, report, part, **options)`: yields every usable dialogue, counts the others."""

SOURCES: dict[str, str] = {
    "chitchat": "gatt.sources.chitchat:read",
    "hub": "gatt.sources.hub:read",
    "jsonl": "gatt.sources.jsonl:read",
    "questions": "gatt.sources.questions:read",
}
"""Name -> `module:function`. A new source is one file, one line here, one test."""


def source_reader(source: str) -> Reader:
    """Return the reader of a source.

    Raises:
        ConfigError: no such source; the nearest known one is named.
    """
    if source not in SOURCES:
        hint = did_you_mean(source, SOURCES)
        raise ConfigError(
            f"unknown dialogue source {source!r}{hint} (known: {', '.join(sorted(SOURCES))})"
        )
    module, _, name = SOURCES[source].partition(":")
    reader: Reader = getattr(import_module(module), name)
    return reader


def load_dialogues(
    source: str, request: SourceRequest, part: Part | None = None, **options: Any
) -> tuple[list[Dialogue], SourceReport]:
    """Return dialogues of a source and the account of what was dropped.

    Every dialogue starts with a user message, has no system message and
    consists of `min_turns` to `max_turns` whole exchanges. The order depends
    on the seed only.

    Args:
        source: a name in `SOURCES`.
        request: lengths, number and seed.
        part: only dialogues of this part; None is all of them.
        options: what the source's `read` takes by keyword.

    Raises:
        ConfigError: unknown source or option, or one that is missing.
        DataError: data that cannot be read, or nothing left of it.
    """
    reader = source_reader(source)
    _check_options(source, reader, options)
    report = SourceReport(source)
    return select(reader(request, report, part, **options), request, report, part), report


def _check_options(source: str, reader: Reader, options: dict[str, Any]) -> None:
    known = {
        name: parameter
        for name, parameter in inspect.signature(reader).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    for name in options:
        if name not in known:
            hint = did_you_mean(name, known)
            raise ConfigError(
                f"source {source!r} has no option {name!r}{hint} (known: {', '.join(known)})"
            )
    for name, parameter in known.items():
        if parameter.default is inspect.Parameter.empty and name not in options:
            raise ConfigError(f"source {source!r} needs the option {name!r}")
