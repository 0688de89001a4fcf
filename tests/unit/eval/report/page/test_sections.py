from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.report.charts.curves import panels, save_main_chart
from eval.report.data.headline import headline
from eval.report.data.selection import Curves
from eval.report.page.transcripts import Transcripts, examples
from tests.support.runs.fake_samples import fake_results, sample
from tests.support.texts.doc_pages import ROOT


def test_panels_are_the_curves_that_the_first_chart_does_not_show(
    run_results: dict[str, Any],
) -> None:
    found = panels(Curves.of(run_results))
    assert [title for title, _ in found] == ["Adherence, unseen value", "Probe recall, seen"]


@pytest.mark.parametrize(
    ("statuses", "chosen"),
    [
        # Of GAtt and the base model, dialogue by dialogue; families alternate.
        (["pf", "pf", "pf", "ff"], ["d0", "d1", "d3"]),
        (["ff", "ff", "pf", "pf"], ["d2", "d3", "d0"]),
        (["pp", "pp"], ["d0", "d1"]),
        (["pf"], ["d0"]),
        ([], []),
    ],
)
def test_three_dialogues_are_chosen_by_their_verdicts(
    statuses: list[str], chosen: list[str]
) -> None:
    words = {"p": "pass", "f": "fail"}
    made = [
        sample(arm=arm, dialogue=f"d{n}", turn=8, family=("a", "b")[n % 2], status=words[letter])
        for n, pair in enumerate(statuses)
        for arm, letter in zip(("gatt", "base"), pair, strict=True)
    ]
    curves = Curves.of(fake_results(made))
    found = examples(Transcripts(curves.arms, made).cases, curves, headline(curves))
    assert [e.replies[0].dialogue for e in found] == chosen
    assert {tuple(r.arm for r in e.replies) for e in found} <= {("base", "gatt")}


def test_the_picture_of_a_change_counts_from_it(tmp_path: Path) -> None:
    published = ROOT / "results" / "switch_validation" / "results.json"
    results = json.loads(published.read_text(encoding="utf-8"))
    for metric, axis in (("leakage", "turns since the change"), ("adherence", "turn, log scale")):
        save_main_chart(tmp_path / "curve.svg", Curves.of(results), metric)
        assert axis in (tmp_path / "curve.svg").read_text(encoding="utf-8")
