"""What tests with Ray share: Ray on this machine, and teachers that die or fail once."""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from gatt.errors import GenerationError
from gatt.generation.base import Generation, GenerationRequest, SamplingParams
from gatt.generation.cluster.pool import connected
from tests.support.runs.stages import RecordingEngine

Reply = Callable[[GenerationRequest], str | Generation]


@contextmanager
def ray_here() -> Iterator[None]:
    """Start Ray on this machine as `--workers N` does; runs inside the block use this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[3]))
        # A token of its own, or Ray would write one into the home folder.
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
        # What else runs on this machine may need the memory; no worker is to be killed for that.
        patch.setenv("RAY_memory_monitor_refresh_ms", "0")
        patch.delenv("RAY_ADDRESS", raising=False)
        with connected("local"):
            yield


class UnluckyEngine(RecordingEngine):
    """Answers, but for call `at_call` of the first worker that comes so far: `kill` ends it, `fail` raises.

    The file `once` says that it happened.
    """

    def __init__(self, reply: Reply, what: str, at_call: int, once: Path) -> None:
        super().__init__(reply)
        self.what, self.at_call, self.once = what, at_call, once

    def generate(
        self,
        requests: Sequence[GenerationRequest],
        params: SamplingParams,
        adapter: str | None = None,
    ) -> list[Generation]:
        """Answer, or meet with misfortune."""
        if len(self.calls) + 1 == self.at_call and self._is_first():
            if self.what == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise GenerationError("the teacher gave up: expected it to answer")
        return super().generate(requests, params, adapter)

    def _is_first(self) -> bool:
        try:
            self.once.touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


def told_again(request: GenerationRequest) -> str:
    """Follow the instruction wherever it is read."""
    return f"Of that I can say this: {request.messages[-1].content} {len(request.messages)}"
