from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.report.data.headline import headline
from eval.report.data.selection import Curves
from eval.report.page.examples import examples
from eval.report.page.render import shown_notes
from eval.report.page.sections import panels, save_main_chart
from eval.report.page.transcripts import Transcripts
from tests.support.runs.fake_samples import fake_results, sample
from tests.support.texts.doc_pages import ROOT


def test_panels_are_the_curves_that_the_first_chart_does_not_show(
    run_results: dict[str, Any],
) -> None:
    found = panels(Curves.of(run_results))
    assert [p.title for p in found] == ["Adherence, unseen value", "Probe recall, seen"]


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


@pytest.mark.parametrize(("num_kept", "is_shown"), [(0, False), (3, True)])
def test_a_reminder_at_0_is_called_no_upper_bound(num_kept: int, is_shown: bool) -> None:
    made = [
        sample(arm=arm, dialogue=f"d{n}", turn=8, status="pass" if n < num else "fail")
        for arm, num in (("gatt", 5), ("base+reminder", num_kept))
        for n in range(9)
    ]
    curves = Curves.of(fake_results(made))
    note = "base+reminder repeats it; it is meant as an upper bound."
    shown = shown_notes([note, "Another."], curves, headline(curves))
    assert shown == ([note, "Another."] if is_shown else ["Another."])


def test_the_picture_of_a_change_counts_from_it(tmp_path: Path) -> None:
    published = ROOT / "results" / "switch_validation" / "results.json"
    results = json.loads(published.read_text(encoding="utf-8"))
    for metric, axis in (("leakage", "turns since the change"), ("adherence", "turn, log scale")):
        save_main_chart(tmp_path / "curve.svg", results, metric)
        assert axis in (tmp_path / "curve.svg").read_text(encoding="utf-8")
