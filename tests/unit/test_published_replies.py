"""The figures under `results/` are those of the replies that stand beside them, counted again."""

from __future__ import annotations

import json
import lzma
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.texts.doc_pages import ROOT

PACKED = sorted((ROOT / "results").glob("**/samples.jsonl.xz"))


def readings(sample: dict[str, Any]) -> Iterator[tuple[str, int, str, str, str]]:
    """Yield metric, turn, status, family and split of whatever a reply counts for."""
    status, turn = sample["status"], sample["turn"]
    of = (sample["family"], sample["split"])
    if sample["kind"] == "probe":
        yield "probe_recall", turn, status, *of
        return
    if sample["completion"] is not None:
        yield "task_completion", turn, sample["completion"]["status"], *of
    if sample["instruction"] is None:
        yield "false_trigger", turn, status, *of
    elif sample["expected"] == "kept":
        yield "adherence", turn, status, *of
        if sample.get("since_switch") is not None:
            yield "adherence_since_switch", sample["since_switch"], status, *of
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
        if curve["metric"] not in counted or curve["turn"] is None:
            continue
        where = [curve[k] for k in ("arm", "history", "metric", "turn", "family", "split")]
        passed, failed, undecided = (found[*where, s] for s in ("pass", "fail", "undecided"))
        published = [curve[k] for k in ("num_passed", "num_decided", "num_undecided")]
        assert published == [passed, passed + failed, undecided], where
        num += 1
    assert num >= 16
