"""Variables of chat templates, written into them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from gatt.data.dialogue import Dialogue, Message
from gatt.errors import ConfigError, DataError, TemplateError
from gatt.models.chat_template import render
from gatt.models.encoded_view import encode_reply, encode_view
from gatt.models.template_facts import inspect_template
from gatt.models.template_variables import (
    FILE,
    check_template_variables,
    read_variables,
    set_template_variables,
    write_variables,
)
from tests.support.models.golden_templates import QWEN3
from tests.support.models.tiny import tiny_tokenizer
from tests.support.texts.words import trl_template

ASKED = (Message("user", "Hello"),)


def test_qwen3_does_not_reason_once_told() -> None:
    tokenizer = QWEN3.tokenizer()
    assert render(tokenizer, ASKED, True).endswith("assistant\n")
    set_template_variables(tokenizer, {"enable_thinking": False})
    assert render(tokenizer, ASKED, True).endswith("assistant\n<think>\n\n</think>\n\n")
    # What stands in front of the reply in the prompt is no part of what is learned.
    view = Dialogue("d", ASKED)
    prompt = encode_view(tokenizer, view).input_ids
    target = tokenizer.decode(encode_reply(tokenizer, view, 1, prompt, "Bonjour"))
    assert target == "Bonjour<|im_end|>"
    # The history lacks the block, so turns share no prefix.
    assert not inspect_template(tokenizer).is_prefix_preserving
    with pytest.raises(DataError, match=r"'d', turn 1: .*beginning"):
        encode_view(tokenizer, Dialogue("d", (*ASKED, Message("assistant", "Bonjour"), *ASKED)))


def test_every_kind_of_value_reaches_the_template_as_it_is() -> None:
    values = {"text": 'l\'"é"\n{{ 1 }}', "yes": True, "no": False, "number": -3, "part": 0.5}
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = "\n{{ [text, yes, no, number, part] }} {{ messages[0].content }}"
    set_template_variables(tokenizer, values)
    assert render(tokenizer, ASKED, False) == f"\n{list(values.values())} Hello"


@pytest.mark.parametrize(
    ("variables", "fact"),
    [
        ({"a b": 1}, "'a b'"),
        ({"messages": "x"}, "'messages'"),
        ({"think": None}, "think is None"),
        ({"think": float("nan")}, "think is nan"),
        ({"think": "False"}, "think .*'False'"),
    ],
)
def test_what_no_template_takes_is_refused(variables, fact) -> None:
    with pytest.raises(ConfigError, match=fact):
        check_template_variables(variables)


@pytest.mark.parametrize("template", ["qwen3_training", "gemma3_training", "llama3_2"])
def test_variables_are_found_in_templates_with_marks_of_transformers_own(template: str) -> None:
    tokenizer = SimpleNamespace(chat_template=trl_template(template) + "{{ my_own }}")
    set_template_variables(tokenizer, {"my_own": "😀"})
    assert "😀" in tokenizer.chat_template
    with pytest.raises(TemplateError, match="has no variable 'loop'"):
        set_template_variables(tokenizer, {"loop": "x"})


def test_what_an_adapter_was_trained_with_stands_beside_it(tmp_path: Path) -> None:
    assert read_variables(tmp_path) == {}
    write_variables(tmp_path, {})
    assert not list(tmp_path.iterdir())
    write_variables(tmp_path, {"enable_thinking": False, "mode": "é"})
    assert read_variables(tmp_path) == {"enable_thinking": False, "mode": "é"}
    for broken in ("{", "[1]", '{"messages": 1}', '"a"'):
        (tmp_path / FILE).write_text(broken, encoding="utf-8")
        with pytest.raises(DataError, match=FILE):
            read_variables(tmp_path)
