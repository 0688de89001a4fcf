from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import asdict
from pathlib import Path

import pytest

from eval.metrics.curves import CurvePoint, curves
from eval.report import page as report_page
from eval.report.charts.curves import HERO, PANEL, chart, panels, save_main_chart
from eval.report.charts.drawing import ARMS, CSS_COLOURS, NUM_STYLES
from eval.report.data.runs import read_runs
from eval.report.data.selection import Curves
from gatt.errors import DataError
from tests.support.runs.fake_samples import (
    fake_results,
    fake_samples,
    instruction,
    sample,
    write_run,
)


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
    assert not [colour for colour in CSS_COLOURS if colour in svg]
    assert svg == draw()
    ids = [set(re.findall(r'\bid="([^"]+)"', one)) for one in (svg, draw("c2"))]
    assert not ids[0] & ids[1]
    assert set() < set(re.findall(r'(?:url\(|href=")#([^")]+)', svg)) <= ids[0]
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]+"', "", svg)


def test_many_turns_leave_room_between_their_labels() -> None:
    found = {"base": points("base", dict.fromkeys(range(1, 51), 0.5))}
    labels = re.findall(r">(\d+)</text>", chart(found, ("base",), PANEL, "c", "x"))
    assert {"1", "50"} < set(labels)
    assert len(labels) < 19


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


def test_the_colours_are_the_pages_own() -> None:
    css = (Path(report_page.__file__).parent / "assets" / "base.css").read_text(encoding="utf-8")
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", css[: css.index("@media")]))
    assert {f"var(--{name})": colour for name, colour in found.items()}.items() >= {
        variable: colour for colour, variable in CSS_COLOURS.items()
    }.items()


def test_a_picture_stands_alone(tmp_path: Path) -> None:
    curves = Curves.of(fake_results(fake_samples()))
    save_main_chart(tmp_path / "a.pdf", curves, "keeps")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    save_main_chart(tmp_path / "a.svg", curves, "keeps")
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "var(--" not in text
    assert ARMS[0] in text
    assert "GAtt" in text
    with pytest.raises(DataError, match=r"'nothing'.*keeps"):
        save_main_chart(tmp_path / "a.png", curves, "nothing")


def test_panels_are_the_curves_that_the_first_chart_does_not_show(run_results) -> None:
    found = panels(Curves.of(run_results))
    assert [title for title, _ in found] == [
        "Keeps the instruction, unseen value", "Probe recall, seen",
    ]  # fmt: skip


def test_the_picture_of_a_change_counts_from_it(tmp_path: Path) -> None:
    changed = {"leak": "fail", "ended": instruction("figure", "Napoleon")}
    made = [sample(turn=9 + n, since_switch=n, since_end=n, **changed) for n in (0, 1, 4)]
    results = fake_results(made)
    # An earlier version had other names for its metrics.
    for point in results["curves"]:
        point["metric"] = point["metric"].replace("keeps", "adherence")
    write_run(tmp_path / "run", made, results)
    (run,) = read_runs([str(tmp_path / "run")])
    for metric, axis in (("leakage", "turns since the change"), ("keeps", "turn, log scale")):
        save_main_chart(tmp_path / "curve.svg", Curves.of(run.results), metric)
        assert axis in (tmp_path / "curve.svg").read_text(encoding="utf-8")
