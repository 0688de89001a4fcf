"""How many replies the filter refuses that nobody wrote under an instruction, or that are meant."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from itertools import islice

import pytest

from data_synth.filters import Draw
from data_synth.filters.instruction_talk import mentions_instruction
from gatt.data.catalog.read import load_catalog
from gatt.data.instruction import Instruction, compose
from gatt.errors import ConfigError
from gatt.sources import chitchat
from gatt.sources.questions import question_bank

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


def _chat_replies() -> Iterator[str]:
    raw = json.loads(chitchat.dataset_path().read_text(encoding="utf-8"))
    for chat in raw.values():
        yield from (text for _, text in chitchat.merge(chat))


def _share_refused(texts: list[str], instructions: list[Instruction]) -> tuple[float, list[str]]:
    refused = [
        text
        for text in texts
        for instruction in instructions
        if mentions_instruction(Draw(text, "stop", instruction))
    ]
    return len(refused) / (len(texts) * len(instructions)), refused


def test_hardly_a_reply_of_human_chats_is_refused(record_property, instructions) -> None:
    try:
        texts = list(islice(_chat_replies(), NUM_CHAT_REPLIES))
    except ConfigError as error:
        pytest.skip(str(error))
    share, refused = _share_refused(texts, instructions)
    record_property("share_refused", share)
    sys.stdout.write(f"share of human replies refused: {share:.4%}\n")
    assert share <= MOST_REFUSED, refused


def test_no_message_of_the_question_bank_is_refused(instructions) -> None:
    bank = question_bank()
    texts = [*bank.openers, *(m for topic in bank.topics for m in topic.messages)]
    assert len(texts) > 500
    assert _share_refused(texts, instructions) == (0.0, [])


def test_no_good_reply_of_the_catalogue_is_refused_under_its_own_instruction() -> None:
    refused = [
        (entry.id, reply)
        for entry in load_catalog().entries
        for reply in entry.good
        if mentions_instruction(Draw(reply, "stop", compose([entry], random.Random(1), 0.0)))
    ]
    assert refused == []
