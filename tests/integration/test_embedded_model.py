"""The embedded model: what holds for tiny models must hold for a real one."""

from __future__ import annotations

import copy
import os

import pytest
import torch
from peft import LoraConfig, get_peft_model

from gatt.comb.attention.backend import enable_comb_attention
from gatt.comb.collator import GattCollator, combs_to_features
from gatt.comb.comb import expand
from gatt.comb.loss import cross_entropy, supervised_logits
from gatt.generation.local.engine import TransformersEngine
from gatt.models.load import LoadedModel, load_model
from gatt.models.packaged import EMBEDDED
from gatt.models.template_facts import inspect_template
from gatt.train.data.labels import build_combs
from tests.support.models.greedy import agreement, random_requests
from tests.support.models.tiny import sample

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    pytest.importorskip("gguf")
    return load_model(EMBEDDED)


def test_template_takes_a_system_message_and_keeps_prefixes(loaded: LoadedModel) -> None:
    facts = inspect_template(loaded.tokenizer)
    assert (facts.has_system, facts.is_prefix_preserving, facts.note) == (True, True, "")


@pytest.mark.parametrize("has_adapter", [False, True], ids=["base", "adapter"])
def test_greedy_replies_equal_generate_on_single_prompts(
    loaded: LoadedModel, has_adapter: bool
) -> None:
    """`GREEDY_PROMPTS=200` asks as many as tests/numerics does of tiny models (minutes)."""
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
