"""Attention against `output_attentions` of transformers' eager attention: 1e-6, in float64.

Replies without sight of some tokens, against a forward with the mask written out. Means and falls by hand.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from eval.records.case import Case
from eval.studies.attention.measure import (
    INSTRUCTION,
    INTACT,
    OTHERS,
    Layout,
    TurnAttention,
    greedy,
    hidden_replies,
    instruction_span,
    lay_out,
    measure,
)
from eval.studies.attention.run import Looked, curves, falls
from gatt.data.dialogue import Dialogue, Message
from gatt.data.views import prompt_of_turn, training_view
from gatt.errors import DataError, TemplateError
from gatt.generation.base import GenerationRequest, SamplingParams
from gatt.generation.local.engine import TransformersEngine
from gatt.models.load import LoadedModel
from tests.support.models.tiny import CHATML, tiny_llama, tiny_tokenizer
from tests.support.runs.judged import RULE, instruction, sample
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


@pytest.mark.parametrize("placement", ["system", "first_user"])
@pytest.mark.parametrize("told", [TOLD, "Q", "Figure: Napoleon.\n"])
def test_the_span_holds_the_instruction_and_nothing_else(placement, told) -> None:
    tokenizer = tiny_tokenizer()
    own = Dialogue("d", (Message("system", "Be kind to French Q."), *dialogue(1).messages))
    for given in (dialogue(1), own):
        found = lay_out(
            tokenizer, given, told, (sample(turn=2, reply="Bonjour."),), placement=placement
        )
        text = tokenizer.decode(found.trunk[slice(*found.instruction)])
        assert text.strip() == told.strip()
        before = tokenizer.decode(found.trunk[: found.instruction[0]])
        assert ("Be kind" in before) == (given is own)


def test_targets_and_prompts_lie_where_the_template_puts_them() -> None:
    tokenizer = tiny_tokenizer()
    replies = (
        sample(turn=1, reply="Bonjour."),
        sample(turn=2, reply="  "),
        sample(turn=3, reply="Le port", finish="length"),
    )
    found = lay_out(tokenizer, dialogue(1), TOLD, replies)
    assert [t.sample.turn for t in found.targets] == [1, 3]
    assert tokenizer.decode(found.targets[0].input_ids) == "Bonjour.<|im_end|>"
    assert tokenizer.decode(found.targets[1].input_ids) == "Le port"
    last = tokenizer.decode(found.trunk[found.last_prompt :])
    asked = dialogue(1).user_turns[2]
    assert last == f"\n<|im_start|>user\n{asked}<|im_end|>\n<|im_start|>assistant\n"
    assert len(found.trunk) == found.targets[1].fork


def test_replies_behind_the_context_are_left_out_and_counted() -> None:
    tokenizer = tiny_tokenizer()
    replies = [sample(turn=turn, reply="Bonjour.") for turn in (1, 2, 3)]
    whole = lay_out(tokenizer, dialogue(1), TOLD, replies)
    assert len(whole.targets) == 3
    two = lay_out(tokenizer, dialogue(1), TOLD, replies, max_tokens=whole.targets[2].fork)
    assert len(two.targets) == 2
    assert len(two.trunk) == whole.targets[1].fork
    for kept, most in ((replies, 5), ([sample(turn=1, reply=" ")], None), ([], None)):
        with pytest.raises(DataError, match="no reply with text"):
            lay_out(tokenizer, dialogue(1), TOLD, kept, max_tokens=most)


def test_an_instruction_that_cannot_be_found_is_one_line() -> None:
    shouting = CHATML.replace("m['content']", "m['content'] | upper")
    with pytest.raises(TemplateError, match="instruction"):
        instruction_span(tiny_tokenizer(shouting), dialogue(1), TOLD, "system")


ARMS = ("base", "gatt")


def looked(arm: str, number: int, masses: list[float]) -> Looked:
    case = Case(f"c{number}", dialogue(number), instruction(RULE), None)
    turns = tuple(
        TurnAttention(sample(arm=arm, turn=turn, dialogue=case.dialogue.id), mass)
        for turn, mass in enumerate(masses, start=1)
    )
    return Looked(case, arm, turns)


def test_the_interval_of_a_mean_is_students() -> None:
    # Mean 0.3, sd 0.1, n 3, t(2) = 4.3027: 0.3 +- 0.43027 / sqrt(3).
    (found,) = curves([looked("base", n, [0.1 * (n + 2)]) for n in range(3)], ARMS)
    bounds = [found[key] for key in ("value", "low", "high")]
    assert bounds == pytest.approx([0.3, 0.3 - 0.248414, 0.3 + 0.248414], abs=1e-5)


def test_curves_are_means_over_dialogues() -> None:
    given = [
        looked("base", 1, [0.1, 0.2]),
        looked("gatt", 1, [0.3, 0.2]),
        looked("base", 2, [0.2]),
        looked("gatt", 2, [0.4]),
        # The same dialogue under another instruction is no further dialogue.
        looked("gatt", 2, [0.6]),
    ]
    found = {(r["arm"], r["turn"]): r for r in curves(given, ARMS)}
    assert found["base", 1]["value"] == pytest.approx(0.15)
    assert found["gatt", 1]["value"] == pytest.approx((0.3 + 0.5) / 2)
    assert found["gatt", 1]["num_dialogues"] == 2
    assert found["gatt", 2] == {
        "arm": "gatt", "turn": 2, "metric": "mass", "value": 0.2, "low": None, "high": None,
        "num_dialogues": 1,
    }  # fmt: skip
    # A share is none below 0.
    assert found["base", 1]["low"] == 0


def hidden(number: int, before: Any, after: Any, arm: str = "gatt") -> Looked:
    replies = {INTACT: ("x", before), INSTRUCTION: ("y" if after == "fail" else "x", after)}
    return replace(looked(arm, number, [0.1]), hidden=replies)


def test_the_fall_is_paired_and_undecided_pairs_are_counted() -> None:
    given = [
        *(hidden(n, "pass", "fail") for n in range(1, 7)),
        hidden(7, "pass", "pass"),
        hidden(8, "fail", "pass"),
        hidden(9, "pass", "undecided"),
        hidden(1, "undecided", "fail", "base"),
    ]
    base, gatt = falls(given, ARMS)
    assert (gatt["num_pairs"], gatt["num_undecided"]) == (8, 1)
    assert (gatt["num_replies"], gatt["num_changed"]) == (9, 6)
    assert (gatt["intact"], gatt["unsighted"]) == (7 / 8, 2 / 8)
    assert gatt["fall"] == pytest.approx(5 / 8)
    assert 0 < gatt["low"] < gatt["fall"] < gatt["high"] <= 1
    assert (base["num_pairs"], base["num_undecided"], base["fall"]) == (0, 1, None)
    assert falls([], ARMS) == []
