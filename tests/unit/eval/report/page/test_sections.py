from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from eval.report.data.selection import Curves
from eval.report.page.sections import (
    MOST_HEAT_TURNS,
    event_panels,
    heat_maps,
    measure_panels,
    probe_sections,
    save_main_chart,
    split_panels,
)
from tests.support.runs.fake_samples import fake_results, fake_samples, sample
from tests.support.texts.doc_pages import ROOT
from tests.support.texts.fake_lists import event, fake_lists


def run_of(*samples: Any) -> Curves:
    return Curves.of(fake_results(list(samples)))


def test_a_heat_map_of_each_arm_has_families_as_rows_and_the_total_last(
    run_results: dict[str, Any],
) -> None:
    maps = heat_maps(Curves.of(run_results))
    assert [m.arm for m in maps] == ["base", "gatt", "base+reminder"]
    assert [family for family, _ in maps[0].rows] == ["figure", "language", "all"]
    assert maps[0].turns == (1, 2, 4, 8, 20)
    assert not maps[0].is_thinned
    for (family, cells), turns in zip(maps[1].rows, [maps[1].turns] * 3, strict=True):
        assert [(c.family, c.turn, c.split) for c in cells if c] == [
            (family, t, "all") for t in turns
        ]


def test_one_family_alone_is_its_own_total_and_many_turns_are_thinned() -> None:
    (heat,) = heat_maps(run_of(*(sample(turn=t) for t in range(1, 51))))
    assert [family for family, _ in heat.rows] == ["language"]
    assert len(heat.turns) == MOST_HEAT_TURNS
    assert (heat.turns[0], heat.turns[-1], heat.is_thinned) == (1, 50, True)


def test_splits_are_shown_where_there_are_several() -> None:
    seen = [sample(), sample(turn=2)]
    assert split_panels(run_of(*seen)) == []
    unseen = sample(split="heldout_family", dialogue="d2")
    assert [(p.title, p.note) for p in split_panels(run_of(*seen, unseen))] == [
        ("Seen", "1 dialogue"),
        ("Unseen family", "1 dialogue"),
    ]


def test_measures_are_those_that_no_other_section_shows(run_results: dict[str, Any]) -> None:
    titles = [p.title for p in measure_panels(Curves.of(run_results))]
    assert titles[:1] == ["Survival"]
    assert titles[-1] in ("False triggers", "Adherence, lenient reading")
    assert not {"Adherence", "Probe recall"} & set(titles)


def test_a_second_history_is_named_and_adherence_under_it_is_a_measure() -> None:
    made = Curves.of(fake_results(fake_samples(2, (1, 2), ("reference", "own"))))
    titles = [p.title for p in measure_panels(made)]
    assert titles[:3] == [
        "Adherence, own history",
        "Survival, reference history",
        "Survival, own history",
    ]
    assert [p.history for p in probe_sections(made)] == ["reference", "own"]


def test_events_have_a_panel_each_with_their_turns_after(run_results: dict[str, Any]) -> None:
    curves = Curves.of(run_results)
    panels = event_panels(curves, fake_lists()["events"])
    assert [p.title for p in panels] == [
        "Topic jump", "Other language", "Quoted instruction", "Asks to drop",
    ]  # fmt: skip
    assert "GAtt, 8 turns later" in panels[0].svg
    assert panels[0].note == "The user changes the subject."


def test_an_event_may_have_any_name(run_results: dict[str, Any]) -> None:
    """A file of cases says what it is."""
    names = ("price > 100", r"what\if \1", 'x" onload="alert(1)', "<b>&")
    panels = event_panels(Curves.of(run_results), [event("gatt", n, 0, 0.5) for n in names])
    assert len(panels) == len(names)
    for panel in panels:
        root = ElementTree.fromstring(panel.svg)
        assert not [key for element in root.iter() for key in element.attrib if key == "onload"]


def test_an_event_without_a_decided_reply_or_of_one_family_alone_has_no_panel(
    run_results: dict[str, Any],
) -> None:
    curves = Curves.of(run_results)
    assert event_panels(curves, [event("gatt", "topic_jump", 0, None)]) == []
    assert event_panels(curves, [{**event("gatt", "topic_jump", 0, 0.5), "family": "figure"}]) == []


def test_the_picture_of_a_change_counts_from_it(tmp_path: Path) -> None:
    published = ROOT / "results" / "switch_validation" / "results.json"
    results = json.loads(published.read_text(encoding="utf-8"))
    for metric, axis in (("leakage", "turns since the change"), ("adherence", "turn, log scale")):
        save_main_chart(tmp_path / "curve.svg", results, metric)
        assert axis in (tmp_path / "curve.svg").read_text(encoding="utf-8")
