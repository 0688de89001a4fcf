"""Answers questions into a file with an engine whose replies depend on what is asked together."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gatt.data.dialogue import Dialogue
from gatt.generation.base import Generation, GenerationRequest, SamplingParams
from gatt.runs.store import RecordStore
from gatt.sources import SourceReport, SourceRequest
from gatt.sources import answered as module

REQUEST = SourceRequest(2, 2, 7, 3)
PARAMS = SamplingParams(max_new_tokens=8)
AT_ONCE = 3


class CompanyEngine:
    """Its replies hang on all that is asked together and was asked since it forgot, as rounding may."""

    def __init__(self, on_event: Callable[[], None]) -> None:
        self.on_event = on_event
        self._heard = ""

    def forget(self) -> None:
        """Start as if made anew."""
        self._heard = ""

    def generate(
        self,
        requests: Sequence[GenerationRequest],
        params: SamplingParams,
        adapter: str | None = None,
    ) -> list[Generation]:
        """Return replies that no other company gives; one of each call is empty."""
        self.on_event()
        heard = f"{self._heard}{[(r.key, r.messages[-1].content) for r in requests]}"
        self._heard = hashlib.sha256(heard.encode()).hexdigest()
        silent = int(self._heard, 16) % (3 * len(requests))
        return [
            Generation("" if i == silent else f"{r.key} {self._heard[:12]}.", "stop", 3)
            for i, r in enumerate(requests)
        ]


def answer(path: Path, on_event: Callable[[], None]) -> tuple[list[Dialogue], SourceReport]:
    """Answer the questions with an engine that has heard nothing yet; `AT_ONCE` move together.

    An event is a call of the engine before it answers, and a row before and after it is written.
    """
    append, at_once = RecordStore.append, module.ANSWERED_AT_ONCE

    def observed(store: RecordStore, record: Mapping[str, Any]) -> None:
        on_event()
        append(store, record)
        on_event()

    engine = CompanyEngine(on_event)
    RecordStore.append, module.ANSWERED_AT_ONCE = observed, AT_ONCE  # type: ignore[method-assign]
    try:
        return module.answered_questions(REQUEST, None, lambda: engine, PARAMS, path, "tiny")
    finally:
        RecordStore.append, module.ANSWERED_AT_ONCE = append, at_once  # type: ignore[method-assign]
