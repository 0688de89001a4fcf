"""Prompts, spans and refusals, for templates that preserve prefixes and for others."""

from __future__ import annotations

from datetime import date

import pytest

from gatt.data.dialogue import Dialogue, Message
from gatt.data.views import prompt_of_turn
from gatt.errors import DataError, TemplateError
from gatt.models.chat_template import encode, render, rendered_on
from gatt.models.encoded_view import encode_reply, encode_view, stop_token_ids
from gatt.models.template_facts import inspect_template
from tests.support.models.golden_templates import (
    COHERE,
    GEMMA,
    GEMMA3,
    LLAMA3,
    SMOLLM2,
    WORDS,
    dialogue,
)
from tests.support.models.tiny import CHATML as PLAIN_CHATML
from tests.support.models.tiny import tiny_tokenizer
from tests.support.texts.words import CHATML, CHATML_SPECIALS, word_tokenizer


def chatml(template: str):
    return word_tokenizer(template, CHATML_SPECIALS, WORDS, eos_token="<|im_end|>")


def view(num_turns: int = 3, system: str | None = "Be brief.") -> Dialogue:
    return dialogue(num_turns, system)


@pytest.mark.parametrize(
    ("template", "line", "fact"),
    [
        ("a\n{{ 1 // 0 }}", 2, "ZeroDivisionError"),
        ("{% macro f() %}\n{{ f() }}{% endmacro %}\n{{ f() }}", 2, "RecursionError"),
        ("a\n{% for i in range(10 ** 9) %}{% endfor %}", 2, "OverflowError"),
        ("a\n{{ raise_exception('zyx') }}", 2, "zyx"),
        ("a\n{% if %}", 2, "Expected an expression"),
        # The date replaces the call, and later lines keep their numbers.
        ("{{ strftime_now(\n'%d') }}\n{{ 1 // 0 }}", 3, "ZeroDivisionError"),
    ],
)
def test_whatever_a_template_raises_names_its_line(template: str, line: int, fact: str) -> None:
    with rendered_on(date(2020, 1, 2)), pytest.raises(TemplateError) as raised:
        inspect_template(chatml(template))
    assert f" in its line {line}: " in str(raised.value)
    assert fact in str(raised.value)
    assert "\n" not in str(raised.value)


class TestTrap5JoinedAndApart:
    """Ids of prompt and target must be those of the joint text."""

    def test_reply_that_merges_with_its_prompt(self) -> None:
        # The template trims the reply, and with it the newline that ends the prompt.
        template = (
            "{% set ns = namespace(text='') %}{% for m in messages %}{% set ns.text = ns.text + "
            "'<|im_start|>' + m.role + ('\n' if m.content != 'Bonjour' else '') + m.content + "
            "'<|im_end|>' %}{% endfor %}{{ ns.text }}"
            "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
        )
        tokenizer = chatml(template)
        encoded = encode_view(tokenizer, view(1))
        with pytest.raises(DataError, match=r"turn 1: .*differently"):
            encode_reply(tokenizer, view(1), 1, encoded.input_ids, "Bonjour")
        assert encode_reply(tokenizer, view(1), 1, encoded.input_ids, "Salut")

    def test_history_that_is_rewritten(self) -> None:
        # The last reply of a history is shortened: what Qwen3 does to reasoning.
        template = PLAIN_CHATML.replace(
            "{{ '<|im_start|>' + m['role']",
            "{{ ('' if loop.last else '<|endoftext|>') + '<|im_start|>' + m['role']",
        )
        tokenizer = chatml(template)
        with pytest.raises(DataError, match=r"'d-1', turn 1: .*beginning"):
            encode_view(tokenizer, view(2))
        facts = inspect_template(tokenizer)
        assert not facts.is_prefix_preserving
        assert facts.note == "rewrites earlier turns when a new one comes"


SYSTEM_ON_TURNS = (
    "{% set s = messages[0]['content'] if messages[0]['role'] == 'system' else '' %}"
    "{% for m in messages if m['role'] != 'system' %}"
    "{{ '<|im_start|>' + m['role'] + '\n' + (s if WHERE else '') + m['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


@pytest.mark.parametrize(
    ("template", "note"),
    [
        (SYSTEM_ON_TURNS.replace("WHERE", "m['role'] == 'user'"), "repeats the system message"),
        (SYSTEM_ON_TURNS.replace("WHERE", "loop.last"), "later turn"),
        (PLAIN_CHATML.replace("in messages %}", "in messages if m['role'] != 'system' %}"), "drops"),
    ],
    ids=["on every user turn", "on the last turn", "nowhere"],
)  # fmt: skip
def test_trap_7_a_template_that_moves_the_system_message_has_none(template, note: str) -> None:
    """Such a template would undo GAtt silently; `first_user` can be used."""
    facts = inspect_template(chatml(template))
    assert not facts.has_system
    assert note in facts.note


@pytest.mark.parametrize("family", [LLAMA3, GEMMA, GEMMA3, COHERE], ids=lambda f: f.name)
def test_trap_16_bos_stands_once(family) -> None:
    tokenizer, plain = family.tokenizer(), view(2, system=None)
    # What a tokenizer does that adds BOS by itself: the template has it already.
    tokenizer.add_bos_token = True
    ids = encode_view(tokenizer, plain).input_ids
    assert (ids.count(tokenizer.bos_token_id), ids[0]) == (1, tokenizer.bos_token_id)
    prompt = encode_view(tokenizer, view(1, system=None)).input_ids
    assert tokenizer.bos_token_id not in encode_reply(tokenizer, plain, 1, prompt, "Bonjour")


def test_a_template_that_is_missing_or_never_stops() -> None:
    tokenizer = word_tokenizer(None, CHATML_SPECIALS, WORDS)
    for call in (
        lambda: render(tokenizer, view().messages, True),
        lambda: inspect_template(tokenizer),
    ):
        with pytest.raises(TemplateError, match="no chat template"):
            call()
    with pytest.raises(TemplateError, match="line 1: System role"):
        render(GEMMA.tokenizer(), view().messages, True)
    with pytest.raises(TemplateError, match="without a special token"):
        stop_token_ids(
            word_tokenizer("{% for m in messages %}{{ m.content }}\n{% endfor %}", (), WORDS)
        )


def test_an_unknown_word_does_not_end_the_turn_and_a_blank_target_is_refused() -> None:
    tokenizer = SMOLLM2.tokenizer()
    prompt = encode_view(tokenizer, view(1)).input_ids
    target = encode_reply(tokenizer, view(1), 1, prompt, "Bonjour zyx Fine")
    assert tokenizer.decode(target) == "Bonjour<unk> Fine<|im_end|>"
    with pytest.raises(DataError, match=r"'d-1', turn 1: .*blank"):
        encode_reply(tokenizer, view(1), 1, prompt, " \n")


def test_history_reply_without_end_of_turn() -> None:
    template = (
        "{% for m in messages %}{{ m['role'] + '\n' + m['content'] + '\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ 'assistant\n' }}{% endif %}"
    )
    tokenizer = word_tokenizer(template, (), WORDS)
    with pytest.raises(DataError, match=r"turn 1: .*end-of-turn token.*history"):
        encode_view(tokenizer, view(2))
    with pytest.raises(DataError, match=r"turn 1: .*end-of-turn token.*target"):
        encode_reply(
            tokenizer, view(1), 1, encode(tokenizer, prompt_of_turn(view(1), 1), True), "Bye"
        )


@pytest.mark.parametrize(
    "asked",
    [
        "strftime_now('%d %b %Y')", 'strftime_now("%d %b %Y")', "strftime_now(\n '%d %b %Y' )",
        "strftime_now(format='%d %b %Y')", "strftime_now('%d %b %Y',)",
    ],
)  # fmt: skip
def test_a_template_prints_the_date_that_it_is_told(asked: str) -> None:
    """Named templates do, too."""
    template = "{% if strftime_now is defined %}{{ " + asked + " }}{% endif %}" + CHATML
    tokenizer, question = tiny_tokenizer(template), (Message("user", "Hi"),)
    with rendered_on(date(2020, 1, 2)):
        text = render(tokenizer, question, add_generation_prompt=True)
        assert text.startswith("02 Jan 2020<|im_start|>")
        tokenizer.chat_template = {"default": template, "tool_use": CHATML}
        assert render(tokenizer, question, add_generation_prompt=True) == text
    assert not render(tokenizer, question, add_generation_prompt=True).startswith("02 Jan 2020")


def test_a_date_that_cannot_be_fixed_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    template = "{% set f = '%d %b' %}{{ strftime_now(f) }}" + CHATML
    tokenizer, question = tiny_tokenizer(template), (Message("user", "Hi"),)
    with rendered_on(date(2020, 1, 2)):
        for _ in range(2):
            assert not render(tokenizer, question, add_generation_prompt=True).startswith("02 Jan")
    assert [r.getMessage().count("2020-01-02") for r in caplog.records] == [1]
