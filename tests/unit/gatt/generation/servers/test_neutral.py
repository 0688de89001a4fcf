"""A server decodes as the local engine does, or says that it cannot."""

from __future__ import annotations

import json

import pytest

from gatt.errors import GenerationError
from gatt.generation.servers.neutral import NEUTRAL
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

NAMES = frozenset(NEUTRAL)
HOSTED = NAMES - {"presence_penalty", "frequency_penalty"}


def refusing(status: int, form: str, names: frozenset[str]):
    """Return a script that refuses fields, one after the other or all at once."""

    def script(asked: Asked) -> str | Answer:
        found = sorted(names & asked.body.keys())
        if not found:
            return "ok"
        shown = {"one": found[0], "all": ", ".join(found), "json": json.dumps(found)}
        return error(status, form.format(**shown))

    return script


@pytest.mark.parametrize(
    ("status", "form", "names", "left"),
    [
        (400, "Unrecognized request arguments supplied: {all}", HOSTED, NAMES - HOSTED),
        (400, "Unknown parameter: '{one}'.", HOSTED, NAMES - HOSTED),
        (422, '[{{"type": "extra_forbidden", "loc": ["body", {json}]}}]', HOSTED, NAMES - HOSTED),
        (400, "property '{one}' is unsupported", HOSTED, NAMES - HOSTED),
        (400, "top_k must be in [-1, 1000]", frozenset({"top_k"}), NAMES - {"top_k"}),
        # Without a name none of them is sent any more.
        (400, "Additional properties are not allowed for this model", HOSTED, frozenset()),
    ],
)
def test_a_field_that_is_refused_is_left_out_and_counted(status, form, names, left, caplog) -> None:
    asked = [request(name) for name in "abcdef"]
    with FaultyServer(refusing(status, form, names)) as server:
        engine = engine_for(server)
        assert engine.generate(asked, PARAMS) == [right(r) for r in asked]
        assert engine.counters.num_not_neutral == len(asked)
        num = len(server.asked)
        engine.generate([request("g")], PARAMS)
        assert len(server.asked) == num + 1
    assert NAMES & server.asked[-1].body.keys() == left
    assert NAMES & server.asked[0].body.keys() == NAMES
    assert {name for name in names if name in caplog.text} == names


def test_other_refusals_end_the_run_as_before() -> None:
    with FaultyServer(lambda _: error(400, "Unsupported parameter: 'seed'")) as server:
        with pytest.raises(GenerationError, match="seed"):
            engine_for(server).generate([request("a")], PARAMS)
        assert len(server.asked) == 1
        assert server.asked[0].body.items() >= NEUTRAL.items()


def test_what_the_user_sets_is_sent_as_it_is() -> None:
    with FaultyServer() as server:
        engine = engine_for(server, extra_body={"top_k": 20})
        engine.generate([request("a")], PARAMS)
    assert server.asked[0].body["top_k"] == 20
    assert engine.counters.num_not_neutral == 0
