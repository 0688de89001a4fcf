"""The section on attention and its picture, from made-up figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.report.charts.curves import attention_svg, save_attention_chart
from eval.report.data.runs import read_attention
from eval.report.page.render import attention_section, render_attention
from gatt.errors import ConfigError, DataError
from tests.support.texts.doc_pages import ROOT

ARMS = ("base", "gatt")
TURNS = (1, 2, 4, 8, 16, 20, 40)


def figures(low: float | None = 0.01) -> dict[str, Any]:
    """Return what an `attention.json` holds."""
    curves = [
        {
            "arm": arm, "turn": turn, "metric": "mass", "value": value / turn, "low": low,
            "high": low and 0.4, "num_dialogues": 5,
        }
        for arm, value in (("base", 0.1), ("gatt", 0.2))
        for turn in TURNS
    ]  # fmt: skip
    fall = {
        "arm": "gatt", "hidden": "instruction", "num_pairs": 8, "num_undecided": 1, "num_replies": 9,
        "num_changed": 7, "intact": 0.75, "unsighted": 0.125, "fall": 0.625, "low": 0.1, "high": 0.9,
    }  # fmt: skip
    nothing = dict.fromkeys(("intact", "unsighted", "fall", "low", "high"))
    return {
        "schema": 1, "run": {"name": "r", "command": ["gatt", "attend"]}, "arms": list(ARMS),
        "history": "reference", "num_dialogues": 5, "num_layers": 2, "num_heads": 2,
        "curves": curves,
        "unsighted": {"falls": [fall, fall | nothing | {"arm": "base", "num_pairs": 0}]},
        "dropped": {"no <instruction>": 2},
    }  # fmt: skip


def test_the_picture_is_in_the_colours_of_the_page_and_its_file_has_fixed_bytes(
    tmp_path: Path,
) -> None:
    # The adapter's arm is the third of the page, and looks like it.
    svg = attention_svg(figures(), ("base", "base+reminder", "gatt"))
    assert "var(--arm-2)" in svg
    assert "var(--arm-1)" not in svg
    paths = [tmp_path / "sub" / "a.svg", tmp_path / "a.svg"]
    for path in paths:
        save_attention_chart(path, figures())
    assert len({path.read_bytes() for path in paths}) == 1
    save_attention_chart(tmp_path / "a.png", figures(low=None))
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ConfigError, match=r"a\.jpeg"):
        save_attention_chart(tmp_path / "a.jpeg", figures())


def test_the_section_holds_conclusion_and_numbers_and_escapes_text(tmp_path: Path) -> None:
    section = attention_section(figures(), ("base",))
    share, fall = section["tables"]
    assert share.heads == ("arm", *(f"turn {t}" for t in (1, 2, 4, 16, 20, 40)))
    assert share.rows[1][1].joined() == "20.00 [1.00, 40.00]"
    assert [cells[4].joined() for cells in fall.rows] == ["+62 [10, 90]", "–"]
    low = attention_section(figures(low=-0.5), ARMS)["tables"][0]
    assert low.rows[0][1].interval == "[−50.00, 40.00]"
    # Kept: 12 of 100 replies, 75 with everything in sight; at turn 20 0.2 / 20 and 0.1 / 20 of attention.
    for fact in ("in 12 of 100", "in 75", "[10, 90]", "turn 20", "1.0 %", "0.5 %"):
        assert fact in section["conclusion"]
    render_attention(figures(), tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert section["conclusion"] in page
    assert "2 (no &lt;instruction&gt;)" in page
    assert "<script" not in page


def test_a_published_file_of_an_older_version_is_still_shown(tmp_path: Path) -> None:
    data = read_attention(ROOT / "results" / "attend")["attention"]
    render_attention(data, tmp_path / "a.html")
    assert data["maps"]
    assert "<svg" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_a_file_that_is_none_is_one_line(tmp_path: Path) -> None:
    assert read_attention(tmp_path) == {}
    path = tmp_path / "attention.json"
    for text, message in (
        ("{", r"attention\.json: .*gatt attend"),
        ('{"schema": 9}', r"9: expected 1"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=message):
            read_attention(tmp_path)
    path.write_text(json.dumps(figures()), encoding="utf-8")
    assert read_attention(tmp_path) == {"attention": figures()}
