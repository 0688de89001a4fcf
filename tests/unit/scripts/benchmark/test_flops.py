"""The arithmetic of a step, by hand and against the mask and a counter of torch."""

from __future__ import annotations

from collections.abc import Callable

import torch
from benchmark.flops import ModelShape, Work, work_of
from hypothesis import given, settings
from peft import LoraConfig, get_peft_model
from torch.utils.flop_counter import FlopCounterMode

from gatt.comb.comb import IGNORE, Branch, Comb, expand
from tests.support.models.combs import combs, vectors_of
from tests.support.models.tiny import tiny_llama, tiny_tokenizer
from tests.unit.gatt.comb.attention.test_split import geometry_of


def test_work_by_hand() -> None:
    comb = Comb((1, 2, 3, 4), (IGNORE,) * 4, (Branch(2, (5, 6), (5, 6)), Branch(4, (7,), (7,))))
    assert work_of([comb]) == Work(num_tokens=7, num_pairs=10 + (2 * 2 + 3) + (4 + 1), num_scored=3)
    rows = expand(comb)  # 4 and 5 tokens
    assert work_of(rows) == Work(num_tokens=9, num_pairs=10 + 15, num_scored=3)
    assert work_of(rows, scores_everywhere=True).num_scored == 9


@given(comb=combs())
@settings(deadline=None)
def test_pairs_and_scored_positions_are_those_of_the_packed_row(comb) -> None:
    row, work = vectors_of([comb]), work_of([comb])
    assert work.num_tokens == len(row["input_ids"])
    assert work.num_pairs == int(geometry_of([comb]).mask().sum())
    sources = row["source"][row["labels"] != IGNORE].unique()
    assert work.num_scored == len(sources)


def test_operations_are_those_that_torch_counts() -> None:
    """But for attention, which torch counts as a full square."""
    base = tiny_llama(tiny_tokenizer(), tie_word_embeddings=False)
    model = get_peft_model(base, LoraConfig(r=4, target_modules="all-linear"))
    shape, work = ModelShape.of(model), Work(num_tokens=24, num_pairs=0, num_scored=24)
    assert shape.attention == 2 * 4 * 8
    ids = torch.arange(24)[None] % 50

    def products(run: Callable[[], object]) -> int:
        with FlopCounterMode(display=False) as counter:
            run()
        counts = counter.get_flop_counts()["Global"]
        return sum(n for op, n in counts.items() if "attention" not in str(op))

    assert products(lambda: model(input_ids=ids, use_cache=False)) == work.forward_flops(shape)
    both = products(lambda: model(input_ids=ids, use_cache=False).logits.sum().backward())
    # The first layer's input needs no gradient: of seven matrices, three take it there.
    assert 0.85 * work.flops(shape) < both <= work.flops(shape)
    # Of attention: two products forward, four back, each over all pairs.
    pairs = Work(num_tokens=0, num_pairs=7, num_scored=0)
    shape = ModelShape(linear=0, adapter=0, head=0, attention=16)
    assert 3 * pairs.forward_flops(shape) == pairs.flops(shape) == 7 * 12 * 16
