"""Replies under an instruction that changes: what is judged, and what the curves say."""

from __future__ import annotations

from dataclasses import replace

from eval.metrics.curves import curves, vacuous_curves
from eval.metrics.paired import differences
from eval.metrics.table import leakage
from eval.records.case import Case
from eval.records.samples import Sample
from eval.report.data.selection import turn_name
from eval.scoring.verdict import Reply, check_by_rules
from gatt.data.switches import Switch
from gatt.generation.base import Generation
from tests.support.runs.stages import dialogue
from tests.support.runs.switched import cancel, case, hobby, judged, to


def test_a_reply_is_judged_by_what_is_in_force_and_its_leak_by_what_was() -> None:
    one = case(to("chess", 3), cancel(5))
    rows = [
        (2, "Tennis!", "pass", None, None, "kept", ""),
        (3, "Tennis!", "fail", "pass", 0, "kept", "hobby.tennis"),
        (4, "Chess!", "pass", "fail", 1, "kept", "hobby.tennis"),
        (5, "Chess!", "fail", "pass", 0, "released", "hobby.tennis"),
        (5, "Bread and butter.", "pass", "fail", 0, "released", "hobby.tennis"),
    ]
    for turn, text, status, leak, since, expected, given in rows:
        found = judged(one, turn, text)
        assert (found.status, found.leak, found.since_switch) == (status, leak, since)
        assert (found.expected, found.given) == (expected, given)
        assert found.case == ("d-001", "hobby.tennis", "")
        assert Sample.from_dict(found.as_dict()) == found
    assert judged(one, 3, "x y z.").announcement == "Now instead: You enjoy chess."
    assert judged(one, 3, "x y z.").event == "replace"
    assert judged(one, 4, "x y z.").announcement is judged(one, 4, "x y z.").event is None
    nothing = Reply(one, 4, "turn", "u", Generation("", "context_limit", 0))
    assert check_by_rules(nothing, "base", "own", ()).leak == "undecided"


def test_leakage_is_of_what_ended_last_and_is_not_back() -> None:
    """Tennis until 2, nothing from 2, chess from 3, nothing from 4, chess again from 5."""
    add = [Switch(t, "add", "user", "Also: You enjoy chess.", hobby("chess")) for t in (3, 5)]
    one = case(cancel(2), add[0], cancel(4), add[1])
    told = [judged(one, turn, "Tennis and chess!") for turn in range(1, 6)]
    assert [(s.leak, s.since_end, s.since_switch) for s in told] == [
        (None, None, None), ("pass", 0, 0), ("pass", 1, 0), ("pass", 0, 0), (None, None, 0),
    ]  # fmt: skip
    assert [s.ended.id if s.ended else None for s in told] == [
        None, "hobby.tennis", "hobby.tennis", "hobby.chess", None,
    ]  # fmt: skip
    # Turn 3 stands one turn behind the cancellation, not at the addition.
    outcomes = list(leakage(told))
    assert [(o.sample.turn, o.turn) for o in outcomes] == [(2, 0), (3, 1), (4, 0)]
    # It stands under what has ended, and is still the same reply.
    assert outcomes[2].sample.instruction == hobby("chess")
    assert [o.sample.key for o in outcomes] == [s.key for s in told[1:4]]


def samples_of(arm: str, told: list[str], switch: Switch, name: str = "c") -> list[Sample]:
    one = replace(case(switch), id=name, dialogue=replace(dialogue(1, 5), id=name))
    return [replace(judged(one, t, text), arm=arm) for t, text in enumerate(told, start=1)]


def test_curves_count_turns_from_the_change_on() -> None:
    """Two cases, changed at turns 2 and 4: three turns at 1 later come from one case alone."""
    first = samples_of("base", ["Tennis", "Chess", "Tennis", "Chess", "Rain"], to("chess", 2), "a")
    second = samples_of("base", ["Tennis"] * 3 + ["Tennis", "Snow"], cancel(4), "b")
    points = curves([*first, *second])

    def of(metric: str) -> dict[int, tuple[int, int]]:
        return {
            p.turn: (p.num_passed, p.num_decided)
            for p in points
            if (p.metric, p.split, p.family) == (metric, "all", "all")
        }

    assert of("keeps_since_switch") == {0: (1, 1), 1: (0, 1), 2: (1, 1), 3: (0, 1)}
    assert of("leakage") == {0: (1, 2), 1: (1, 2), 2: (0, 1), 3: (0, 1)}
    assert of("keeps") == {1: (2, 2), 2: (2, 2), 3: (1, 2), 4: (1, 1), 5: (0, 1)}
    assert [turn_name("leakage", t) for t in (0, 3)] == ["at it", "3 later"]


def test_a_probe_leaks_where_it_gives_what_was_taken_back() -> None:
    """After a replacement it asks for the new one, which is recall and no leak."""
    one = case(to("chess", 2), cancel(4))
    found = [judged(one, t, "Chess!", "probe") for t in (3, 4)]
    found += [judged(one, 5, "Nothing much.", "probe"), judged(one, 5, "Chess!")]
    points = {
        (p.metric, p.turn): (p.num_passed, p.num_decided)
        for p in curves(found)
        if (p.split, p.family) == ("all", "all")
    }
    assert points[("probe_recall", 3)] == (1, 1)
    assert {k: v for k, v in points.items() if "leakage" in k[0]} == {
        ("probe_leakage", 0): (1, 1), ("probe_leakage", 1): (0, 1), ("leakage", 1): (1, 1),
    }  # fmt: skip
    assert [k for k in points if k[0] == "probe_recall"] == [("probe_recall", 3)]
    # Junk gives nothing, and is no answer either.
    junk = judged(one, 5, "no no no no no no no no no no no no", "probe")
    assert (junk.leak, junk.status) == ("fail", "fail")


def test_paired_differences_keep_the_pairs_of_a_shifted_axis() -> None:
    """Of two cases changed at different turns the order by turn is not that by turns since."""
    both = {
        arm: samples_of(arm, told[0], to("chess", 2), "a")
        + samples_of(arm, told[1], to("chess", 4), "b")
        for arm, told in {
            "base": (["x y"] * 5, ["x y"] * 5),
            "gatt": (["x y", "Chess", "Chess", "x y", "x y"], ["x y"] * 5),
        }.items()
    }
    found = {
        d.turn: (d.difference, d.num_pairs)
        for d in differences([*both["base"], *both["gatt"]])
        if (d.metric, d.split) == ("keeps_since_switch", "all")
    }
    assert found == {0: (0.5, 2), 1: (0.5, 2), 2: (0, 1), 3: (0, 1), None: (1 / 3, 6)}


def test_what_the_old_rules_pass_by_chance_is_told_of_the_dialogues_own_replies() -> None:
    """The own reply to turn 3 speaks of a station, unasked."""
    one = Case("c", dialogue(1, 5), hobby("station"), None, switches=(cancel(2),))
    told = [judged(one, turn, "Rain.") for turn in range(1, 6)]
    points = vacuous_curves(told, (), [one])
    found = {
        p.turn: (p.num_passed, p.num_decided)
        for p in points
        if (p.metric, p.split, p.family) == ("vacuous_leakage", "all", "all")
    }
    assert found == {0: (0, 1), 1: (1, 1), 2: (0, 1), 3: (0, 1)}
    assert not [p for p in vacuous_curves(told, ()) if p.metric == "vacuous_leakage"]
