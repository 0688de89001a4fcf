"""How much one endpoint gets, and when its circuit opens and closes; time is a number here."""

from __future__ import annotations

import pytest

from gatt.generation.servers.endpoint import OPEN_AFTER, Endpoint
from gatt.generation.servers.faults import Fault

GONE = Fault("connection", "nothing listens")


def endpoint(limit: float = 8, most: int = 16) -> Endpoint:
    return Endpoint("u", limit=limit, most=most, pause=1.0, longest_pause=10.0)


def fail(one: Endpoint, fault: Fault, now: float) -> None:
    one.fail(one.begin(now), fault, now)


def test_the_limit_halves_once_for_requests_that_were_under_way_together() -> None:
    one = endpoint()
    tickets = [one.begin(0.0) for _ in range(8)]
    assert not one.has_room(0.0)
    assert one.load == 1.0
    for ticket in tickets:
        one.fail(ticket, Fault("rate_limit", "status 429"), 1.0)
    assert (one.limit, one.num_in_flight) == (4, 0)
    fail(one, Fault("overload", "status 503"), 2.0)
    fail(one, Fault("timeout", "slow"), 3.0)
    fail(one, Fault("rate_limit", "status 429"), 4.0)
    assert one.limit == 1


def test_the_limit_grows_by_one_a_round_up_to_its_most() -> None:
    one = endpoint(limit=4, most=6)
    for _ in range(5):
        one.succeed(one.begin(0.0))
    assert one.limit == 5
    for _ in range(50):
        one.succeed(one.begin(0.0))
    assert one.limit == 6


def test_a_share_below_one_still_lets_one_request_through() -> None:
    assert endpoint(limit=0.5).has_room(0.0)


@pytest.mark.parametrize(("asked", "held"), [(3.0, 3.0), (99.0, 10.0)])
def test_what_the_server_asks_to_wait_is_waited_up_to_the_longest_pause(
    asked: float, held: float
) -> None:
    one = endpoint()
    fail(one, Fault("rate_limit", "status 429", asked), 5.0)
    assert one.next_time(5.0) == 5.0 + held
    assert not one.has_room(5.0 + held - 0.1)
    assert not one.is_usable(5.0 + held - 0.1)
    assert one.has_room(5.0 + held)
    assert one.is_usable(5.0 + held)
    assert one.next_time(5.0 + held) is None


def test_the_circuit_opens_after_faults_in_a_row_and_closes_with_a_reply() -> None:
    one = endpoint()
    for _ in range(OPEN_AFTER - 1):
        fail(one, GONE, 0.0)
    one.succeed(one.begin(0.0))
    for _ in range(OPEN_AFTER - 1):
        fail(one, GONE, 0.0)
    assert not one.is_open
    fail(one, GONE, 0.0)
    assert one.is_open
    assert (one.has_room(0.9), one.has_room(1.0)) == (False, True)
    probe = one.begin(1.0)
    assert not one.has_room(1.0)
    assert not one.is_usable(1.0)
    one.fail(probe, GONE, 1.0)
    assert (one.num_failed_probes, one.next_time(1.0)) == (1, 3.0)
    one.fail(one.begin(3.0), GONE, 3.0)
    assert (one.num_failed_probes, one.next_time(3.0)) == (2, 7.0)
    one.succeed(one.begin(7.0))
    assert not one.is_open
    assert one.is_usable(7.0)


@pytest.mark.parametrize("kind", ["rate_limit", "model"])
def test_a_server_that_answers_keeps_its_circuit_closed(kind) -> None:
    one = endpoint()
    for _ in range(2 * OPEN_AFTER):
        fail(one, Fault(kind, "seen"), 0.0)
    assert not one.is_open
    one.open(GONE, 0.0)
    fail(one, Fault(kind, "seen"), 1.0)
    assert not one.is_open


def test_an_abandoned_probe_makes_room_for_another() -> None:
    one = endpoint()
    one.open(GONE, 0.0)
    one.abandon(one.begin(1.0))
    assert one.has_room(1.0)
    assert one.num_in_flight == 0


@pytest.mark.parametrize(
    ("kind", "has_answered"), [("timeout", False), ("connection", False), ("status", True)]
)
def test_only_an_answer_says_that_there_is_a_server(kind, has_answered) -> None:
    one = endpoint()
    fail(one, Fault(kind, "seen"), 0.0)
    assert one.has_answered == has_answered
