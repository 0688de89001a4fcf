"""A worker of `gatt synth --workers N` whose teacher is scripted; it fails where it is told to.

`GATT_TEST_WORKER` holds `<what> <shard> <file>`: `kill` ends the worker of that shard by SIGKILL in
its second batch, `fail` lets its teacher raise, `hang` lets it wait for ever. It does so once: the
file says that it did.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from data_synth import pipeline
from data_synth.parallel import worker
from gatt.errors import GenerationError
from gatt.generation.base import Generation, GenerationRequest, SamplingParams
from tests.support.runs.stages import RecordingEngine
from tests.support.runs.synth_runs import varied_reply


class FaultyEngine(RecordingEngine):
    """The scripted engine, with the fault that the environment asks for."""

    def generate(
        self,
        requests: Sequence[GenerationRequest],
        params: SamplingParams,
        adapter: str | None = None,
    ) -> list[Generation]:
        """Answer, or fail once at the fifth call."""
        what, shard, file = os.environ.get("GATT_TEST_WORKER", "none - -").split(" ", 2)
        if shard == sys.argv[-1] and len(self.calls) == 4 and not Path(file).exists():
            Path(file).touch()
            if what == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if what == "fail":
                raise GenerationError("the teacher gave up: expected it to answer")
            time.sleep(600)
        return super().generate(requests, params, adapter)


if __name__ == "__main__":
    pipeline.make_engine = lambda *_: FaultyEngine(varied_reply)  # type: ignore[assignment]
    pipeline.provenance = lambda: {"commit": None}  # type: ignore[assignment]
    sys.exit(worker.run(sys.argv[1:]))
