"""Draws of an unfinished batch, stored as they are made: after an interruption they are not drawn again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

from gatt.generation.base import (
    Engine,
    Generation,
    GenerationRequest,
    SamplingParams,
    can_prefill,
    forget,
)
from gatt.runs.atomic_file import refused_write

DRAFTS_FILE = "drafts.jsonl"


class DraftingEngine:
    """An engine that asks another one in portions, and stores the replies of each portion.

    A portion that stands in the file already is read from there. The other engine forgets its prefixes before
    each portion: a resumed batch has the same bits as one that was never interrupted. Replies of servers depend
    on no other request: each is stored as it comes, and a stop loses only those that are on their way.

    Args:
        make: gives the other engine; called when something has to be drawn.
        path: the file.
        salt: hash of all settings that decide the draws; those of other settings are never used.
        most_requests: of a portion, whole dialogues at least; an interruption loses one portion. None: the
            engine is one of servers.
    """

    def __init__(
        self, make: Callable[[], Engine], path: Path, salt: str, most_requests: int | None
    ) -> None:
        self._make, self._path, self._salt, self._most = make, path, salt, most_requests

    @property
    def can_prefill(self) -> bool:
        """Whether the other engine accepts a prefill."""
        return can_prefill(self._make())

    @cached_property
    def _stored(self) -> dict[str, list[dict[str, Any]]]:
        """Digest of a portion -> its replies."""
        if not self._path.exists():
            return {}
        stored = {}
        text = self._path.read_text(encoding="utf-8", errors="replace")
        for line in text.splitlines():
            try:
                row = json.loads(line)
                stored[row["asked"]] = row["replies"]
            except (ValueError, KeyError, TypeError):
                # A kill may cut the last line.
                continue
        if text and not text.endswith("\n"):
            self._append("\n")
        return stored

    def generate(
        self,
        requests: Sequence[GenerationRequest],
        params: SamplingParams,
        adapter: str | None = None,
    ) -> list[Generation]:
        """Return one reply per request, in order; see `Engine.generate`."""
        if self._most is None:
            return self._from_servers(requests, params, adapter)
        replies: list[Generation] = []
        for portion in self._portions(requests):
            digest = self._digest(portion, params, adapter)
            if digest not in self._stored:
                engine = self._make()
                forget(engine)
                drawn = engine.generate(portion, params, adapter)
                self._store(digest, [asdict(reply) for reply in drawn])
            replies += [Generation(**values) for values in self._stored[digest]]
        return replies

    def _from_servers(
        self, requests: Sequence[GenerationRequest], params: SamplingParams, adapter: str | None
    ) -> list[Generation]:
        digests = {request.key: self._digest([request], params, adapter) for request in requests}
        if missing := [r for r in requests if digests[r.key] not in self._stored]:
            engine: Any = self._make()

            def keep(request: GenerationRequest, reply: Generation) -> None:
                if (digest := digests[request.key]) not in self._stored:
                    self._store(digest, [asdict(reply)])

            engine.on_reply = keep
            try:
                drawn = engine.generate(missing, params, adapter)
            finally:
                engine.on_reply = None
            for request, reply in zip(missing, drawn, strict=True):
                keep(request, reply)
        return [Generation(**self._stored[digests[r.key]][0]) for r in requests]

    def done(self) -> None:
        """Drop what is stored: the batch is finished."""
        self._stored.clear()
        self._path.unlink(missing_ok=True)

    def _portions(self, requests: Sequence[GenerationRequest]) -> Iterator[list[GenerationRequest]]:
        assert self._most is not None
        portion: list[GenerationRequest] = []
        for _, group in groupby(requests, key=lambda request: request.group):
            dialogue = list(group)
            if portion and len(portion) + len(dialogue) > self._most:
                yield portion
                portion = []
            portion += dialogue
        if portion:
            yield portion

    def _digest(
        self, portion: Sequence[GenerationRequest], params: SamplingParams, adapter: str | None
    ) -> str:
        asked = [self._salt, asdict(params), adapter, *(asdict(request) for request in portion)]
        return hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()

    def _store(self, digest: str, replies: list[dict[str, Any]]) -> None:
        self._stored[digest] = replies
        self._append(json.dumps({"asked": digest, "replies": replies}) + "\n")

    def _append(self, text: str) -> None:
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise refused_write(self._path, error) from error
