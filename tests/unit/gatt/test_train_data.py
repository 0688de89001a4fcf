from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gatt.chat_template import inspect_template
from gatt.collator import features_to_comb
from gatt.dialogue import Dialogue, Message
from gatt.errors import ConfigError, TemplateError, TrainingError
from gatt.sample import GattSample
from gatt.supervision import build_comb
from gatt.train_config import TrainConfig
from gatt.train_data import RowReport, build_rows, choose_layout, placement_of, reason_of
from tests.support.tiny import CHATML, NO_SYSTEM, REWRITING, sample, tiny_tokenizer

PACKABLE = SimpleNamespace(_attn_implementation="sdpa")
SLIDING = SimpleNamespace(_attn_implementation="sdpa", sliding_window=64)


def make(**changes: Any) -> TrainConfig:
    settings: dict[str, Any] = {"gradient_accumulation_steps": 1, **changes}
    return TrainConfig(samples=(Path("s.jsonl"),), output_dir=Path("out"), **settings)


def build(
    samples: Sequence[GattSample],
    template: str | None = CHATML,
    *,
    model_config: Any = PACKABLE,
    world_size: int = 1,
    **changes: Any,
) -> tuple[Any, RowReport]:
    return build_rows(
        samples, tiny_tokenizer(template), make(**changes),
        model_config=model_config, world_size=world_size,
    )  # fmt: skip


def test_rows_are_the_combs_of_the_samples() -> None:
    samples = [sample(1, 3), sample(2, 1)]
    rows, report = build(samples)
    combs = [build_comb(tiny_tokenizer(), s).comb for s in samples]
    assert [features_to_comb(row) for row in rows] == combs
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
    [(5, 1, 1, 1, 0), (5, 2, 1, 1, 1), (5, 2, 2, 2, 3), (8, 2, 2, 2, 0), (1, 1, 1, 8, 7)],
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
    assert report.num_padding_rows == padding
    assert report.num_rows == num_samples
    assert len(rows) == num_samples + padding
    assert len(rows) % (world_size * batch * accumulation) == 0
    assert [features_to_comb(r).num_supervised > 0 for r in rows] == (
        [True] * num_samples + [False] * padding
    )


def test_a_template_that_rewrites_turns_falls_back_to_expanded_rows(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rows, report = build([sample(1, 3)], REWRITING)
    assert report.layout == "expanded"
    assert report.num_rows == 3
    assert all(not row["forks"] for row in rows)
    assert [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING] == [
        "layout 'expanded' (one row a turn) instead of 'comb': turns cannot share a trunk: the chat "
        "template rewrites earlier turns when a new one comes"
    ]


def test_a_model_that_cannot_be_packed_falls_back_to_expanded_rows(
    caplog: pytest.LogCaptureFixture,
) -> None:
    _, report = build([sample(1, 3)], model_config=SLIDING)
    assert report.layout == "expanded"
    assert "the model cannot take packed rows: its attention has a sliding window" in caplog.text


@pytest.mark.parametrize(
    ("template", "model_config", "message"),
    [
        (REWRITING, PACKABLE, "layout 'comb': turns cannot share a trunk: .*: use layout 'auto'"),
        (CHATML, SLIDING, "layout 'comb': the model cannot take packed rows: .*use layout 'auto'"),
    ],
)
def test_a_forced_comb_is_refused(template: str, model_config: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        choose_layout("comb", inspect_template(tiny_tokenizer(template)), model_config)


def test_a_template_without_system_role_falls_back_to_first_user(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rows, _ = build([sample(1, 1), sample(2, 1)], NO_SYSTEM)
    text = tiny_tokenizer(NO_SYSTEM).decode(rows[0]["trunk"])
    assert text.startswith("<|im_start|>user\nAlways answer in French.\n\nWhat is the sea")
    messages = [r.getMessage() for r in caplog.records]
    assert messages == [
        "placement 'first_user' instead of 'system': the chat template takes no system message"
    ]


def test_a_system_message_that_the_template_cannot_show_is_not_lost_silently() -> None:
    one = sample(1, 1)
    own = Dialogue("d", (Message("system", "Be kind."), *one.dialogue.messages))
    with_system = GattSample("own", own, one.instruction, one.targets)
    _, report = build([with_system, sample(2, 1)], NO_SYSTEM)
    assert dict(report.dropped) == {"a system message, which the chat template does not take": 1}


def test_mixed_placement_is_drawn_by_seed_and_id() -> None:
    drawn = [placement_of("mixed", 0, f"s-{i}") for i in range(200)]
    assert drawn == [placement_of("mixed", 0, f"s-{i}") for i in range(200)]
    assert drawn != [placement_of("mixed", 1, f"s-{i}") for i in range(200)]
    assert 70 < drawn.count("system") < 130
    samples = [sample(i, 1) for i in range(12)]
    rows, _ = build(samples, placement="mixed")
    decode = tiny_tokenizer().decode
    for one, row in zip(samples, rows, strict=True):
        is_system = decode(row["trunk"]).startswith("<|im_start|>system")
        assert is_system == (placement_of("mixed", 0, one.id) == "system")


def test_what_is_left_out_is_counted_by_reason(caplog: pytest.LogCaptureFixture) -> None:
    _, report = build(
        [
            sample(1, 2),
            sample(2, 2, targets=[None, None]),
            sample(3, 2, targets=[None, None]),
            sample(4, 2, targets=["Oui <|im_end|> non.", "Oui."]),
        ]
    )
    assert report.num_samples == 4
    assert report.num_used == 2
    assert report.num_targets == 3
    assert report.dropped["no turn has a target reply"] == 2
    assert sum(report.dropped.values()) == 3
    assert "dropped 2: no turn has a target reply (first: sample 's-2'" in caplog.text


def test_the_length_policy_is_counted() -> None:
    _, report = build([sample(1, 4), sample(2, 1)], max_length=150, max_row_tokens=500)
    assert report.num_exchanges_dropped > 0
    assert report.num_used == 2


def test_a_long_comb_is_split_between_its_turns() -> None:
    whole, _ = build([sample(1, 4)])
    parts, report = build([sample(1, 4)], max_length=300, max_row_tokens=310)
    assert features_to_comb(whole[0]).num_tokens > 310
    combs = [features_to_comb(row) for row in parts]
    assert all(c.num_tokens <= 310 for c in combs)
    assert [b for c in combs for b in c.branches] == list(features_to_comb(whole[0]).branches)
    assert report.num_rows == len(combs) > 1


def test_no_sample_left() -> None:
    with pytest.raises(
        TrainingError,
        match=r"no sample left of 1 \(dropped 1: no turn has a target reply\): loosen",
    ):
        build([sample(1, 1, targets=[None])])


def test_zero_supervised_tokens() -> None:
    with pytest.raises(
        TrainingError, match="no token carries loss in 1 rows with supervise='context_only'"
    ):
        build([sample(1, 1)], supervise="context_only")


def test_no_chat_template() -> None:
    with pytest.raises(TemplateError, match="the tokenizer has no chat template"):
        build([sample(1, 1)], None)


def test_reasons_leave_out_where_and_how_many() -> None:
    found = reason_of(
        "sample 'a-1': 300 tokens with turn 1 alone, more than max_length 200: raise it"
    )
    assert found == "N tokens with turn N alone, more than max_length N"
    assert reason_of("bare") == "bare"


def test_the_report_is_plain_json() -> None:
    _, report = build([sample(1, 1)])
    assert report.as_dict()["families"] == {"language": 1}
    assert type(report.as_dict()["dropped"]) is dict
