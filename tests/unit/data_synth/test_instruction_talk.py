"""Talk about the instruction, and talk that only sounds like it."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import yaml

from data_synth.instruction_talk import mentions_instruction
from gatt.data.catalog.read import load_catalog
from gatt.data.instruction import Instruction, compose
from gatt.errors import ConfigError
from gatt.sources import chitchat
from gatt.sources.questions import question_bank
from gatt.verifiers.spec import VerifierSpec
from tests.support.runs.switched import hobby

BRIEF = "Answer in one short sentence."
FRENCH = hobby(
    "tennis",
    id="language.fr",
    text="Speak in French.",
    verifiers=(),
    hint="Réponds uniquement en français. Answer only in French.",
)
SHOP = replace(
    FRENCH,
    id="behaviour.shop",
    text="Thank you for shopping with us. Always thank the customer.",
    hint='Answer in two sentences, then say, in words such as: "Your first session is free."',
    utterances=("Thank you for shopping with us.", "Your first session is free."),
    prefills=("As Napoleon, I",),
)
TENNIS = replace(
    FRENCH,
    id="hobby.tennis",
    text="You enjoy tennis and bring it up in every answer.",
    hint="Answer the question in one sentence, and mention your hobby, tennis, in the next one.",
    verifiers=(VerifierSpec("terms", {"any_of": ["tennis", "racket", "Wimbledon"]}),),
    facts={"hobby": ("tennis", "racket", "Wimbledon")},
)
NAPOLEON = replace(
    FRENCH,
    id="figure.napoleon",
    text="Act as Napoleon.",
    hint="Answer in the first person as Napoleon, never as an AI, and mention your army.",
)
SENTENCE = replace(
    FRENCH, id="format.sentence", text="Answer in one sentence only.", hint="Say it in a sentence."
)


def mentions(
    text: str, instruction: Instruction | None = FRENCH, brief: str | None = BRIEF
) -> bool:
    return mentions_instruction(text, instruction, brief)


EXAMPLES = yaml.safe_load(
    Path(__file__).with_name("instruction_talk.yaml").read_text(encoding="utf-8")
)
INSTRUCTIONS = {
    "tennis": TENNIS, "french": FRENCH, "napoleon": NAPOLEON, "sentence": SENTENCE, "shop": SHOP,
}  # fmt: skip


def cases(group: str) -> list[tuple[str, str]]:
    """Return the texts of a group, each with its instruction, or with all where it names none."""
    texts = EXAMPLES[group]
    if isinstance(texts, dict):
        return [(key, text) for key, listed in texts.items() for text in listed]
    keys = [k for k in INSTRUCTIONS if k != "shop"] if group == "life" else ["french"]
    return [(key, text) for key in keys for text in texts]


@pytest.mark.parametrize(
    ("group", "tells"),
    [
        ("any_instruction", True),
        ("this_instruction", True),
        ("tells", True),
        ("life", False),
        ("not_at_once", False),
        ("sounds_like_it", False),
        ("tells_nothing", False),
        ("given_back", True),
        ("not_given_back", False),
    ],
)
def test_talk_about_the_instruction(group: str, tells: bool) -> None:
    wrong = [case for case in cases(group) if mentions(case[1], INSTRUCTIONS[case[0]]) != tells]
    assert not wrong


@pytest.mark.parametrize(
    ("text", "instruction", "tells"),
    [
        # A sentence of the instruction or its hint given back, and what is none.
        ("Français ! Bonjour ! réponds uniquement en français", FRENCH, True),
        ("Answer only in French", FRENCH, True),
        ("Bonjour. Speak in French!", FRENCH, True),
        ("Speak in French?", FRENCH, False),
        ("French.", FRENCH, False),
        # What the instruction wants said, and the rest of it.
        ("Good. Your first session is free.", SHOP, False),
        ("As Napoleon, I like tea. Thank you for shopping with us!", SHOP, False),
        ("Always thank the customer.", SHOP, True),
        # A plain dialogue may speak of instructions but not repeat the brief.
        ("As you asked, I read the prompt.", None, False),
        ("Answer in one short sentence.", None, True),
    ],
)
def test_an_echo_of_the_instruction(text, instruction, tells) -> None:
    assert mentions(text, instruction) == tells
    assert mentions(text, instruction, None) == (tells and instruction is not None)


NUM_CHAT_REPLIES = 4000
IDS = (
    "hobby.tennis", "language.fr", "figure.napoleon", "behaviour.dental.insurance",
    "format.one_sentence",
)  # fmt: skip
MOST_REFUSED = 0.001


@pytest.fixture(scope="module")
def instructions() -> list[Instruction]:
    catalog = load_catalog()
    return [compose([catalog.entry(i)], random.Random(1), 0.0) for i in IDS]


def refused_of(texts: list[str], instructions: list[Instruction]) -> list[str]:
    return [t for t in texts for told in instructions if mentions_instruction(t, told)]


def test_hardly_a_reply_of_human_chats_is_refused(instructions) -> None:
    try:
        raw = json.loads(chitchat.dataset_path().read_text(encoding="utf-8"))
    except ConfigError as error:
        pytest.skip(str(error))
    replies = (text for chat in raw.values() for _, text in chitchat.merge(chat))
    texts = list(islice(replies, NUM_CHAT_REPLIES))
    refused = refused_of(texts, instructions)
    assert len(refused) <= MOST_REFUSED * len(texts) * len(instructions), refused


def test_no_message_of_the_question_bank_is_refused(instructions) -> None:
    bank = question_bank()
    texts = [*bank.openers, *(m for topic in bank.topics.values() for m in topic)]
    assert len(texts) > 500
    assert refused_of(texts, instructions) == []


def test_no_good_reply_of_the_catalogue_is_refused_under_its_own_instruction() -> None:
    refused = [
        (entry.id, reply)
        for entry in load_catalog().entries
        for reply in entry.good
        if mentions_instruction(reply, compose([entry], random.Random(1), 0.0))
    ]
    assert refused == []
