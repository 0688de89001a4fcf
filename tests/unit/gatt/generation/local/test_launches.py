"""Launches and waits a token of decoding on CUDA, counted on a CPU; a replayed step is one launch."""

from __future__ import annotations

import torch
from bench_launches import counted, narrow_llama
from benchmark.launches import Launches

from gatt.generation.local.dense import STEPS_UNSEEN
from tests.support.models.tiny import tiny_tokenizer


def test_launches_and_waits_are_counted_by_hand() -> None:
    counts = Launches()
    row = torch.ones(4)
    with counts.counting():
        # A sum is launched; the view is not, and the item is waited for.
        assert row.view(2, 2).sum().item() == 4
        assert (row + 1).tolist() == [2.0] * 4
    assert (counts.num_launches, counts.num_waits) == (3, 2)


def test_decoding_on_cuda_launches_a_third_and_waits_once_in_eight_tokens() -> None:
    tokenizer = tiny_tokenizer()
    found = counted(narrow_llama(len(tokenizer), 2), tokenizer)
    padded, shared, greedy, looking, drawn = found.values()
    # A token is drawn and handed over with its column, and the step is replayed.
    assert 4 <= greedy[0] <= 6
    assert min(padded[0], shared[0]) >= 3 * greedy[0]
    assert greedy[1] == drawn[1] == 1 / STEPS_UNSEEN
    assert looking[1] > 1
    # A vocabulary of some hundred tokens is drawn from as a large one is.
    assert min(padded[0], shared[0]) >= 3 * drawn[0]
