"""The figures under `results/` are those of the replies beside them, counted again; so are the pages'."""

from __future__ import annotations

import json
import lzma
import runpy
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import publish
import pytest
from benchmark.flops import work_of

from eval.metrics.ability import ABLE, UNABLE
from eval.report.data.runs import EARLIER_NAMES
from gatt.stages.plan import DECODE_SHARE, DENSE_SHARE
from tests.support.texts.doc_pages import ROOT

SCRIPT = ROOT / "scripts" / "research" / "scaling_costs.py"
PAGE = ROOT / "docs" / "scaling.md"
PACKED = sorted((ROOT / "results").glob("**/samples.jsonl.xz"))


def readings(sample: dict[str, Any]) -> Iterator[tuple[str, int, str, str, str]]:
    """Yield metric, turn, status, family and split of whatever a reply counts for."""
    status, turn = sample["status"], sample["turn"]
    of = (sample["family"], sample["split"])
    if sample["kind"] == "probe":
        yield "probe_recall", turn, status, *of
        return
    if sample.get("completion") is not None:
        yield "task_completion", turn, sample["completion"]["status"], *of
    if sample["instruction"] is None:
        yield "false_trigger", turn, status, *of
    elif sample["expected"] == "kept":
        yield "keeps", turn, status, *of
        if sample.get("answer") is not None:
            answers = sample["answer"]["status"]
            both = {status, answers}
            worst = next((s for s in ("fail", "undecided") if s in both), "pass")
            if sample["asks"] == "told":
                yield "told", turn, worst, *of
            else:
                yield from (("answers", turn, answers, *of), ("joint", turn, worst, *of))
        if sample.get("since_switch") is not None:
            yield "keeps_since_switch", sample["since_switch"], status, *of
    if sample.get("leak") is not None:
        old, since = sample["ended"], sample["since_end"]
        yield "leakage", since, sample["leak"], "+".join(old["families"]), old["split"]


@pytest.mark.parametrize("path", PACKED, ids=lambda p: str(p.parent.relative_to(ROOT / "results")))
def test_the_replies_give_the_published_counts(path: Path) -> None:
    found: Counter[tuple[object, ...]] = Counter()
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for sample in map(json.loads, lines):
            for metric, turn, status, family, split in readings(sample):
                where = (sample["arm"], sample["history"], metric, turn)
                found.update(
                    (*where, f, s, status) for f in ("all", family) for s in ("all", split)
                )
    results = json.loads((path.parent / "results.json").read_text(encoding="utf-8"))
    counted = {key[2] for key in found}
    num = 0
    for curve in results["curves"]:
        curve["metric"] = EARLIER_NAMES.get(curve["metric"], curve["metric"])
        # Which instructions the model keeps alone is found from all replies together, not from one.
        if curve["metric"] not in counted or curve["split"] in (ABLE, UNABLE):
            continue
        where = [curve[k] for k in ("arm", "history", "metric", "turn", "family", "split")]
        passed, failed, undecided = (found[*where, s] for s in ("pass", "fail", "undecided"))
        published = [curve[k] for k in ("num_passed", "num_decided", "num_undecided")]
        assert published == [passed, passed + failed, undecided], where
        num += 1
    # At least one turn of each arm: in all, of a family, of a split, of both.
    assert num >= 4 * len({arm for arm, *_ in found})


def test_no_published_table_is_stale(monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["publish.py", "--check"])
    assert (publish.main(), capsys.readouterr().out) == (0, "")


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_the_page_is_what_the_script_writes(script, tmp_path: Path, monkeypatch) -> None:
    copy = tmp_path / "scaling.md"
    text = PAGE.read_text(encoding="utf-8")
    begin = text.index(script["BEGIN"]) + len(script["BEGIN"])
    copy.write_text(text[:begin] + text[text.index(script["END"]) :], encoding="utf-8")
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--write", str(copy)])
    script["main"]()
    assert copy.read_text(encoding="utf-8") == text


def test_a_plan_takes_the_shares_that_were_measured(script) -> None:
    assert script["shares"]() == pytest.approx((DENSE_SHARE, DECODE_SHARE), rel=0.02)


def test_operations_are_those_of_the_benchmark(script) -> None:
    """The benchmark counted its own rows with the real model; here both are rebuilt from sizes."""
    found, exchange_tokens = script["measured"]()
    comb = found.comb(exchange_tokens)
    file = ROOT / "results" / "training" / "turns_20.json"
    rows = {row["name"]: row for row in json.loads(file.read_text())["contenders"]}
    assert work_of([comb]).num_tokens == rows["comb"]["tokens"]
    counted = script["operations"](comb, script["shape_of"](script["MODELS"]["135M"]))
    assert counted.training == pytest.approx(rows["comb"]["tflop"], rel=2e-3)
    rows_tflop = rows["expanded, batch 1"]["tflop"]
    assert counted.training_as_rows == pytest.approx(rows_tflop, rel=2e-3)
    # Weights are 6.74 and 69 billion, of which the embedding computes nothing.
    assert script["shape_of"](script["MODELS"]["7B"]).linear == 32 * (
        4 * 4096**2 + 3 * 4096 * 11008
    )
