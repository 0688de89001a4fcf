"""Rows of dialogues without an instruction that are learned by the KL divergence."""

from __future__ import annotations

from dataclasses import replace

from gatt.data.switches import Switch
from gatt.train.data.labels import build_combs
from tests.support.models.built_rows import build
from tests.support.models.combs_of_rows import combs_of
from tests.support.models.tiny import instruction, sample, tiny_tokenizer


def test_plain_dialogues_by_kl_carry_loss_on_targets_and_own_replies() -> None:
    told, plain = sample(1, 3), sample(2, 3, is_plain=True)
    rows, report = build([told, plain], plain_loss="kl")
    first, second = (combs_of(row)[0] for row in rows)
    tokenizer = tiny_tokenizer()
    assert first == build_combs(tokenizer, told).parts[0].comb
    whole = build_combs(tokenizer, plain, supervise="all_turns").parts[0].comb
    assert second == replace(whole, by_kl=True)
    assert report.num_kl_tokens == whole.num_supervised
    assert report.num_supervised_tokens == first.num_supervised + whole.num_supervised
    assert build([told, plain])[1].num_kl_tokens == 0


def test_by_kl_with_a_sampled_history_each_token_counts_once() -> None:
    plain = sample(2, 3, is_plain=True)
    rows, _ = build([plain, sample(3)], plain_loss="kl", history="sampled")
    (by_kl,) = combs_of(rows[0])
    (row,), _ = build([plain], history="sampled")
    assert by_kl == replace(combs_of(row)[0], by_kl=True)


def test_by_kl_in_rows_of_their_own_and_beside_a_control() -> None:
    samples = [sample(1, 3), sample(2, 3, is_plain=True)]
    rows, _ = build(samples, plain_loss="kl", layout="expanded", supervise="context_only")
    combs = [combs_of(row)[0] for row in rows]
    # One row of the control's own replies; the plain dialogue's three targets, and one of its replies.
    assert sorted(c.by_kl for c in combs) == [False, True, True, True, True]


def test_a_dialogue_that_gets_an_instruction_later_is_not_plain() -> None:
    told = Switch(2, "add", "user", "Speak French.", instruction())
    later = replace(sample(1, 3, is_plain=True), switches=(told,))
    assert not later.is_plain
    (row,), report = build([later], plain_loss="kl")
    assert not combs_of(row)[0].by_kl
    assert report.num_kl_tokens == 0
