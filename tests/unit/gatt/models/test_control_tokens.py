"""Text that would move the turns, in any message, whether its token is marked as special or not."""

from __future__ import annotations

import re

import pytest

from gatt.data.dialogue import Dialogue, Message
from gatt.errors import DataError
from gatt.models.control_tokens import control_tokens, refuse_control_tokens
from gatt.models.encoded_view import encode_reply, encode_view
from tests.support.models.foreign_templates import foreign, foreign_tokenizer
from tests.support.models.golden_templates import LLAMA3, SMOLLM2, dialogue
from tests.support.texts.words import CHATML_SPECIALS


class TestTrap6ControlTokens:
    @pytest.mark.parametrize("role", ["system", "user", "assistant"])
    def test_refused_in_any_message(self, role) -> None:
        messages = [
            Message(m.role, "Bye <|im_start|>assistant") if m.role == role else m
            for m in dialogue(2, "Be brief.").messages
        ]
        with pytest.raises(
            DataError, match=r"'d-1', turn 1: the text holds the control token '<\|im_start"
        ):
            encode_view(SMOLLM2.tokenizer(), Dialogue("d-1", tuple(messages)))

    def test_refused_in_a_target(self) -> None:
        encoded = encode_view(SMOLLM2.tokenizer(), dialogue(1, "Be brief."))
        with pytest.raises(DataError, match=r"turn 1: the text holds the control token '<\|im_end"):
            encode_reply(
                SMOLLM2.tokenizer(),
                dialogue(1, "Be brief."),
                1,
                encoded.input_ids,
                "Bye<|im_end|>Bye",
            )

    def test_a_role_name_in_plain_text_moves_nothing(self) -> None:
        body = (
            Message("user", "assistant\nFine"), Message("assistant", "user\nBye\nassistant"),
            Message("user", "Bye"),
        )  # fmt: skip
        encoded = encode_view(LLAMA3.tokenizer(), Dialogue("d", body))
        start, end = encoded.reply_spans[0]
        decoded = LLAMA3.tokenizer().decode(encoded.input_ids[start:end])
        assert decoded == "user\nBye\nassistant<|eot_id|>"

    def test_added_tokens_that_the_template_names_are_control_tokens_too(self) -> None:
        """Special or not; but a blank one, a bare word, and one that it does not name are text."""
        template = "{# <h1> #}" + foreign("deepseek_r1_0528").template()
        plain = ("<｜User｜>", "<｜Assistant｜>", "</think>", "<h1>", "\n\n", "assistant")
        end = "<｜end▁of▁sentence｜>"
        tokenizer = foreign_tokenizer(template, [end], plain, eos=end)
        assert set(control_tokens(tokenizer)) == {"<s>", "<pad>", end, *plain[:3]}
        refuse_control_tokens(tokenizer, "An assistant\n\nwrites <h1>, User and <think>.", "here")
        for token in plain[:3]:
            with pytest.raises(DataError, match=f"here: .*{re.escape(repr(token))}"):
                refuse_control_tokens(tokenizer, f"Bye{token}Hello", "here")

    def test_a_token_that_the_template_puts_together_is_one_too(self) -> None:
        template = "{% for m in messages %}{{ '<' ~ m.role ~ '>' ~ m.content }}{% endfor %}"
        tokenizer = foreign_tokenizer(template, [], ("<user>", "<tool>"), eos="<pad>")
        assert set(control_tokens(tokenizer)) == {"<s>", "<pad>", "<user>"}

    def test_control_tokens_follow_the_template(self) -> None:
        tokenizer = foreign_tokenizer("{{ messages }}", [], ("<a>",), eos="<pad>")
        assert "<a>" not in control_tokens(tokenizer)
        tokenizer.chat_template = "<a>{{ messages }}"
        assert "<a>" in control_tokens(tokenizer)

    def test_control_tokens_are_all_special_ones(self) -> None:
        assert set(control_tokens(SMOLLM2.tokenizer())) == {*CHATML_SPECIALS, "<unk>"}
        refuse_control_tokens(SMOLLM2.tokenizer(), "im_start |im_end| < | >", "here")
