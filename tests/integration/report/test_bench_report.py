"""The benchmark of the report in small: it makes runs, renders them, and reads them in a browser."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from tests.support.texts.browser import running_browser

pytestmark = pytest.mark.integration

SCRIPT = Path(__file__).parents[3] / "scripts" / "bench_report.py"


@pytest.fixture
def bench():
    with running_browser():
        pass
    spec = importlib.util.spec_from_file_location("bench_report", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_size_and_waiting_times_stand_in_the_json(bench, tmp_path, monkeypatch, capsys) -> None:
    path = tmp_path / "out" / "bench.json"
    argv = [
        "bench", "--dialogues", "7", "--turns", "3", "--opens", "2", "--transcripts", "3",
        "--seed", "3", "--json", str(path),
    ]  # fmt: skip
    monkeypatch.setattr(sys, "argv", argv)
    bench.main()
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["settings"]["seed"] == 3
    assert found["provenance"]["commit"]
    apart, arms = found["rows"]
    assert [row["num_dialogues"] for row in found["rows"]] == [7, 3]
    assert [row["num_replies"] for row in found["rows"]] == [21, 27]
    assert [row["num_transcripts"] for row in found["rows"]] == [7, 3]
    for row in (apart, arms):
        assert 0.05 < row["report_mb"] < 1
        assert row["first_screen_ms"]["num"] == 2
        assert row["first_paint_ms"]["median"] <= row["first_screen_ms"]["worst"]
        assert 0 < row["transcript_ms"]["median"] <= row["transcript_ms"]["worst"]
        assert row["transcript_ms"]["num"] == 3
        assert row["search_all_ms"] > 0
        assert row["render_peak_mib"] > 20
    assert "first screen" in capsys.readouterr().out
