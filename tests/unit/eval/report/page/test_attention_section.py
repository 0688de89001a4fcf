"""The section on attention and its pictures, from made-up figures."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from eval.report.charts.attention import map_svgs, save_attention_charts, turns_svg
from eval.report.charts.drawing import CSS_COLOURS
from eval.report.data.runs import read_attention
from eval.report.page.render import attention_section, render_attention
from gatt.errors import ConfigError, DataError

ARMS = ("base", "gatt")
TURNS = (1, 2, 4, 8, 16, 20, 40)


def figures(low: float | None = 0.01) -> dict[str, Any]:
    """Return what an `attention.json` holds, with 12 turns in the map and 7 on the curve."""
    parts = ["setup", "instruction", "instruction"] + ["user", "reply"] * 12
    bins = [
        {"start": 8 * n, "end": 8 * n + 8, "part": part, "turn": max(0, (n - 1) // 2)}
        for n, part in enumerate(parts)
    ]
    rows = [
        {"turn": t, "peak": [1.0, 0.5, 0.5, *[0.05 * t] * (2 * t - 1)], "status": status}
        for t, status in enumerate(("pass", "fail", "undecided") * 4, start=1)
    ]
    told = {"dialogue": "d", "instruction": "i", "text": "Speak <French> & Latin."}
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
        "maps": [{"arm": arm, **told, "bins": bins, "rows": rows} for arm in ARMS],
        "unsighted": {"falls": [fall, fall | nothing | {"arm": "base", "num_pairs": 0}]},
        "dropped": {"no <instruction>": 2},
    }  # fmt: skip


def test_pictures_are_elements_in_the_colours_of_the_page() -> None:
    arms = ("base", "base+system+reminder", "gatt")
    maps, turns = map_svgs(figures(), arms), turns_svg(figures(), arms)
    assert len(maps) == 2
    # The adapter's arm is the third of the page, and looks like it.
    for svg in (maps[1], turns):
        ET.fromstring(svg)
        assert "var(--arm-2)" in svg
        assert "var(--arm-1)" not in svg
        assert not [colour for colour in CSS_COLOURS if colour in svg]
    assert "Speak &lt;French&gt; &amp; Latin." in maps[0]
    ids = re.findall(r'\bid="([^"]+)"', "".join([*maps, turns]))
    assert len(ids) == len(set(ids))
    # Small, however many cells it has.
    assert "".join(maps).count("opacity") < 150
    assert len("".join(maps)) < 300_000


def test_files_stand_beside_each_other_with_fixed_bytes(tmp_path: Path) -> None:
    written = save_attention_charts(tmp_path / "sub" / "m.svg", figures())
    assert [path.name for path in written] == ["m.svg", "m-turns.svg"]
    first = [path.read_bytes() for path in written]
    save_attention_charts(tmp_path / "sub" / "m.svg", figures())
    assert first == [path.read_bytes() for path in written]
    (png, *_) = save_attention_charts(tmp_path / "m.png", figures(low=None))
    assert png.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ConfigError, match=r"m\.jpeg"):
        save_attention_charts(tmp_path / "m.jpeg", figures())


def test_the_section_holds_conclusion_and_numbers_and_escapes_text(tmp_path: Path) -> None:
    section = attention_section(figures(), ("base",))
    assert [cells[4].joined() for cells in section["falls"].rows] == ["+62 [10, 90]", "–"]
    # Kept: 12 of 100 replies, 75 with everything in sight; at turn 20 0.2 / 20 and 0.1 / 20 of attention.
    for fact in ("in 12 of 100", "in 75", "[10, 90]", "turn 20", "1.0 %", "0.5 %"):
        assert fact in section["conclusion"]
    render_attention(figures(), tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert section["conclusion"] in page
    assert "2 (no &lt;instruction&gt;)" in page
    assert "“Speak &lt;French&gt; &amp; Latin.”" in page
    assert "Shown is the case that GAtt keeps most often." in page
    assert {"✓ 1", "✗ 2", "? 3", "✓ 10"} <= set(re.findall(r">([✓✗?] \d+)</text>", page))
    assert "<script" not in page


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
