"""The embedded model: what holds for tiny models must hold for a real one."""

from __future__ import annotations

import pytest
import torch

from gatt.attention.backend import enable_comb_attention
from gatt.chat_template import encode, inspect_template
from gatt.collator import GattCollator, combs_to_features
from gatt.comb import expand
from gatt.dialogue import Dialogue, Message
from gatt.generation.base import GenerationRequest, SamplingParams
from gatt.generation.transformers import TransformersEngine
from gatt.instruction import Instruction
from gatt.loss import summed_loss, supervised_logits
from gatt.models import EMBEDDED, LoadedModel, load_model
from gatt.sample import GattSample, TurnTarget
from gatt.supervision import build_combs
from gatt.views import prompt_of_turn, sampling_view

pytestmark = pytest.mark.integration

USERS = ("Hi! How are you today?", "What is the capital of France?", "Name three fruits, please.")
REPLIES = ("I am fine, thanks.", "That would be Paris.", "Apples, pears and plums.")
FRENCH = ("Je vais bien, merci.", "C'est Paris.", "La pomme, la poire et la prune.")


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    pytest.importorskip("gguf")
    return load_model(EMBEDDED)


def dialogue() -> Dialogue:
    messages = []
    for user, reply in zip(USERS, REPLIES, strict=True):
        messages += [Message("user", user), Message("assistant", reply)]
    return Dialogue("d", tuple(messages))


def test_template_takes_a_system_message_and_keeps_prefixes(loaded: LoadedModel) -> None:
    facts = inspect_template(loaded.tokenizer)
    assert (facts.has_system, facts.is_prefix_preserving, facts.note) == (True, True, "")


def test_greedy_replies_equal_generate_on_single_prompts(loaded: LoadedModel) -> None:
    view = sampling_view(dialogue(), "Speak in French.")
    requests = [GenerationRequest(f"{turn}", prompt_of_turn(view, turn), "d") for turn in (1, 2, 3)]
    engine = TransformersEngine(loaded)
    found = engine.generate(requests, SamplingParams(max_new_tokens=12, temperature=0))
    assert engine.counters.num_encoded_tokens < engine.counters.num_prompt_tokens
    for request, generation in zip(requests, found, strict=True):
        ids = torch.tensor([encode(loaded.tokenizer, request.messages, add_generation_prompt=True)])
        out = loaded.model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=12, do_sample=False
        )[0, ids.shape[1] :]
        expected = loaded.tokenizer.decode(out, skip_special_tokens=True).strip()
        assert generation.text == expected


def test_comb_loss_equals_that_of_the_rows_written_out(loaded: LoadedModel) -> None:
    instruction = Instruction("language.fr", "Speak in French.", "verbose", ("language.fr",),
                              ("language",), "train", ())  # fmt: skip
    targets = tuple(
        TurnTarget(turn, reply, kind="sampled", attempts=1)
        for turn, reply in enumerate(FRENCH, start=1)
    )
    sample = GattSample("s", dialogue(), instruction, targets)
    (part,) = build_combs(loaded.tokenizer, sample).parts
    comb = part.comb
    rows = expand(comb)
    pad = loaded.tokenizer.pad_token_id
    with torch.no_grad():
        packed = GattCollator(pad)([combs_to_features([comb])])
        padded = GattCollator(pad, "expanded")([combs_to_features([row]) for row in rows])
        written_out = summed_loss(*supervised_logits(loaded.model, padded)).item()
        enable_comb_attention(loaded.model)
        ours = summed_loss(*supervised_logits(loaded.model, packed)).item()
    loaded.model.set_attn_implementation("sdpa")
    assert len(rows) == 3
    assert ours == pytest.approx(written_out, rel=1e-5)
