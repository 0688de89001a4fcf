"""Several endpoints: who gets what, in which order, and what becomes of a dead one's share."""

from __future__ import annotations

from tests.support.servers.faulty_server import FaultyServer
from tests.support.servers.served import PARAMS, engine_for, request, right


def test_a_group_stays_with_one_endpoint_shortest_prompt_first() -> None:
    asked = [request(f"d{n}", f"d{n}", turns=t) for n in range(8) for t in (3, 1, 2)]
    with FaultyServer(seconds=0.01) as one, FaultyServer(seconds=0.01) as two:
        engine = engine_for(one, two, max_concurrency=2)
        assert engine.generate(asked, PARAMS) == [right(r) for r in asked]
        seen = [[a.body["messages"][0]["content"] for a in s.asked] for s in (one, two)]
        assert not set(seen[0]) & set(seen[1])
        assert min(map(len, seen)) >= 6
        for server in (one, two):
            turns = [len(a.body["messages"]) for a in server.asked]
            assert turns == [1, 3, 5] * (len(turns) // 3)
        engine.generate([request(f"d{n}", f"d{n}", turns=4) for n in range(8)], PARAMS)
    later = [{a.body["messages"][0]["content"] for a in s.asked} for s in (one, two)]
    assert later == [set(s) for s in seen]


def test_what_a_dead_endpoint_had_goes_to_the_other() -> None:
    asked = [request(f"d{n}", f"d{n % 7}") for n in range(80)]
    with (
        FaultyServer(lambda a: "die" if len(one.asked) > 5 else "ok") as one,
        FaultyServer() as two,
    ):
        engine = engine_for(one, two, patience_seconds=20)
        assert engine.generate(asked, PARAMS) == [right(r) for r in asked]
        more = [request(f"e{n}", f"d{n % 7}") for n in range(20)]
        assert engine.generate(more, PARAMS) == [right(r) for r in more]
    assert len(two.asked) > 80


def test_an_endpoint_that_is_dead_from_the_start_leaves_all_to_the_other() -> None:
    with FaultyServer() as gone:
        pass
    asked = [request(f"d{n}", f"d{n % 5}") for n in range(30)]
    with FaultyServer() as alive:
        engine = engine_for(gone, alive)
        assert engine.generate(asked, PARAMS) == [right(r) for r in asked]
    assert len(alive.asked) == 30


def test_the_least_loaded_endpoint_gets_the_next_group() -> None:
    asked = [request(str(n)) for n in range(60)]
    with FaultyServer(seconds=0.1) as slow, FaultyServer(seconds=0.005) as quick:
        assert engine_for(slow, quick).generate(asked, PARAMS) == [right(r) for r in asked]
    assert len(quick.asked) > 2 * len(slow.asked) > 0
