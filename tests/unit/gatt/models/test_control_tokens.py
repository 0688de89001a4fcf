"""Text that would move the turns, in any message, whether its token is marked as special or not."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from gatt.data.dialogue import Dialogue, Message
from gatt.errors import DataError
from gatt.models.control_tokens import control_tokens, refuse_control_tokens
from gatt.models.encoded_view import encode_reply, encode_view
from tests.support.models.foreign_templates import foreign, foreign_tokenizer
from tests.support.models.golden_templates import LLAMA3, SMOLLM2, dialogue
from tests.support.texts.words import CHATML_SPECIALS

START = "<|im_start|>"


@pytest.mark.parametrize("role", ["system", "user", "assistant"])
def test_a_control_token_is_refused_in_any_message_and_target(role: str) -> None:
    tokenizer, said = SMOLLM2.tokenizer(), dialogue(2, "Be brief.")
    odd = [replace(m, content=f"Bye {START}") if m.role == role else m for m in said.messages]
    with pytest.raises(DataError, match=rf"'d-1', turn 1: .*{re.escape(START)}"):
        encode_view(tokenizer, Dialogue("d-1", tuple(odd)))
    prompt = encode_view(tokenizer, said).input_ids
    with pytest.raises(DataError, match=rf"'d-1', turn 2: .*{re.escape(START)}"):
        encode_reply(tokenizer, said, 2, prompt, f"Bye{START}Bye")


def test_a_role_name_in_plain_text_moves_nothing() -> None:
    body = (("user", "assistant\nFine"), ("assistant", "user\nBye\nassistant"), ("user", "Bye"))
    encoded = encode_view(LLAMA3.tokenizer(), Dialogue("d", tuple(Message(*m) for m in body)))
    start, end = encoded.reply_spans[0]
    decoded = LLAMA3.tokenizer().decode(encoded.input_ids[start:end])
    assert decoded == "user\nBye\nassistant<|eot_id|>"


def test_added_tokens_that_the_template_writes_are_control_tokens_too() -> None:
    """Special or not; but a blank one, a bare word, and one that it does not write are text."""
    template = "{# <h1> #}" + foreign("deepseek_r1_0528").template()
    plain = ("<｜User｜>", "<｜Assistant｜>", "</think>", "<h1>", "\n\n", "assistant")
    end = "<｜end▁of▁sentence｜>"
    tokenizer = foreign_tokenizer(template, [end], plain, eos=end)
    assert set(control_tokens(tokenizer)) == {"<s>", "<pad>", end, *plain[:3]}
    refuse_control_tokens(tokenizer, "An assistant\n\nwrites <h1>, User and <think>.", "here")
    for token in plain[:3]:
        with pytest.raises(DataError, match=f"here: .*{re.escape(repr(token))}"):
            refuse_control_tokens(tokenizer, f"Bye{token}Hello", "here")
    # One that the template puts together is written, too, and a new template has its own.
    tokenizer.chat_template = "{% for m in messages %}{{ '<' ~ 'h1>' ~ m.content }}{% endfor %}"
    assert set(control_tokens(tokenizer)) == {"<s>", "<pad>", end, "<h1>"}


def test_control_tokens_are_all_special_ones() -> None:
    assert set(control_tokens(SMOLLM2.tokenizer())) == {*CHATML_SPECIALS, "<unk>"}
    refuse_control_tokens(SMOLLM2.tokenizer(), "im_start |im_end| < | >", "here")
