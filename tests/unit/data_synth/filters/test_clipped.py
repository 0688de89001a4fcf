"""Replies that break off, and all the ways to end without a full stop."""

from __future__ import annotations

from dataclasses import replace

import pytest

from data_synth.filters import Draw
from data_synth.filters.clipped import is_clipped
from gatt.data.instruction import Instruction
from gatt.verifiers.spec import VerifierSpec
from tests.support.runs.switched import hobby


def clipped(text: str, instruction: Instruction | None = None) -> bool:
    return is_clipped(Draw(text, "stop", instruction))


@pytest.mark.parametrize(
    "text",
    [
        "You've already answered your own question, so I'll just rephrase it for you:",
        "I can only remember three words of it,",
        "I went to the market and",
        "My favorite part of it was the",
        "Ich mag Hunde und",
        "J'aime les chats et",
        "Me gusta el café, pero",
        'She said: "I will come tomorrow.',
        "We met (in the old town",
        "昨日は雨でしたが、",
        "「そうですね",
        "“I am glad",
        "Er sagte: „Ich komme morgen",
        "```python\nprint(1)",
        "Here are some [links",
    ],
)
def test_broken_off(text) -> None:
    assert clipped(text)


@pytest.mark.parametrize(
    "text",
    [
        "yeah it was fun",
        "see you",
        "That is something to look forward to",
        "I like vitamin A",
        "ooh la la",
        "I went home :(",
        "I went home :( but she stayed",
        "Great :)",
        "1) tea 2) milk",
        'It is a 27" screen',
        '"Yes", she said, "of course"',
        "“Yes,” she said.",
        "«Oui», dit-elle.",
        "Er sagte: „Ich komme morgen.“",
        "「そうですね」と言いました。",
        "We met (in the old town).",
        "Well...",
        "Rock 'n' roll - what else?",
        "Shaken, not stirred",
        "Who are you and who am I",
    ],
)
def test_ended(text) -> None:
    assert not clipped(text)


def test_an_instruction_about_the_form_judges_it_itself() -> None:
    rule = VerifierSpec("ends_with", {"any_of": ["and"]})
    asks = hobby("tennis", text="End every reply with the word 'and'.", verifiers=(rule,))
    assert not clipped("I went home and", asks)
    assert clipped("I went home and", replace(asks, verifiers=(VerifierSpec("words", {"max": 9}),)))
