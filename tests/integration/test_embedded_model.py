"""The embedded model: what holds for tiny models must hold for a real one, a weak judge among them."""

from __future__ import annotations

import copy
import os
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model

from eval.scoring.judge.config import JudgeConfig
from eval.scoring.judge.question import REMOVED_MARKER, RUBRIC_VERSION, questions
from eval.scoring.judge.run import judge_samples
from gatt.comb.attention.backend import enable_comb_attention
from gatt.comb.collator import GattCollator, combs_to_features
from gatt.comb.comb import expand
from gatt.comb.loss import supervised_logits
from gatt.comb.objectives.base import cross_entropy
from gatt.data.dialogue import Message
from gatt.generation.local.engine import TransformersEngine
from gatt.models.chat_template import encode
from gatt.models.control_tokens import control_tokens
from gatt.models.load import LoadedModel, load_model
from gatt.models.packaged import EMBEDDED
from gatt.models.template_facts import inspect_template
from gatt.train.data.labels import build_combs
from tests.support.models.greedy import agreement, random_requests
from tests.support.models.tiny import sample
from tests.support.runs import judged
from tests.support.texts.coaxing_replies import COAXING

pytestmark = pytest.mark.integration

CONFIG = JudgeConfig(max_new_tokens=48, batch_size=4)


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    pytest.importorskip("gguf")
    return load_model(EMBEDDED)


def test_template_takes_a_system_message_and_keeps_prefixes(loaded: LoadedModel) -> None:
    facts = inspect_template(loaded.tokenizer)
    assert (facts.has_system, facts.is_prefix_preserving, facts.note) == (True, True, "")


@pytest.mark.parametrize("has_adapter", [False, True], ids=["base", "adapter"])
def test_greedy_replies_equal_generate_on_single_prompts(loaded, has_adapter) -> None:
    """`GREEDY_PROMPTS=100` asks as many as tests/numerics does of tiny models (minutes)."""
    model = loaded.model
    if has_adapter:
        torch.manual_seed(0)
        config = LoraConfig(r=8, target_modules="all-linear", init_lora_weights=False)
        model = get_peft_model(copy.deepcopy(model), config, "wild").eval()
    requests = random_requests(int(os.environ.get("GREEDY_PROMPTS", "16")))
    engine = TransformersEngine(LoadedModel(model, loaded.tokenizer, loaded.name))
    found = agreement(engine, model, requests, 16, "wild" if has_adapter else None)
    assert engine.counters.num_encoded_tokens < engine.counters.num_prompt_tokens / 2
    assert found.share >= 0.99, found
    assert found.largest_gap <= 1e-4, found
    assert found.num_replies > 1, found
    print(found)  # noqa: T201 - shown with `pytest -rP`, for a note


def test_comb_loss_equals_that_of_the_rows_written_out(loaded: LoadedModel) -> None:
    (part,) = build_combs(loaded.tokenizer, sample(1)).parts
    comb = part.comb
    rows = expand(comb)
    pad = loaded.tokenizer.pad_token_id
    with torch.no_grad():
        packed = GattCollator(pad)([combs_to_features([comb])])
        padded = GattCollator(pad, "expanded")([combs_to_features([row]) for row in rows])
        written_out = cross_entropy(*supervised_logits(loaded.model, padded)).item()
        enable_comb_attention(loaded.model)
        ours = cross_entropy(*supervised_logits(loaded.model, packed)).item()
    loaded.model.set_attn_implementation("sdpa")
    assert len(rows) == 3
    assert ours == pytest.approx(written_out, rel=1e-5)


def test_verdicts_repeat_and_share_the_rubric(loaded: LoadedModel, tmp_path: Path) -> None:
    samples = [
        judged.sample(dialogue=f"d{number}", reply=reply)
        for number, reply in enumerate(["I played tennis.", "I like tea.", *COAXING.values()][:6])
    ]
    engine = TransformersEngine(loaded)
    first = judge_samples(samples, CONFIG, tmp_path / "one.jsonl", lambda: engine)
    assert [(v.verifier, v.version) for v in first.values()] == [("judge", RUBRIC_VERSION)] * 6
    missing = [v for v in first.values() if v.status == "undecided"]
    assert all(v.evidence.startswith("no verdict: ") for v in missing)
    assert engine.counters.num_encoded_tokens < 0.7 * engine.counters.num_prompt_tokens
    again = judge_samples(samples, CONFIG, tmp_path / "two.jsonl", lambda: engine)
    assert again == first


@pytest.mark.parametrize("name", ["chatml", "chatml in pieces", "llama 2"])
def test_no_reply_opens_a_turn_of_the_real_template(loaded: LoadedModel, name: str) -> None:
    (question,) = questions([judged.sample(reply=COAXING[name])], CONFIG)
    prompt = question.prompt(0, control_tokens(loaded.tokenizer))
    assert REMOVED_MARKER in prompt
    ids = encode(loaded.tokenizer, (Message("user", prompt),), add_generation_prompt=True)
    # The template's system message, the user's, and the open one of the assistant.
    assert ids.count(loaded.tokenizer.convert_tokens_to_ids("<|im_start|>")) == 3
    assert ids.count(loaded.tokenizer.convert_tokens_to_ids("<|im_end|>")) == 2
