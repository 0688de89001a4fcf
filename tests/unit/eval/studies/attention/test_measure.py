"""Attention against `output_attentions` of transformers' eager attention: 1e-6, in float64.

Replies without sight of some tokens, against a forward with the mask written out.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from eval.studies.attention.measure import (
    INSTRUCTION,
    INTACT,
    OTHERS,
    Layout,
    greedy,
    hidden_replies,
    lay_out,
    measure,
)
from gatt.data.views import prompt_of_turn, training_view
from gatt.generation.base import GenerationRequest, SamplingParams
from gatt.generation.local.engine import TransformersEngine
from gatt.models.load import LoadedModel
from tests.support.models.tiny import tiny_llama, tiny_tokenizer
from tests.support.runs.judged import sample
from tests.support.runs.stages import dialogue

MIXED = {"sliding_window": 21, "layer_types": ["sliding_attention", "full_attention"]}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen2": {"num_key_value_heads": 4},
    "qwen3": {},
    "gemma2": {"attn_logit_softcapping": 5.0, **MIXED},
    "gemma3_text": MIXED,
    "mistral": {"sliding_window": 21},
    "phi": {},
}


def _softmax(scores: torch.Tensor, dim: int, dtype: torch.dtype) -> torch.Tensor:
    """The softmax of eager attention, which asks for float32 whatever it is given."""
    return torch.softmax(scores, dim, dtype=torch.promote_types(scores.dtype, dtype))


@functools.cache
def model(name: str, attention: str | None = None) -> Any:
    tokenizer = tiny_tokenizer()
    settings: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 512,
        "pad_token_id": 0,
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "initializer_range": 0.3,
        **ARCHITECTURES[name],
    }
    torch.manual_seed(1)
    config = AutoConfig.for_model(name, **settings)
    found = AutoModelForCausalLM.from_config(config, attn_implementation=attention)
    return found.double().eval()


@functools.cache
def layout() -> Layout:
    replies = (
        sample(turn=1, reply="La mer est calme, le port aussi."),
        sample(turn=3, reply="Le port est calme, et long", finish="length"),
    )
    return lay_out(tiny_tokenizer(), dialogue(1), "Always answer in French.", replies)


def eager_weights(name: str, turn: int) -> np.ndarray[Any, Any]:
    """Return the weights `[L, H, Q, C]` of the queries that generated a reply, from a plain row."""
    target = next(t for t in layout().targets if t.sample.turn == turn)
    ids = torch.tensor([layout().trunk[: target.fork] + target.input_ids])
    with torch.inference_mode():
        found = model(name, "eager")(input_ids=ids, output_attentions=True).attentions
    rows = slice(target.fork - 1, target.fork + len(target.input_ids) - 1)
    return torch.stack([layer[0][:, rows] for layer in found]).double().numpy()


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_sums_are_those_of_eager_attention(name: str, monkeypatch) -> None:
    monkeypatch.setattr(torch.nn.functional, "softmax", _softmax)
    start, end = layout().instruction
    for found in measure(model(name), layout()):
        expected = eager_weights(name, found.sample.turn)
        told = expected[..., start:end]
        assert found.mass == pytest.approx(float(told.sum(-1).mean()), abs=1e-6)


def test_a_window_that_ends_behind_the_instruction_leaves_nothing_on_it() -> None:
    one, three = measure(model("mistral"), layout())
    assert three.mass == 0
    assert one.sample.turn == 1
    assert model("mistral").config._attn_implementation == "sdpa"


TOLD = "Always answer in French."
PROMPT = tuple(torch.randint(3, 290, (60,), generator=torch.Generator().manual_seed(3)).tolist())
BLIND_FROM = 40
HIDDEN: tuple[Sequence[int], ...] = ((), range(5, 20), (2, 30, 31, 39))


def written_out(name: str, hidden: Sequence[int], num: int) -> list[int]:
    """Return the likeliest tokens, the whole text read anew for each under a 4-D mask."""
    ids = list(PROMPT)
    for _ in range(num):
        length = len(ids)
        sees = torch.ones(length, length, dtype=torch.bool).tril()
        sees[BLIND_FROM:, list(hidden)] = False
        window = 21 if name == "mistral" else length
        at = torch.arange(length)
        sees &= at[:, None] - at[None] < window
        mask = torch.zeros(1, 1, length, length, dtype=torch.float64)
        mask.masked_fill_(~sees, torch.finfo(torch.float64).min)
        with torch.inference_mode():
            logits = model(name, "eager")(input_ids=torch.tensor([ids]), attention_mask=mask).logits
        ids.append(int(logits[0, -1].argmax()))
    return ids[len(PROMPT) :]


@pytest.mark.parametrize("name", ["llama", "mistral"])
def test_hidden_tokens_are_out_of_sight_from_there_on_and_only_from_there(name: str) -> None:
    with torch.inference_mode():
        found = greedy(model(name), PROMPT, BLIND_FROM, HIDDEN, 6, frozenset())
    assert found == [written_out(name, hidden, 6) for hidden in HIDDEN]
    assert len({tuple(output) for output in found}) > 1


def test_a_reply_ends_at_a_stop_token_and_waits_for_the_others() -> None:
    with torch.inference_mode():
        whole = greedy(model("llama"), PROMPT, BLIND_FROM, HIDDEN, 6, frozenset())
        stop = whole[0][2]
        found = greedy(model("llama"), PROMPT, BLIND_FROM, HIDDEN, 6, frozenset({stop}))
    assert found[0] == whole[0][: whole[0].index(stop) + 1]
    assert len(found[1]) == 6 or found[1][-1] == stop


def test_with_all_in_sight_the_reply_is_the_engines_own() -> None:
    tokenizer = tiny_tokenizer()
    engine = TransformersEngine(LoadedModel(tiny_llama(tokenizer, seed=2), tokenizer, "tiny"))
    said = (sample(turn=1, reply="Bonjour."), sample(turn=3, reply="Le port est calme."))
    layout = lay_out(engine.tokenizer, dialogue(1), TOLD, said)
    found = hidden_replies(engine, layout, None, 8, "seed")
    assert list(found) == [INTACT, INSTRUCTION, OTHERS]
    messages = prompt_of_turn(training_view(dialogue(1), TOLD), 3)
    params = SamplingParams(max_new_tokens=8, temperature=0.0)
    assert found[INTACT] == engine.generate([GenerationRequest("k", messages)], params)[0]
    assert found == hidden_replies(engine, layout, None, 8, "seed")
    # Turn 1 holds the instruction in its prompt, and is not asked.
    layout = lay_out(engine.tokenizer, dialogue(1), TOLD, said[:1])
    assert hidden_replies(engine, layout, None, 8, "seed") == {}
