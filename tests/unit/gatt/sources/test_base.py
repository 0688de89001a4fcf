from __future__ import annotations

from typing import Any

import pytest

from gatt.data.dialogue import Dialogue, Message
from gatt.data.hash_split import PARTS, partition
from gatt.errors import DataError
from gatt.sources.base import SourceReport, select
from gatt.sources.config import SourceConfig


def dialogue(identity: str, num_turns: int, text: str | None = None) -> Dialogue:
    said = text or identity
    pairs = [
        (Message("user", f"{said} {t}?"), Message("assistant", f"{said} {t}."))
        for t in range(num_turns)
    ]
    return Dialogue(identity, tuple(m for pair in pairs for m in pair))


def config(**changes: Any) -> SourceConfig:
    return SourceConfig(**{"min_turns": 2, "max_turns": 3} | changes)


def test_order_depends_on_seed_only_and_num_takes_the_first() -> None:
    pool = [dialogue(f"d{i}", 3) for i in range(20)]
    one = [d.id for d in select(pool, config(), SourceReport("x"))]
    assert [d.id for d in select(pool[::-1], config(), SourceReport("x"))] == one
    assert [d.id for d in select(pool, config(num=5), SourceReport("x"))] == one[:5]
    assert [d.id for d in select(pool, config(seed=1), SourceReport("x"))] != one


def test_counts_add_up_and_lengths_hold() -> None:
    system = Dialogue("sys", (Message("system", "Be kind."), *dialogue("s", 2).messages))
    still_open = Dialogue("open", (*dialogue("o", 2).messages, Message("user", "Still there?")))
    lone = Dialogue("lone", (Message("user", "Anyone?"),))
    copy = dialogue("copy", 5, text="A")
    pool = [dialogue("a", 5), copy, dialogue("short", 1), system, still_open, lone]
    report = SourceReport("x", num_read=len(pool))
    kept = {d.id: d for d in select(pool, config(), report)}
    assert set(kept) == {"a", "sys", "open"}
    assert kept["a"].num_turns == 3
    assert kept["sys"].system is None
    for d in kept.values():
        assert len(d.replies) == d.num_turns >= 2
    assert report.dropped == {"exact duplicate": 1, "too short": 1, "no whole exchange": 1}
    assert report.changed == {"system message removed": 1, "open last turn cut": 2}
    assert report.num_read == report.num_kept + report.dropped.total()
    assert report.longest_turns == 5
    assert report.as_dict()["dropped"] == dict(report.dropped)


def test_an_example_steers_no_terminal_and_ends_no_cell() -> None:
    report = SourceReport("x", num_read=1)
    report.drop("unknown speaker", "row 1: a|b\x1b[2J\n`<b>")
    assert report.table(report.dropped) == [("unknown speaker", 1, r"row 1: a\|b\x1b[2J\n'&lt;b>")]
    assert not any("\x1b" in line for line in report.lines())


def test_nothing_left_names_the_longest() -> None:
    pool = [dialogue("a", 4), dialogue("b", 7)]
    report = SourceReport("x", num_read=2)
    report.drop("unknown speaker", "row 3: bad")
    with pytest.raises(
        DataError,
        match=r"'x': .* 9 turns .* 7; read 2; .* too short: 2, .*\(first: row 3: bad\).*lower min_t",
    ):
        select(pool, config(min_turns=9, max_turns=9), report)


def test_partition_is_stable_and_near_its_shares() -> None:
    counts = {p: sum(partition(f"d-{i}") == p for i in range(5000)) / 5000 for p in PARTS}
    assert counts["train"] == pytest.approx(0.7, abs=0.03)
    assert counts["validation"] == pytest.approx(0.1, abs=0.02)
    assert counts["eval"] == pytest.approx(0.2, abs=0.03)
