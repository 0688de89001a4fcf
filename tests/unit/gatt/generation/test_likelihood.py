"""The loss of replies against one forward pass a reply, by hand."""

from __future__ import annotations

import pytest
import torch

from gatt.chat_template import encode, encode_reply
from gatt.dialogue import Dialogue, Message
from gatt.generation.likelihood import reply_loss
from gatt.views import prompt_of_turn
from tests.support.stages import dialogue
from tests.support.tiny import tiny_llama, tiny_tokenizer


def test_every_reply_that_is_gone_on_from_is_charged_with_its_end_of_turn() -> None:
    tokenizer = tiny_tokenizer()
    model = tiny_llama(tokenizer, initializer_range=0.3).eval()
    told = dialogue(1, 4)
    expected, num = 0.0, 0
    for turn in (1, 2, 3):
        prompt = encode(tokenizer, prompt_of_turn(told, turn), add_generation_prompt=True)
        reply = encode_reply(tokenizer, told, turn, prompt, told.replies[turn - 1])
        ids = torch.tensor([[*prompt, *reply]])
        with torch.no_grad():
            log_probs = model(input_ids=ids).logits[0].log_softmax(-1)
        at = torch.arange(len(prompt) - 1, ids.shape[1] - 1)
        expected -= float(log_probs[at, ids[0, at + 1]].sum())
        num += len(reply)
    loss, num_tokens = reply_loss(model, tokenizer, told)
    assert num_tokens == num
    assert loss == pytest.approx(expected, rel=1e-5)


def test_a_dialogue_without_such_a_reply_costs_nothing() -> None:
    tokenizer = tiny_tokenizer()
    asked = Dialogue("d", (Message("user", "the sea"),))
    assert reply_loss(tiny_llama(tokenizer), tokenizer, asked) == (0.0, 0)
    assert reply_loss(tiny_llama(tokenizer), tokenizer, dialogue(1, 1)) == (0.0, 0)
