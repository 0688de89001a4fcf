from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.metrics.curves import CurvePoint, curves
from eval.report import page as report_page
from eval.report.charts.curves import (
    DASHES,
    HERO,
    LIGHT,
    MANY_POINTS,
    MARKERS,
    NUM_STYLES,
    PANEL,
    SINCE_CHANGE,
    Axes,
    chart,
    spread,
)
from eval.report.charts.drawing import GLYPHS
from eval.report.page.sections import save_main_chart
from gatt.errors import ConfigError, DataError
from tests.support.runs.fake_samples import fake_results, fake_samples, sample


def points(arm: str, rates: dict[int, float | None]) -> list[CurvePoint]:
    base = asdict(curves([sample(arm=arm)])[0])
    return [CurvePoint(**{**base, "turn": t, "rate": r, "low": 0.1}) for t, r in rates.items()]


def draw(name: str = "c1", arm: str = "gatt") -> str:
    found = {"base": points("base", {1: 0.9, 2: 0.1}), arm: points(arm, {1: 1.0, 20: 0.7})}
    return chart(found, ("base", arm), HERO, name, 'Adherence of "a" & <b>')


def test_a_chart_is_one_element_in_the_colours_of_the_page() -> None:
    svg = draw()
    root = ET.fromstring(svg)
    assert root.attrib["aria-label"] == 'Adherence of "a" & <b>'
    assert "width" not in root.attrib
    assert {"var(--arm-0)", "var(--arm-1)", "var(--muted)", "var(--grid)"} <= set(
        re.findall(r"var\([a-z0-9-]+\)", svg)
    )
    assert not re.search(r"#0[0-9a-f]{5}\b", svg)
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]+"', "", svg)


def test_ids_of_two_charts_do_not_meet_and_resolve() -> None:
    one, two = draw("c1"), draw("c2")
    assert one == draw("c1")
    ids = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in (one, two)]
    assert ids[0]
    assert not ids[0] & ids[1]
    used = set(re.findall(r'(?:url\(|href=")#([^")]+)', one))
    assert used
    assert used <= ids[0]


def test_a_hostile_arm_name_stays_text() -> None:
    svg = draw(arm="<script>alert(1)</script> $x$ &")
    root = ET.fromstring(svg)
    assert "script" not in {e.tag.rpartition("}")[2] for e in root.iter()}
    assert any("<script>alert(1)" in (e.text or "") for e in root.iter())


def test_the_axis_may_begin_at_0_and_says_what_it_counts() -> None:
    found = {"base": points("base", {0: 0.5, 8: 0.25})}
    svg = chart(found, ("base",), PANEL, "c", "x", axis=SINCE_CHANGE)
    assert ">turns since the change, log scale<" in svg


def test_the_top_of_the_axis_may_be_lower() -> None:
    found = {"base": points("base", {1: 0.05, 2: 0.02})}
    plain = chart(found, ("base",), PANEL, "c", "x")
    svg = chart(found, ("base",), PANEL, "c", "x", Axes(top=0.1))
    assert ">100 %</text>" in plain
    assert ">100 %</text>" not in svg
    assert re.search(r">[0-9.]+ %</text>", svg)


def test_the_points_of_a_long_curve_have_small_markers() -> None:
    few, many = (
        chart(
            {"base": points("base", dict.fromkeys(range(1, n + 1), 0.5))},
            ("base",),
            PANEL,
            "c",
            "x",
        )
        for n in (MANY_POINTS, 50)
    )
    assert "stroke: var(--page)" in few
    assert "stroke: var(--page)" not in many
    assert len(many) < 5 * len(few)


def test_many_turns_leave_room_between_their_labels() -> None:
    found = {"base": points("base", dict.fromkeys(range(1, 51), 0.5))}
    labels = [
        int(t) for t in re.findall(r">(\d+)</text>", chart(found, ("base",), PANEL, "c", "x"))
    ]
    ticks = [t for t in labels if t not in (0, 25, 75)]
    assert ticks[0] == 1
    assert 50 in ticks
    assert len(ticks) < 16


def test_every_style_has_a_marker_and_a_dash() -> None:
    assert len(MARKERS) == len(DASHES) == NUM_STYLES == len(GLYPHS) // 2
    assert len(set(GLYPHS)) == len(GLYPHS)


def test_more_arms_than_colours_are_told_apart_by_hollow_markers_and_have_no_bands() -> None:
    def drawn(num: int) -> str:
        arms = [f"a{n}" for n in range(num)]
        found = {arm: points(arm, {1: 0.9, 2: 0.1 + n / 20}) for n, arm in enumerate(arms)}
        return chart(found, arms, HERO, "c1", "Adherence")

    few, many = drawn(NUM_STYLES), drawn(NUM_STYLES + 1)
    assert few.count("FillBetween") == NUM_STYLES
    assert "FillBetween" not in many
    for text, num in ((few, 0), (many, 1)):
        hollow = re.findall(r"fill: var\(--page\)[^\"]*stroke: var\(--arm-0\)", text)
        assert bool(hollow) == bool(num)
        assert (f"{GLYPHS[NUM_STYLES]} a8" in text, f"{GLYPHS[0]} a0" in text) == (num, num)


@given(st.lists(st.floats(0, 1), max_size=9).map(sorted))
def test_labels_never_meet_nor_leave_the_chart(heights: list[float]) -> None:
    placed = spread(heights, 0.1)
    assert all(b - a >= 0.1 - 1e-9 for a, b in pairwise(placed))
    assert all(0 <= y <= 1 for y in placed)


def test_the_light_palette_is_the_pages_own() -> None:
    css = (Path(report_page.__file__).parent / "assets" / "base.css").read_text(encoding="utf-8")
    light = css[: css.index("@media")]
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", light))
    arms = [found[f"arm-{n}"] for n in range(NUM_STYLES)]
    expected = (found["ink"], found["muted"], found["grid"], found["page"], tuple(arms))
    assert (LIGHT.ink, LIGHT.muted, LIGHT.grid, LIGHT.page, LIGHT.arms) == expected


@pytest.mark.parametrize(
    ("name", "begins"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")]
)
def test_a_picture_stands_alone(tmp_path, name, begins) -> None:
    results = fake_results(fake_samples())
    save_main_chart(tmp_path / name, results, "adherence")
    written = (tmp_path / name).read_bytes()
    assert written.startswith(begins)
    if name.endswith("svg"):
        text = written.decode()
        assert "var(--" not in text
        assert LIGHT.arms[0] in text
        assert "GAtt" in text


@pytest.mark.parametrize(
    ("name", "metric", "error", "fact"),
    [
        ("a.gif", "adherence", ConfigError, r"a\.gif.*\.png"),
        ("a.png", "nothing", DataError, "'nothing'.*adherence"),
    ],
)
def test_a_picture_that_cannot_be_made_is_one_line(tmp_path, name, metric, error, fact) -> None:
    with pytest.raises(error, match=fact):
        save_main_chart(tmp_path / name, fake_results(fake_samples()), metric)
