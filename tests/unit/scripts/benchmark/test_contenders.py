"""The benchmark's contenders have the same targets; `tests/integration/test_benchmarks` measures them."""

from __future__ import annotations

from pathlib import Path

from benchmark.contenders import Setting, contenders
from benchmark.flops import work_of

from tests.support.models.tiny import tiny_tokenizer

SETTING = Setting(
    model="random-llama:tiny", device="cpu", turns=4, exchange_tokens=60, reply_tokens=20, steps=1,
    batch_sizes=(1, 3), max_tokens_per_row=(560,),
)  # fmt: skip


def test_contenders_have_the_same_targets(tmp_path: Path) -> None:
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
