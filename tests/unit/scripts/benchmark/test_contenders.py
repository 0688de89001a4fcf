"""The benchmark's contenders do the same work on the same targets."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmark.contenders import Setting, contenders
from benchmark.flops import work_of
from benchmark.measure import measure

from tests.support.models.tiny import tiny_tokenizer

SETTING = Setting(
    model="random-llama:tiny", device="cpu", turns=4, exchange_tokens=60, reply_tokens=20, steps=2,
    batch_sizes=(1, 3), max_tokens_per_row=(560,),
)  # fmt: skip


def test_contenders_train_the_same_targets_and_measure_alike_but_for_time(tmp_path: Path) -> None:
    found = {c.name: c for c in contenders(SETTING, tiny_tokenizer(), tmp_path)}
    assert list(found) == [
        "comb", "comb cut at 560", "floor", "expanded, batch 1",
        "TRL, batch 1", "TRL, batch 3",
    ]  # fmt: skip
    assert len({sum(row.num_supervised for row in c.rows) for c in found.values()}) == 1
    work = {n: work_of(c.rows, scores_everywhere=c.scores_everywhere) for n, c in found.items()}
    assert work["floor"].num_tokens == work["comb"].num_tokens < work["comb cut at 560"].num_tokens
    assert work["floor"].num_scored == work["comb"].num_scored
    assert work["TRL, batch 1"].num_scored == work["TRL, batch 1"].num_tokens

    results = {
        n: measure(found[n], SETTING, 1)
        for n in ("comb", "comb cut at 560", "expanded, batch 1", "TRL, batch 3")
    }
    comb, trl = results["comb"], results.pop("TRL, batch 3")
    # TRL trains the line break behind each reply as well.
    assert trl["num_supervised"] == comb["num_supervised"] + SETTING.turns
    assert trl["loss"] == pytest.approx(comb["loss"], rel=0.05)
    for result in results.values():
        assert result["loss"] == pytest.approx(comb["loss"], rel=1e-5)
        assert result["num_supervised"] == comb["num_supervised"]
        assert len(result["seconds"]) == 1
