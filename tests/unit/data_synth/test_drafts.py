"""Nothing that was drawn is lost by an interruption within a batch."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from data_synth.drafts import DRAFTS_FILE, DraftingEngine
from data_synth.pipeline import run_synth
from gatt.data.dialogue import Message
from gatt.errors import GenerationError
from gatt.generation.base import GenerationRequest, SamplingParams
from tests.support.runs.stages import RecordingEngine
from tests.support.runs.synth_runs import make, varied_reply
from tests.support.servers.faulty_server import (
    PARAMS,
    Answer,
    Asked,
    FaultyServer,
    engine_for,
    error,
    request,
    right,
)

REQUESTS = [
    GenerationRequest(f"d{group}/{turn}/0", (Message("user", "Hi"),), f"d{group}")
    for group in range(3)
    for turn in range(2)
]


def test_a_portion_is_whole_dialogues_and_is_drawn_once(tmp_path) -> None:
    path = tmp_path / DRAFTS_FILE
    first = RecordingEngine(lambda request: request.key, interrupt_at=3)
    with pytest.raises(KeyboardInterrupt):
        DraftingEngine(lambda: first, path, "salt", 3).generate(REQUESTS, SamplingParams())
    assert [len(requests) for requests, _, _ in first.calls] == [2, 2, 2]
    with path.open("a", encoding="utf-8") as file:
        file.write('{"asked": "cut off')
    again = RecordingEngine(lambda request: request.key)
    engine = DraftingEngine(lambda: again, path, "salt", 3)
    replies = engine.generate(REQUESTS, SamplingParams())
    assert [reply.text for reply in replies] == [request.key for request in REQUESTS]
    assert [request.group for request in again.requests] == ["d2", "d2"]
    third = RecordingEngine(lambda request: request.key)
    DraftingEngine(lambda: third, path, "salt", 3).generate(REQUESTS, SamplingParams())
    assert not third.requests
    other = RecordingEngine(lambda request: request.key)
    DraftingEngine(lambda: other, path, "other settings", 3).generate(REQUESTS, SamplingParams())
    assert len(other.requests) == 6
    engine.done()
    assert not path.exists()


def test_each_reply_of_a_server_is_kept_though_a_later_one_ends_the_run(tmp_path) -> None:
    path = tmp_path / DRAFTS_FILE
    asked = [request(f"question {number}") for number in range(4)]

    def refuses_one(one: Asked) -> Answer | str:
        return error(401, "no such key") if "question 2" in one.prompt else "ok"

    with FaultyServer(refuses_one) as server:
        engine = engine_for(server, max_concurrency=1)
        with pytest.raises(GenerationError):
            DraftingEngine(lambda: engine, path, "salt", None).generate(asked, PARAMS)
    with FaultyServer() as server:
        engine = engine_for(server, max_concurrency=1)
        replies = DraftingEngine(lambda: engine, path, "salt", None).generate(asked, PARAMS)
    missing = [json.dumps([m.as_dict() for m in one.messages]) for one in asked[2:]]
    assert [one.prompt for one in server.asked] == missing
    assert replies == [right(one) for one in asked]
    assert engine.on_reply is None


def test_a_run_goes_on_within_a_batch_and_gives_the_same_file(config) -> None:
    whole = replace(config, batch_samples=10, output_dir=config.output_dir.with_name("whole"))
    broken = replace(whole, output_dir=config.output_dir.with_name("broken"))
    _, reference = make(whole)
    stopped = RecordingEngine(varied_reply, interrupt_at=len(reference.calls))
    with pytest.raises(KeyboardInterrupt):
        run_synth(broken, lambda: stopped)
    rest = RecordingEngine(varied_reply)
    run_synth(broken, lambda: rest)
    assert len(rest.calls) == 1
    files = [one.output_dir / "samples.jsonl" for one in (whole, broken)]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert not (broken.output_dir / DRAFTS_FILE).exists()
