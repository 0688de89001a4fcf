from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest

from gatt.comb.collator import GattCollator
from gatt.comb.comb import IGNORE
from gatt.data.dialogue import Dialogue, Message
from gatt.data.sample import GattSample
from gatt.data.switches import Switch
from gatt.errors import ConfigError, TrainingError
from gatt.train.data.labels import build_combs
from gatt.train.data.report import RowReport, reason_of
from gatt.train.data.rows import row_lengths
from tests.support.models.built_rows import build, packable, recurrent
from tests.support.models.combs import combs_of
from tests.support.models.tiny import (
    CHATML,
    NO_SYSTEM,
    REWRITING,
    instruction,
    sample,
    tiny_tokenizer,
)
from tests.support.runs.switched import cancel, switched, to


def test_rows_are_the_combs_of_the_samples() -> None:
    samples = [sample(1, 3), sample(2, 1)]
    rows, report = build(samples)
    combs = [build_combs(tiny_tokenizer(), s).parts[0].comb for s in samples]
    assert [combs_of(row)[0] for row in rows] == combs
    assert report.layout == "comb"
    assert (report.num_samples, report.num_used, report.num_rows) == (2, 2, 2)
    assert report.num_targets == 4
    assert report.num_tokens == sum(c.num_tokens for c in combs)
    assert report.num_supervised_tokens == sum(len(b.input_ids) for c in combs for b in c.branches)
    assert dict(report.kinds) == {"sampled": 4}
    assert dict(report.families) == {"language": 2}
    assert not report.dropped


@pytest.mark.parametrize(
    ("num_samples", "world_size", "batch", "accumulation", "padding"),
    [(5, 1, 1, 1, 0), (5, 2, 2, 2, 3), (1, 1, 1, 8, 7)],
)
def test_an_epoch_is_a_whole_number_of_steps(
    num_samples: int, world_size: int, batch: int, accumulation: int, padding: int
) -> None:
    rows, report = build(
        [sample(i, 1) for i in range(num_samples)],
        world_size=world_size,
        per_device_train_batch_size=batch,
        gradient_accumulation_steps=accumulation,
    )
    assert (report.num_rows, report.num_padding_rows) == (num_samples, padding)
    assert [combs_of(r)[0].num_supervised > 0 for r in rows] == (
        [True] * num_samples + [False] * padding
    )


@pytest.mark.parametrize("settings", [{"pack_rows": True}, {"objective": "distil"}])
def test_the_lengths_of_rows_are_known_without_reading_them(settings: dict[str, Any]) -> None:
    samples = [sample(1, 3), sample(2, 1), sample(3, 2)]
    rows, report = build(samples, gradient_accumulation_steps=4, **settings)
    assert report.num_padding_rows
    sizes = [GattCollator(0)([row])["input_ids"].numel() for row in rows]
    assert row_lengths(rows) == sizes


@pytest.mark.parametrize(
    ("template", "why_not_packable", "why"),
    [
        (REWRITING, packable, "turns cannot share a trunk: the chat template rewrites earlier"),
        (CHATML, recurrent, "the model cannot take packed rows: it has recurrent layers"),
    ],
)
def test_what_cannot_share_a_trunk_falls_back_to_expanded_rows_or_is_refused(
    template: str, why_not_packable: Any, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"why_not_packable": why_not_packable, "pack_rows": True}
    rows, report = build([sample(1, 3)], template, **settings)
    assert (report.layout, report.num_rows) == ("expanded", 3)
    assert all(not comb.branches for row in rows for comb in combs_of(row))
    fallback, ignored = (r.getMessage() for r in caplog.records if r.levelno == logging.WARNING)
    assert "'expanded' (one row a turn) instead of 'comb'" in fallback
    assert why in fallback
    assert "pack_rows is ignored: layout 'expanded' has one turn a row" in ignored
    with pytest.raises(ConfigError, match=f"layout 'comb': {why}"):
        build([sample(1, 3)], template, layout="comb", **settings)


def test_a_system_message_that_the_template_cannot_show_is_not_lost_silently() -> None:
    one = sample(1, 1)
    own = Dialogue("d", (Message("system", "Be kind."), *one.dialogue.messages))
    with_system = GattSample("own", own, one.instruction, one.targets)
    rows, report = build([with_system, sample(2, 1)], NO_SYSTEM)
    assert dict(report.dropped) == {"a system message, which the chat template does not take": 1}
    text = tiny_tokenizer(NO_SYSTEM).decode(combs_of(rows[0])[0].trunk)
    assert text.startswith("<|im_start|>user\nAlways answer in French.\n\nWhat is the sea")


def test_mixed_placement_and_history_are_drawn_by_seed_and_id() -> None:
    samples = [sample(i, 2) for i in range(24)]
    found = []
    for seed in (0, 0, 1):
        rows, _ = build(samples, history="mixed", placement="mixed", seed=seed)
        combs = [combs_of(row)[0] for row in rows]
        texts = [tiny_tokenizer().decode(comb.trunk) for comb in combs]
        found.append(
            ([not c.branches for c in combs], [t.startswith("<|im_start|>system") for t in texts])
        )
    assert found[0] == found[1]
    for once, other in zip(found[0], found[2], strict=True):
        assert once != other
        assert 4 < sum(once) < 20
    assert found[0][0] != found[0][1]


@pytest.mark.parametrize("layout", ["comb", "expanded"])
def test_without_history_each_target_is_a_row_written_out_behind_its_instruction(layout) -> None:
    tokenizer = tiny_tokenizer()
    told = switched([to("chess", 2, "system"), cancel(3)])
    rows, report = build(
        [told, sample(1, 2, targets=[None, "Oui."])], history="none", layout=layout
    )
    assert (report.num_targets, report.num_rows, dict(report.dropped)) == (4, 4, {})
    users = [*told.dialogue.user_turns, sample(1, 2).dialogue.user_turns[1]]
    systems = ["You enjoy tennis.", "You enjoy chess.", None, "Always answer in French."]
    replies = [*(t.reply for t in told.targets), "Oui."]
    for row, system, user, reply in zip(rows, systems, users, replies, strict=False):
        ((ids, labels),) = [(comb.trunk, comb.trunk_labels) for comb in combs_of(row)]
        prompt = f"<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n"
        if system:
            prompt = f"<|im_start|>system\n{system}<|im_end|>\n{prompt}"
        read = tokenizer(prompt, add_special_tokens=False)["input_ids"]
        learned = tokenizer(f"{reply}<|im_end|>", add_special_tokens=False)["input_ids"]
        assert list(ids) == [*read, *learned]
        assert list(labels) == [*[IGNORE] * len(read), *learned]


@pytest.mark.parametrize("layout", ["comb", "expanded"])
def test_with_both_histories_each_target_is_learned_in_its_dialogue_and_alone(layout) -> None:
    samples = [
        switched([to("chess", 2, "system"), cancel(3)]),
        sample(1, 2, targets=[None, "Oui."]),
    ]

    def learned(history: str) -> tuple[list[str], RowReport]:
        rows, report = build(samples, history=history, layout=layout)
        return sorted(repr(comb) for row in rows for comb in combs_of(row)), report

    (both, report), (whole, _), (alone, _) = map(learned, ("both", "reference", "none"))
    assert both == sorted(whole + alone)
    assert (report.num_samples, report.num_targets, dict(report.dropped)) == (2, 4, {})


@pytest.mark.parametrize("history", ["none", "both"])
def test_a_target_that_cannot_be_learned_alone_is_counted_once_and_as_of_its_dialogue(
    history: str, caplog: pytest.LogCaptureFixture
) -> None:
    _, report = build([sample(1, 3, targets=["Oui.", "a<|im_end|>b", "Non."])], history=history)
    assert report.num_targets == 2
    assert sum(report.dropped.values()) == 1
    assert "/2" not in caplog.text
    assert "turn 2" in caplog.text


def test_only_the_first_turns_are_trained_on_where_that_is_asked() -> None:
    samples = [sample(1, 5), sample(2, 2)]
    (whole, same), (cut, short) = (
        [combs_of(row)[0] for row in build(samples, max_turns=most)[0]] for most in (None, 3)
    )
    assert len(cut.branches) == 3
    assert short == same
    assert whole.trunk[: len(cut.trunk)] == cut.trunk


def test_the_control_keeps_the_instruction_on_every_turn() -> None:
    rows, _ = build([sample(3, 4)], NO_SYSTEM, placement="every_turn")
    trunk = tiny_tokenizer().decode(combs_of(rows[0])[0].trunk)
    assert trunk.count("Always answer in French.") == 4


def test_what_is_left_out_is_counted_by_reason(caplog: pytest.LogCaptureFixture) -> None:
    _, report = build(
        [
            sample(1, 2),
            sample(2, 2, targets=[None, None]),
            sample(3, 2, targets=[None, None]),
            sample(4, 2, targets=["Oui <|im_end|> non.", "Oui."]),
        ]
    )
    assert (report.num_samples, report.num_used, report.num_targets) == (4, 2, 3)
    assert report.dropped["no turn has a target reply"] == 2
    assert sum(report.dropped.values()) == 3
    assert "dropped 2: no turn has a target reply (first: sample 's-2'" in caplog.text


def test_the_length_policy_is_counted_and_named(caplog: pytest.LogCaptureFixture) -> None:
    samples = [sample(2, 1), sample(1, 4), sample(3, 4)]
    _, report = build(samples, max_length=170, max_tokens_per_row=500)
    assert report.num_exchanges_dropped > 0
    assert report.num_used == 3
    assert f"max_length 170: 2 samples lost {report.num_exchanges_dropped} exchanges" in caplog.text


@pytest.mark.parametrize(
    ("num_bad", "allowed", "is_refused"),
    [(2, 0.5, False), (3, 0.5, True), (3, 1.0, False), (1, 0.0, True)],
)
def test_a_run_that_would_lose_more_targets_than_it_may_stops(num_bad, allowed, is_refused) -> None:
    bad = [
        sample(2, 1, targets=["Non <|im_start|>."]),
        sample(4, 1, targets=["Oui. " * 200]),
        sample(5, 1, targets=["<|im_start|>"]),
    ]
    samples = [sample(1, 2), sample(6, 1, targets=[None]), *bad[:num_bad]]
    settings = {"max_length": 300, "max_lost_targets": allowed}
    if not is_refused:
        assert build(samples, **settings)[1].num_targets == 2
        return
    with pytest.raises(TrainingError, match=f"{num_bad} of {num_bad + 2} targets.*control token"):
        build(samples, **settings)


NOTHING_TO_LEARN = (
    "no reply of its own before its last target that supervise 'context_only' could train on"
)


@pytest.mark.parametrize(
    ("template", "layout", "supervised"),
    [
        # The rows of `last_turn`: without loss they keep the steps of the control the same.
        (CHATML, "comb", [False, True, False]),
        # All own replies of the sample in one row.
        (CHATML, "expanded", [True]),
        (REWRITING, "auto", [True, True]),
    ],
)
def test_a_sample_without_a_token_to_learn_is_counted_alike_in_all_layouts(
    template: str, layout: str, supervised: list[bool], caplog: pytest.LogCaptureFixture
) -> None:
    samples = [sample(1, 3, targets=["Oui.", None, None]), sample(2, 3), sample(3, 1)]
    rows, report = build(samples, template, layout=layout, supervise="context_only")
    assert dict(report.dropped) == {NOTHING_TO_LEARN: 2}
    assert (report.num_samples, report.num_used, report.num_targets) == (3, 1, 3)
    assert [combs_of(row)[0].num_supervised > 0 for row in rows] == supervised
    assert report.num_rows == len(supervised)
    assert dict(report.families) == {"language": 1}
    assert f"dropped 2: {NOTHING_TO_LEARN} (first: sample 's-1'" in caplog.text
    with pytest.raises(
        TrainingError, match=rf"no sample left of 1 \(dropped 1: {NOTHING_TO_LEARN}"
    ):
        build([sample(1, 1)], template, layout=layout, supervise="context_only")


def test_reasons_leave_out_where_and_how_many() -> None:
    one = replace(sample(1, 1), id="Movie: The a-1")
    told = f"sample {one.id!r}: 300 tokens with turn 1 alone, more than max_length 200: raise it"
    alone = "N tokens with turn N alone, more than max_length N"
    assert reason_of(told, one) == (told, alone)
    turn = "dialogue 'd-1', turn 3: the target reply is blank: expected some text"
    assert reason_of(turn, one) == (turn, "the target reply is blank")
    # What does not say where gets the sample's name.
    assert reason_of("bare: do this", one) == ("sample 'Movie: The a-1': bare: do this", "bare")


def test_sampled_history_keeps_own_replies_where_there_is_no_target() -> None:
    rows, _ = build([sample(1, 3, targets=[None, "Oui.", "Non."])], history="sampled")
    (comb,) = combs_of(rows[0])
    assert not comb.branches
    decode = tiny_tokenizer().decode
    assert "It is quiet and long there.<|im_end|>" in decode(comb.trunk)
    labelled = decode([i for i in comb.trunk_labels if i != IGNORE])
    assert labelled == "Oui.<|im_end|>Non.<|im_end|>"


def test_plain_dialogues_by_kl_carry_loss_on_targets_and_own_replies() -> None:
    told, plain = sample(1, 3), sample(2, 3, is_plain=True)
    rows, report = build([told, plain], plain_loss="kl")
    first, second = (combs_of(row)[0] for row in rows)
    tokenizer = tiny_tokenizer()
    assert first == build_combs(tokenizer, told).parts[0].comb
    whole = build_combs(tokenizer, plain, supervise="all_turns", objective="kl").parts[0].comb
    assert second == whole
    assert report.objectives["kl"] == whole.num_supervised
    assert report.num_supervised_tokens == first.num_supervised + whole.num_supervised
    assert build([told, plain])[1].objectives["kl"] == 0
    # One that gets an instruction later is not plain.
    switch = Switch(2, "add", "user", "Speak French.", instruction())
    assert build([replace(plain, switches=(switch,))], plain_loss="kl")[1].objectives["kl"] == 0


def test_entries_whose_targets_are_not_learned_are_not_trained_on() -> None:
    silent, long = switched((to("golf", 2), to("chess", 3)), 4), switched((to("golf", 2),), 2)
    rejected = replace(silent.targets[0], reply=None, kind=None, reason="rejected")
    too_long = replace(long.targets[1], reply="Golf. " * 400)
    for one, targets, settings, entry in (
        (silent, (rejected, *silent.targets[1:]), {"max_turns": 2}, "hobby.golf"),
        (long, (long.targets[0], too_long), {"max_length": 300}, "hobby.tennis"),
    ):
        assert set(build([replace(one, targets=targets)], **settings)[1].entries) == {entry}
