"""The loss of replies against one forward pass a reply, by hand."""

from __future__ import annotations

import pytest
import torch

from gatt.data.dialogue import Dialogue
from gatt.data.views import prompt_of_turn
from gatt.generation.local.engine import TransformersEngine
from gatt.models.chat_template import encode
from gatt.models.encoded_view import encode_reply, encode_view
from tests.support.models.engine_prompts import make_loaded
from tests.support.models.tiny import tiny_tokenizer
from tests.support.runs.stages import dialogue


def test_every_reply_that_is_gone_on_from_is_charged_with_its_end_of_turn() -> None:
    tokenizer = tiny_tokenizer()
    loaded = make_loaded(tokenizer)
    told = dialogue(1, 4)
    expected, num = 0.0, 0
    for turn in (1, 2, 3):
        prompt = encode(tokenizer, prompt_of_turn(told, turn), add_generation_prompt=True)
        reply = encode_reply(tokenizer, told, turn, prompt, told.replies[turn - 1])
        ids = torch.tensor([[*prompt, *reply]])
        with torch.no_grad():
            log_probs = loaded.model(input_ids=ids).logits[0].log_softmax(-1)
        at = torch.arange(len(prompt) - 1, ids.shape[1] - 1)
        expected -= float(log_probs[at, ids[0, at + 1]].sum())
        num += len(reply)
    loss, num_tokens = TransformersEngine(loaded).reply_loss(told)
    assert num_tokens == num
    assert loss == pytest.approx(expected, rel=1e-5)


def test_what_lies_behind_the_context_is_not_charged() -> None:
    engine = TransformersEngine(make_loaded(tiny_tokenizer()))
    told = dialogue(1, 4)
    cut = engine.reply_loss(Dialogue("cut", told.messages[:5]))
    # Nobody has gone on from a reply.
    assert engine.reply_loss(dialogue(1, 1)) == (0.0, 0)
    spans = encode_view(engine.tokenizer, told).reply_spans
    for end, expected in ((spans[1][1], cut), (spans[0][1] - 1, (0.0, 0))):
        engine.model.config.max_position_embeddings = end
        assert engine.reply_loss(told) == pytest.approx(expected)
