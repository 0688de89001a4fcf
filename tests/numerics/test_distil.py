"""`objective: distil` against two full forwards a target: the model without its adapter is the teacher."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.functional import kl_div

from gatt.data.sample import GattSample, with_sampled_history
from gatt.data.views import sampling_view, training_view
from gatt.models.encoded_view import encode_prompt, encode_reply
from gatt.models.load import load_tokenizer
from gatt.train.config import DistilSettings, TrainConfig
from tests.support.models import objective_steps
from tests.support.models.first_step import ready
from tests.support.models.objective_steps import assert_same
from tests.support.models.tiny import randomise, sample

SAMPLES = [sample(1, 4, targets=["Oui.", None, "La mer est calme.", "Non !"]), sample(2, 3)]
NUM_TARGETS = 6


def run_of(folder: Path, template: str, architecture: str, **settings: Any) -> TrainConfig:
    return objective_steps.run_of(
        folder, template, architecture, SAMPLES, objective="distil", **settings
    )


def prompts(
    one: GattSample, config: TrainConfig
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """Yield the prompts of student and teacher, and the reply, of every target.

    The oldest exchanges after the first are dropped from both, until both fit.
    """
    tokenizer = load_tokenizer(config.model)
    if config.history == "sampled":
        one = with_sampled_history(one)
    brief = config.distil.brief
    said = one.instruction.text if brief is None else f"{one.instruction.text} {brief}"
    student = training_view(one.dialogue, one.instruction.text, "first_user")
    teacher = sampling_view(one.dialogue, said)
    for turn, target in enumerate(one.targets, start=1):
        if target.reply is None:
            continue
        reply = target.reply
        most = turn if config.distil.context_turns is None else config.distil.context_turns + 1
        for num_dropped in range(max(turn - 1, 1)):
            turns = [1, *range(2 + num_dropped, turn + 1)] if turn > 1 else [1]
            views = student.only_turns(turns), teacher.only_turns(turns[-most:])
            own, read = (encode_prompt(tokenizer, view, view.num_turns).ids for view in views)
            ids = encode_reply(tokenizer, views[0], len(turns), own, reply)
            if max(len(own), len(read)) + len(ids) <= config.max_length:
                break
        yield own, read, ids


def assert_step_as_written_out(config: TrainConfig) -> None:
    trainer = ready(config)
    expected = written_out(trainer.model, config)
    trainer.model.zero_grad()
    assert expected[0]["distil_kl"] > 0.01
    assert_same(objective_steps.step_of(trainer, ["distil_kl"]), expected)


def written_out(
    model: Any, config: TrainConfig
) -> tuple[dict[str, float], dict[str, torch.Tensor]]:
    """Return loss and gradients of one step, two plain forwards a target."""
    randomise(model, "lora_A", 0.2, seed=2)
    randomise(model)
    total, num_tokens, num_targets = torch.zeros(()), 0, 0
    for own, read, reply in (turn for one in SAMPLES for turn in prompts(one, config)):
        with torch.no_grad(), model.disable_adapter():
            taught = model(torch.tensor([read + reply])).logits[0, len(read) - 1 : -1]
        logits = model(torch.tensor([own + reply])).logits[0, len(own) - 1 : -1]
        pair = [x.log_softmax(-1) for x in (logits, taught)]
        if config.distil.direction == "reverse":
            pair.reverse()
        total = total + kl_div(*pair, reduction="sum", log_target=True)
        num_tokens, num_targets = num_tokens + len(reply), num_targets + 1
    assert num_targets == NUM_TARGETS
    mean = total / num_tokens
    (config.distil.coef * mean).backward()
    gradients = {n: w.grad for n, w in model.named_parameters() if w.grad is not None}
    return {"loss": config.distil.coef * mean.item(), "distil_kl": mean.item()}, gradients


REVERSE = DistilSettings(direction="reverse", context_turns=1)
CONTEXT_FREE = DistilSettings(context_turns=0, brief="Be brief.", coef=0.5)


@pytest.mark.parametrize(
    ("template", "architecture", "settings"),
    [
        ("qwen2_5", "qwen2", DistilSettings(coef=3.0)),
        ("llama3", "llama", REVERSE),
        ("llama3", "gemma2", DistilSettings(direction="reverse")),
        ("qwen2_5", "gemma2", CONTEXT_FREE),
    ],
)
def test_equal_to_two_forwards_a_target(template, architecture, settings, tmp_path) -> None:
    config = run_of(tmp_path, template, architecture, placement="first_user", distil=settings)
    assert_step_as_written_out(config)


@pytest.mark.parametrize(
    "changes",
    [
        # The last of four micro-batches is filled.
        {"layout": "expanded", "gradient_accumulation_steps": 4},
        {"pack_rows": True, "per_device_train_batch_size": 1},
        {"history": "sampled"},
        {"history": "sampled", "distil": CONTEXT_FREE, "pack_rows": True, "per_device_train_batch_size": 1},
        # Rows of a target or two, the last of them behind a shorter history.
        {"max_length": 250, "max_tokens_per_row": 250, "gradient_accumulation_steps": 4},
        {"distil": REVERSE, "max_length": 310, "max_tokens_per_row": 310, "gradient_accumulation_steps": 4},
    ],
)  # fmt: skip
def test_the_same_however_it_is_laid_out(changes, tmp_path, monkeypatch) -> None:
    """With pieces of five tokens, which part every reply, against rows written out."""
    config = run_of(tmp_path, "qwen2_5", "llama", placement="first_user", **changes)
    monkeypatch.setattr("gatt.comb.objectives.base.PIECE", 5 * 400)
    assert_step_as_written_out(config)
