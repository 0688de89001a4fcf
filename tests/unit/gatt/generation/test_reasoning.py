"""Replies of models that think first."""

from __future__ import annotations

import pytest

from gatt.data.dialogue import Message
from gatt.generation.base import Generation, GenerationRequest, SamplingParams
from gatt.models.chat_template import render
from gatt.models.reasoning import opens_reasoning, without_reasoning
from tests.support.models.engine_prompts import make_engine, make_loaded
from tests.support.models.golden_templates import QWEN3, SMOLLM2, trl_template
from tests.support.models.tiny import tiny_tokenizer


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("Bonjour.", "Bonjour."),
        ("", ""),
        ("<think>\nThey speak French.\n</think>\n\nBonjour.", "Bonjour."),
        # The prompt opened the block.
        ("They speak French.\n</think>\n\nBonjour.", "Bonjour."),
        # Behind the reply's beginning the marks are text.
        ("Write <think> and </think> around it.", "Write <think> and </think> around it."),
        ("The tag </think> closes it.", "The tag </think> closes it."),
        ("<think>\nThey speak", ""),
        ("<think>a</think>", ""),
    ],
)
@pytest.mark.parametrize("is_cut", [True, False])
def test_what_is_said_to_the_user_is_left(text, reply, is_cut) -> None:
    assert without_reasoning(text, is_cut=is_cut) == reply


def test_reasoning_that_the_prompt_opened_and_the_limit_cut_says_nothing() -> None:
    assert without_reasoning("They speak", is_cut=True, is_opened=True) == ""
    # It ended by itself without a mark: the model, trained perhaps, does not reason.
    assert without_reasoning("Bonjour.", is_cut=False, is_opened=True) == "Bonjour."
    assert without_reasoning("x</think>Bonj", is_cut=True, is_opened=True) == "Bonj"


def test_templates_that_open_the_block_are_known() -> None:
    opening = tiny_tokenizer(trl_template("deepseek_r1_distill"))
    for tokenizer, is_open in (
        (QWEN3.tokenizer(), False),
        (SMOLLM2.tokenizer(), False),
        (opening, True),
    ):
        prompt = render(tokenizer, (Message("user", "a"),), add_generation_prompt=True)
        assert opens_reasoning(prompt) == is_open


@pytest.fixture(scope="module")
def engine():
    return make_engine(make_loaded(tiny_tokenizer()))


@pytest.mark.parametrize(
    ("output", "finish", "reply"),
    [
        ("<think>so</think>ho", "stop", "ho"),
        ("<think>so</think>ho", "length", "ho"),
        ("<think>so", "length", ""),
    ],
)
def test_the_local_engine_returns_the_reply_and_counts_the_thoughts(engine, output, finish, reply):
    ids = engine.tokenizer(output, add_special_tokens=False)["input_ids"]
    ids += [min(engine.stop_ids)] if finish == "stop" else []
    found = engine.generation_of(ids, 5)
    assert found == Generation(reply, finish, len(ids))


def test_the_given_beginning_of_a_reply_may_be_an_empty_block(engine) -> None:
    asked = GenerationRequest("k", (Message("user", "hello"),), prefill="<think>\n\n</think>\n\nhi")
    (said,) = engine.generate([asked], SamplingParams(max_new_tokens=2))
    assert said.text.startswith("hi")
